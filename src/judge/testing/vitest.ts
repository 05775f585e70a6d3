/**
 * `svc-sandbox/vitest`, for Vitest 3.2 or later: `test` with a sandbox in the process of the tests, and matchers for the
 * requests that it has received. The matchers are added to `expect` when this is imported.
 */
import { test as base, expect, type TestAPI } from 'vitest'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import { type ManualClock, manualClock } from '#sandbox/index.ts'
import { haveAccepted, haveBilled, haveNoRejectedBeacons } from './expectations.ts'
import { type OpenTestSandbox, startTestSandbox, type TestSandboxOptions } from './open-sandbox.ts'
import { requireRunner } from './runner-version.ts'
import type { AcceptedWait, BeaconFilter, BilledWait, TestSandbox } from './test-sandbox.ts'

export { expect } from 'vitest'
export type { ManualClock } from '#sandbox/index.ts'
export type { TestSandboxOptions } from './open-sandbox.ts'
export type { AcceptedWait, BeaconFilter, BeaconWait, BilledWait, TestSandbox } from './test-sandbox.ts'

requireRunner('vitest')

/** A test of Vitest ends after 5 s: an expectation has to fail with its explanation before that. */
const defaultTimeout_ms = 2_000

export interface SandboxTestOptions extends Omit<TestSandboxOptions, 'clock'> {
  /**
   * `worker`: one sandbox for each worker, reset before each test. `test`: one for each test, as concurrent tests need.
   * Default: `worker`.
   */
  isolation?: 'worker' | 'test'
}

/** Fixtures of a test. */
export interface SandboxFixtures {
  sandbox: TestSandbox
}

/** Fixtures of a test with a clock that only the test moves. */
export interface ClockFixtures extends SandboxFixtures {
  clock: ManualClock
}

/**
 * Returns `test` with a sandbox. With `clock_start_ms` the sandbox clock starts there, Unix epoch milliseconds, and
 * only the test moves it, with the fixture `clock`.
 */
export function sandboxTest(options: SandboxTestOptions & { clock_start_ms: number }): TestAPI<ClockFixtures>
export function sandboxTest(options?: SandboxTestOptions & { clock_start_ms?: undefined }): TestAPI<SandboxFixtures>
export function sandboxTest({
  isolation = 'worker',
  clock_start_ms,
  ...options
}: SandboxTestOptions & { clock_start_ms?: number | undefined } = {}): TestAPI<SandboxFixtures> {
  const useOpened = async (use: (opened: Opened['opened']) => Promise<void>) => {
    const clock = clock_start_ms === undefined ? null : manualClock(clock_start_ms)
    const sandbox = await startTestSandbox({ ...options, ...(clock === null ? {} : { clock }) })
    await use({ sandbox, clock })
    await sandbox.close()
  }
  // As objects: fixtures by name came with Vitest 5.
  const extended =
    isolation === 'test'
      ? base.extend<Opened>({
          // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of what a fixture uses.
          opened: async ({}, use) => useOpened(use),
          clock: async ({ opened }, use) => use(opened.clock),
          sandbox: async ({ opened }, use) => use(opened.sandbox),
        })
      : base.extend<Opened>({
          // biome-ignore lint/correctness/noEmptyPattern: as above.
          opened: [async ({}, use) => useOpened(use), { scope: 'worker' }],
          clock: async ({ opened }, use) => {
            opened.clock?.set(clock_start_ms!)
            await use(opened.clock)
          },
          // After the clock: a reset stores rows with its time.
          sandbox: async ({ opened, clock: _ }, use) => {
            await opened.sandbox.reset()
            await use(opened.sandbox)
          },
        })
  return extended as unknown as TestAPI<SandboxFixtures>
}

/** A sandbox with its clock; null for the system's. */
interface Opened {
  opened: { sandbox: OpenTestSandbox; clock: ManualClock | null }
  clock: ManualClock | null
  sandbox: TestSandbox
}

/** `test` with one sandbox for each worker, which is reset before each test that uses it. */
export const test: TestAPI<SandboxFixtures> = sandboxTest()

expect.extend({
  async toHaveAccepted(received: unknown, event: BeaconEvent, options: AcceptedWait = {}) {
    return haveAccepted(received, event, options, { isNot: this.isNot === true, timeout_ms: defaultTimeout_ms })
  },
  async toHaveBilled(received: unknown, options: BilledWait = {}) {
    return haveBilled(received, options, { isNot: this.isNot === true, timeout_ms: defaultTimeout_ms })
  },
  async toHaveNoRejectedBeacons(received: unknown, filter: BeaconFilter = {}) {
    return haveNoRejectedBeacons(received, filter, { isNot: this.isNot === true })
  },
})

declare module 'vitest' {
  // The parameters are the same as in Vitest's own declaration.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /**
     * Expects that a beacon of a kind was accepted. Waits up to 2 s; with `.not` it judges the beacons received so far.
     */
    toHaveAccepted(event: BeaconEvent, options?: AcceptedWait): Promise<void>
    /**
     * Expects that production would have billed something. Waits up to 2 s; with `.not` it judges the beacons received
     * so far.
     */
    toHaveBilled(options?: BilledWait): Promise<void>
    /** Expects that every beacon received so far was accepted. Fails when none has arrived. */
    toHaveNoRejectedBeacons(filter?: BeaconFilter): Promise<void>
  }
}
