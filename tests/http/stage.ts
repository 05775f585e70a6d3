/** What tests of the emulator set up: a sandbox and its client, requests that fill, projects with other settings. */
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, vi } from 'vitest'
import type { Format } from '#contract/fields.ts'
import type { FillDecision, Placement } from '#contract/resources/placements.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import {
  type ManualClock,
  manualClock,
  type Sandbox,
  type SandboxOptions,
  startSandbox as startOn,
} from '#sandbox/index.ts'
import { editShared, onSharedStore, startedOn } from '#tests/postgres/shared-store.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type Api, type Call, connect } from './call.ts'

export const key = 'sk_test_sandbox_demo'
export const liveKey = 'sk_live_sandbox_demo'
export const otherKey = 'sk_test_sandbox_other'
export const strictKey = 'sk_test_sandbox_strict'
export const publishable = 'pk_test_sandbox_demo'
export const origin = 'http://localhost:3000'
export const day_ms = 86_400_000

export interface Stage extends AsyncDisposable {
  sandbox: Sandbox
  api: Api
  clock: ManualClock
  /** The failures that the sandbox reported. Expected to stay empty. */
  reports: unknown[]
}

/** Starts a sandbox; in the run of test:postgres on a namespace instead of a file or memory. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const chosen = await onSharedStore(options)
  const sandbox = await startOn({ demands_token: false, ...chosen })
  startedOn(chosen.namespace)
  return sandbox
}

/** Starts a sandbox on a manual clock. It must have reported nothing when it is disposed. */
export async function stage(options: SandboxOptions = {}): Promise<Stage> {
  const clock = (options.clock as ManualClock | undefined) ?? manualClock()
  const reports: unknown[] = []
  const sandbox = await startSandbox({
    report: (error) => reports.push(error),
    ...options,
    clock,
  })
  return {
    sandbox,
    api: connect(sandbox),
    clock,
    reports,
    async [Symbol.asyncDispose]() {
      await sandbox.close()
      expect(reports).toEqual([])
    },
  }
}

/** Does work while no timeout of this process is ever over: what would wait for one never ends. */
export async function withoutTimeouts(work: () => PromiseLike<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    await work()
  } finally {
    vi.useRealTimers()
  }
}

/** Creates a folder that is removed at the end of its block. */
export function folder(): { path: string } & Disposable {
  const path = temporaryDirectory()
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Changes a closed database file directly. */
export function edit(database: string, change: (db: Database.Database) => void): void {
  if (editShared(database, change)) return
  const db = new Database(database)
  try {
    change(db)
  } finally {
    db.close()
  }
}

/** Starts a sandbox whose project has other settings than the seeded ones, and a production publishable key. */
export async function stageWith(
  settings: Partial<ProjectSettings>,
  { client_id = 'proj_demo', ...options }: SandboxOptions & { client_id?: string } = {},
): Promise<Stage> {
  const database = join(temporaryDirectory(), 'sandbox.db')
  const clock = (options.clock as ManualClock | undefined) ?? manualClock()
  await (await startSandbox({ database, clock })).close()
  edit(database, (db) => {
    const present = JSON.parse(
      db.prepare('SELECT settings FROM project WHERE client_id = ?').pluck().get(client_id) as string,
    ) as Partial<ProjectSettings>
    const changed = JSON.stringify({ ...present, ...settings })
    db.prepare('UPDATE project SET settings = ? WHERE client_id = ?').run(changed, client_id)
    const hash = createHash('sha256').update('pk_live_sandbox_test').digest()
    db.prepare(
      "INSERT INTO api_key SELECT 1000, id, 'publishable', 'live', ?, 0, NULL FROM project WHERE client_id = ?",
    ).run(hash, client_id)
  })
  return stage({ ...options, database, clock })
}

/** The smallest placement request that fills. */
export function asked(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat', ...more }
}

export interface Filled {
  slot_id: string
  asset_token: string
  placement: Placement
  decision: FillDecision
}

/** A placement that is filled, in one format when it is named. */
export async function fill(
  api: Api,
  { format, as = key, ...call }: { format?: Format; as?: string } & Omit<Call, 'as'> = {},
): Promise<Filled> {
  const body = (call.body as Record<string, unknown> | undefined) ?? asked()
  const overrides = format === undefined ? {} : { overrides: { allowed_formats: [format] } }
  const response = await api.accept('placements.create', { ...call, as, body: { ...body, ...overrides } })
  const { slot_id, placement, decision } = response.body
  if (placement === null || decision?.fill !== true) throw new Error(`not filled: ${response.text}`)
  return { slot_id, asset_token: placement.asset_token, placement, decision }
}

/** An activation token of the demo project. */
export async function activate(api: Api, publishable_key = publishable, from = origin): Promise<string> {
  const { body } = await api.accept('browser.activate', { origin: from, body: { publishable_key } })
  return body.activation_token
}

let beacons = 0

/** The body of a beacon that happens now. */
export function beacon(
  clock: ManualClock,
  { asset_token }: { asset_token: string },
  event: string,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return { beacon_id: `beacon-${++beacons}`, asset_token, event, occurred_at_ms: clock.now(), ...more }
}
