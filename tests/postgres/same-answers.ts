/**
 * The same requests to a sandbox on SQLite and to one on PostgreSQL, with the same seed and clock: every response, and
 * at the end every list and every row of the exported states, events and evidence among them, must be the same.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import { manualClock, type Sandbox, startSandbox } from '#sandbox/index.ts'
import { entryTexts, type StoredEntry, selectEntries } from '#store/sqlite/entries.ts'
import { connect } from '#tests/http/call.ts'
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

interface Sent {
  method: string
  path: string
  key?: string
  body?: unknown
}

interface Known {
  slots: string[]
  /** Of the newest placements, each with the key that it was created with. */
  tokens: { asset_token: string; key: string }[]
  jobs: string[]
  snapshots: number
  now_ms: number
  beacons: number
}

const keys = ['sk_test_sandbox_demo', 'sk_test_sandbox_other', 'sk_test_sandbox_strict', 'sk_live_sandbox_demo']
const clients = ['proj_demo', 'proj_other', 'proj_strict', 'proj_demo']
const sessions = ['sess_1', 'sess_2', 'sess_3']
const lists = [
  'placements',
  'beacons',
  'consent',
  'evidence',
  'callbacks',
  'projects',
  'projects/proj_demo/keys',
  'faults',
  'billing',
  'evidence/verify',
]

/**
 * Sends `count` random requests of a seed to both, and compares what they respond and hold at the end. Resolves to how many
 * rows of each table that was.
 */
export async function compareAdapters(store: string, seed: number, count: number): Promise<Record<string, number>> {
  const dice = createDice(seed)
  const clocks = [manualClock(), manualClock()] as const
  const failures: unknown[] = []
  const options = { seed: 7, rate_limit: 'off', report: (error: unknown) => failures.push(error) }
  const namespace = randomBytes(8).toString('hex')
  await using sqlite = await startSandbox({ ...options, clock: clocks[0] })
  await using postgres = await startSandbox({ demands_token: false, ...options, clock: clocks[1], store, namespace })
  const known: Known = {
    ...{ slots: [], tokens: [], jobs: [], snapshots: 0, now_ms: clocks[0].now(), beacons: 0 },
  }
  for (let index = 0; index < count; index++) {
    const sent = drawRequest(dice, known)
    const [one, other] = await Promise.all([answer(sqlite, sent), answer(postgres, sent)])
    expect(other, `seed ${seed}, request ${index}: ${JSON.stringify(sent)}`).toEqual(one)
    learn(known, sent, one)
  }
  for (const path of lists) {
    const sent = { method: 'GET', path: `/_sandbox/${path}` }
    const [one, other] = await Promise.all([answer(sqlite, sent), answer(postgres, sent)])
    expect(other, `seed ${seed}, at the end: ${path}`).toEqual(one)
  }
  const [one, other] = await Promise.all([readRows(sqlite), readRows(postgres)])
  for (const [table, rows] of Object.entries(one)) expect(other[table], `seed ${seed}, rows of ${table}`).toEqual(rows)
  expect(failures).toEqual([])
  return Object.fromEntries(Object.entries(one).map(([table, rows]) => [table, rows.length]))
}

/** Returns the next request: what a publisher, a page and a tester send, and some of it wrong. */
function drawRequest(dice: Dice, known: Known): Sent {
  const who = dice.below(keys.length)
  const key = keys[who]!
  const client_id = dice.chance(0.95) ? clients[who]! : 'proj_demo'
  const session_id = dice.pick(sessions)
  const roll = dice.below(100)
  if (roll < 28) return { method: 'POST', path: '/v1/placements', key, body: placement(dice, client_id, session_id) }
  if (roll < 36) return { method: 'POST', path: '/v1/jobs', key, body: placement(dice, client_id, session_id) }
  if (roll < 62 && known.tokens.length > 0) {
    const { asset_token, key: own } = dice.pick(known.tokens)
    const sent = dice.chance(0.9) ? own : dice.pick(keys)
    return { method: 'POST', path: '/v1/beacons', key: sent, body: beacon(dice, known, asset_token) }
  }
  if (roll < 72) return { method: 'POST', path: '/v1/consent', key, body: { client_id, session_id, ...consent(dice) } }
  if (roll < 74 && known.slots.length > 0)
    return { method: 'GET', path: `/v1/decisions/${dice.pick(known.slots)}`, key }
  if (roll < 79) {
    const by_ms = dice.pick([1, 500, 5_000, 60_000, 4_000_000])
    return { method: 'POST', path: '/_sandbox/clock/advance', body: { by_ms } }
  }
  if (roll < 83 && known.slots.length > 0)
    return { method: 'GET', path: `/_sandbox/placements/${dice.pick(known.slots)}` }
  if (roll < 87) {
    return { method: 'POST', path: '/_sandbox/projects/proj_demo/keys', body: { class: 'secret', mode: 'test' } }
  }
  if (roll < 90) {
    const label_text = dice.pick(['Ad', 'Sponsored', 'Anzeige'])
    const body = { label_text, decision_latency_ms: dice.pick([0, 0, 800]), fill_rate: dice.pick([1, 1, 0.5]) }
    return { method: 'PATCH', path: '/_sandbox/projects/proj_demo', body }
  }
  if (roll < 95) return { method: 'GET', path: `/_sandbox/${dice.pick(lists)}?limit=${1 + dice.below(20)}` }
  if (roll < 96) return { method: 'PUT', path: `/_sandbox/snapshots/s${known.snapshots}`, body: {} }
  if (roll < 97) return { method: 'POST', path: '/_sandbox/reset', body: {} }
  if (roll < 98 && known.snapshots > 0) {
    return { method: 'POST', path: `/_sandbox/snapshots/s${dice.below(known.snapshots)}/restore`, body: {} }
  }
  return { method: 'GET', path: `/v1/projects/${client_id}/config`, key }
}

function placement(dice: Dice, client_id: string, session_id: string) {
  return {
    client_id,
    ...(dice.chance(0.85) ? { session_id } : {}),
    job_type: dice.pick(['chat', 'image', 'video', 'nonsense']),
    ...(dice.chance(0.3) ? { wait_ms: 0 } : {}),
    overrides: {
      ...(dice.chance(0.5) ? { allowed_formats: [dice.pick(['banner', 'clip', 'native'])] } : {}),
      ...(dice.chance(0.4)
        ? { frequency_cap: { session: 1 + dice.below(5), global_per_hour: 5 + dice.below(9), prompt_interval: 2 } }
        : {}),
    },
    ...(dice.chance(0.3) ? { topic: dice.pick(['coffee', 'travel', 'gambling']) } : {}),
  }
}

function beacon(dice: Dice, known: Known, own_token: string) {
  const event = dice.pick(['render', 'visible', 'click', 'heartbeat', 'completion', 'unknown'])
  const visible = { visible_ratio: dice.roll(), visible_ms: dice.below(4_000) }
  return {
    beacon_id: `beacon-${dice.chance(0.8) ? ++known.beacons : dice.below(known.beacons + 1)}`,
    asset_token: dice.chance(0.95) ? own_token : 'ast_00000000000_wrong',
    event,
    occurred_at_ms: known.now_ms - dice.pick([0, 0, 10, 400_000]),
    ...(dice.chance(0.4) ? { measurements: visible } : {}),
  }
}

function consent(dice: Dice) {
  return {
    ...(dice.chance(0.4) ? { decision: dice.pick(['granted', 'denied', 'withdrawn']) } : {}),
    purposes: { semantic_targeting: dice.chance(0.5), prompt_shared: dice.chance(0.5) },
    ...(dice.chance(0.3) ? { expected_revision: dice.below(4) } : {}),
  }
}

function learn(known: Known, sent: Sent, { status, text }: { status: number; text: string }): void {
  if (status >= 300 || !text.startsWith('{')) return
  const body = JSON.parse(text) as { slot_id?: string; placement?: { asset_token?: string } | null }
  if (typeof body.slot_id === 'string') known.slots.push(body.slot_id)
  if (typeof body.placement?.asset_token === 'string') {
    known.tokens = [{ asset_token: body.placement.asset_token, key: sent.key ?? '' }, ...known.tokens].slice(0, 5)
  }
  known.now_ms += sent.path.endsWith('/advance') ? (sent.body as { by_ms: number }).by_ms : 0
  if (sent.path.startsWith('/_sandbox/snapshots/') && sent.method === 'PUT') known.snapshots++
}

/** The response with what differs between two sandboxes of any kind made equal: the port and the sizes and times of files. */
async function answer(sandbox: Sandbox, { method, path, key, body }: Sent) {
  const { status, text, headers } = await connect(sandbox).send(method, path, {
    ...(key === undefined ? {} : { as: key }),
    ...(body === undefined ? {} : { body }),
  })
  const stable = Object.entries(headers).filter(([name]) => name.startsWith('x-sandbox') || name === 'retry-after')
  const plain = text.replaceAll(`127.0.0.1:${sandbox.port}`, 'HOST').replaceAll(unequalNumbers, '"$1":0')
  return { status, text: plain, headers: Object.fromEntries(stable) }
}

/** Numbers that differ between any two sandboxes: of files, and of the clock of the host. */
const unequalNumbers = /"(size_bytes|saved_at_ms|schema_version|offset_ms)":-?\d+/g

/** Columns that differ between any two sandboxes: times and ports of the host, and numbers of sessions, which nobody sees. */
const unequal = [
  'session',
  'duration_us',
  'request_headers',
  'response_headers',
  'path',
  'request_body',
  'response_body',
]

/** Every row of the exported state, by table. */
async function readRows(sandbox: Sandbox): Promise<Record<string, unknown[]>> {
  const exported = await fetch(`${sandbox.url}/_sandbox/export`)
  const path = join(temporaryDirectory(), 'exported.db')
  const bytes = Buffer.from(await exported.arrayBuffer())
  writeFileSync(path, bytes[0] === 0x1f ? gunzipSync(bytes) : bytes)
  const db = new Database(path, { readonly: true })
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all() as string[]
    return Object.fromEntries(
      tables.map((table) => {
        // Entries are compared by their texts, which a file does not store where they follow from other rows.
        const rows: Record<string, unknown>[] =
          table === 'evidence'
            ? entryTexts(db)(db.prepare<[], StoredEntry>(`${selectEntries} ORDER BY evidence.id`).all()).map((row) => ({
                ...row,
                is_built: null,
              }))
            : db.prepare<[], Record<string, unknown>>(writeSelect(table)).all()
        return [
          table,
          rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !unequal.includes(name)))),
        ]
      }),
    )
  } finally {
    db.close()
  }
}

/** Sessions are compared by name: their numbers need not be without gaps. */
function writeSelect(table: string): string {
  if (table === 'session') return 'SELECT project_id, session_id FROM session ORDER BY 1, 2'
  if (table === 'meta')
    return "SELECT name, iif(name = 'clock', json_remove(value, '$.offset_ms'), value) AS value FROM meta ORDER BY 1"
  if (table !== 'consent' && table !== 'job') return `SELECT * FROM ${table} ORDER BY 1`
  return `SELECT ${table}.*, session.session_id FROM ${table} LEFT JOIN session ON session.id = ${table}.session ORDER BY 1`
}
