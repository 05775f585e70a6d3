/**
 * The sandbox of a test, as provided by the Vitest and Playwright fixtures: its keys, a typed client, and beacons to
 * wait for.
 */

import type { Client } from '#client/index.ts'
import type { Format } from '#contract/fields.ts'
import type { BeaconEvent, BeaconItem, Metric } from '#contract/resources/beacons.ts'
import type { Sandbox, SandboxProject } from '#sandbox/index.ts'

/** Selects beacons. Fields that are left out do not matter. */
export interface BeaconFilter {
  slot_id?: string | undefined
  session_id?: string | undefined
  client_id?: string | undefined
  format?: Format | undefined
}

export interface BeaconWait extends BeaconFilter {
  /** Longest wait, milliseconds. */
  timeout?: number | undefined
}

export interface AcceptedWait extends BeaconWait {
  /** The exact number that there must be. Default: one or more. */
  count?: number | undefined
}

export interface BilledWait extends AcceptedWait {
  event?: BeaconEvent | undefined
  /** The metric that the billing model counts. */
  metric?: Metric | undefined
}

export interface TestSandbox {
  readonly url: string
  /** The keys of the first project, `proj_demo`. */
  readonly keys: Sandbox['keys']
  /** All projects with their keys; only the first one if the sandbox was already running. */
  readonly projects: readonly SandboxProject[]
  /** Every operation of the API and of the control plane, with the secret key of the first project. */
  readonly client: Client
  /** The SVC_* variables that let an app find this sandbox. */
  readonly env: Readonly<Record<string, string>>
  /** Only records since then belong to the test, Unix epoch milliseconds; null: everything since the last reset. */
  readonly since_ms: number | null
  /** Returns the beacons of this test, newest first. */
  beacons(filter?: BeaconFilter): Promise<BeaconItem[]>
  /**
   * Returns the newest accepted beacon that matches, as soon as there is one. Default timeout: 5 s. @throws Error with
   * the beacons and rejections that arrived instead
   */
  waitForBeacon(event: BeaconEvent, options?: BeaconWait): Promise<BeaconItem>
  /** Returns everything to its seeded state: projects, consent, placements, beacons, fault rules and the clock. */
  reset(): Promise<void>
}

export const defaultWaitMs = 5_000
const pollEveryMs = 30

/** Calls `look` until it returns true. Returns false if it has not within `timeout_ms`. */
export async function eventually(look: () => Promise<boolean>, timeout_ms: number): Promise<boolean> {
  let isOver = timeout_ms <= 0
  const timer = setTimeout(() => {
    isOver = true
  }, timeout_ms)
  try {
    for (;;) {
      const isLast = isOver
      if (await look()) return true
      if (isLast) return false
      await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the part of a query that excludes records from before the test. */
export function sinceQuery({ since_ms }: Pick<TestSandbox, 'since_ms'>): { since?: string } {
  return since_ms === null ? {} : { since: String(since_ms) }
}
