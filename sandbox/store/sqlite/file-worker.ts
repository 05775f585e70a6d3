/**
 * Does one piece of long work on a database file (see file-work.ts), on its own thread and connection. Nothing that
 * takes time to load is imported here.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { formats } from '#contract/facts/formats.ts'
import {
  callbackStatuses,
  consentStates,
  evidenceKinds,
  keyClasses,
  modes,
  verdicts,
} from '#contract/facts/stored-words.ts'
import type { BillingProgress, BillingReport } from '../billing.ts'
import { stateEvent } from '../writes/state.ts'
import { countBilling } from './billing.ts'
import { latestStoredMs } from './copies/state-problem.ts'
import { prepareEvent } from './events.ts'
import { copyInto, setInUseMark } from './file/in-use.ts'
import { planOnce } from './file/open.ts'
import type { FileWork, Replaced, Replacement } from './file-work.ts'
import { adoptPageSize, applySeed, overwriteFile } from './state.ts'

/* The constraints of each row beyond its schema: times, JSON objects, words and references. */

const times: Readonly<Record<string, readonly string[]>> = {
  api_key: ['created_at_ms', 'revoked_at_ms'],
  activation: ['created_at_ms', 'expires_at_ms'],
  consent: ['updated_at_ms'],
  job: ['created_at_ms'],
  slot: ['due_at_ms', 'decided_at_ms'],
  beacon: ['received_at_ms'],
  aside_beacon: ['received_at_ms'],
  evidence: ['at_ms'],
  event: ['at_ms'],
  exchange: ['at_ms'],
  callback: ['created_at_ms', 'attempted_at_ms'],
}

const objects: Readonly<Record<string, readonly string[]>> = {
  consent: ['extras'],
  job: ['facts'],
  slot: ['consent'],
  beacon: ['measurements', 'extras'],
  catalogue: ['demand'],
  exchange: ['request_headers', 'response_headers'],
}

const words: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  api_key: { class: keyClasses, mode: modes },
  activation: { mode: modes },
  // That consent has expired follows from its time.
  consent: { state: consentStates.filter((state) => state !== 'expired') },
  job: { mode: modes },
  slot: { format: formats },
  aside_beacon: { verdict: verdicts.filter((verdict) => verdict !== 'accepted') },
  evidence: { kind: evidenceKinds },
  callback: { status: callbackStatuses },
}

const references = [
  ['api_key', 'project_id', 'project'],
  ['activation', 'project_id', 'project'],
  ['session', 'project_id', 'project'],
  ['consent', 'session', 'session'],
  ['job', 'project_id', 'project'],
  ['job', 'session', 'session'],
  ['slot', 'job_id', 'job'],
  ['beacon', 'slot_id', 'slot'],
  ['aside_beacon', 'project_id', 'project'],
  ['evidence', 'project_id', 'project'],
  ['callback', 'id', 'slot'],
  ['callback', 'project_id', 'project'],
] as const

/**
 * A beacon without an entry would be billed though nothing proves it. That each entry has its row is verified with the chains.
 * Both tables are read once: an index leads to the entries of a slot, and each beacon would read all of them.
 */
const unprovenBeacons =
  "SELECT id FROM (SELECT id, slot_id FROM beacon EXCEPT SELECT ref, slot_id FROM evidence WHERE kind = 'beacon')"

/** Rows that an index may find for a report: nothing waits here. */
const maxSelectedRows = 100_000

/**
 * Milliseconds of a report after which it checks whether others have committed, and how long it then rests for each.
 */
const sliceMs = 10
const rest = 1.5

const work = workerData as FileWork
const db = planOnce(new Database(work.path, { readonly: true, fileMustExist: true, timeout: 2000 }))
void run()

/** Not at the top level: the single binary loads its files without modules. A failure ends the thread with its error. */
async function run(): Promise<void> {
  try {
    parentPort!.postMessage(await done(work))
  } finally {
    db.close()
  }
}

function done(work: FileWork): string[] | BillingProgress | Promise<Replaced> {
  if (work.kind === 'replace') return replace(work)
  if (work.kind === 'billing') return bill(work)
  if (work.kind === 'copy') return copy(work.to)
  if (work.kind === 'check') return check(work.pragma, work.limit)
  const problem = rowProblem(db)
  return problem === null ? [] : [problem]
}

/** Each piece is a transaction, so it sees one state of the rows. */
function bill(report: BillingReport): BillingProgress {
  const pieces = countBilling(db, report, maxSelectedRows)
  const next = db.transaction(() => pieces.next().done === true)
  const giveWay = restWhenBusy()
  while (!next()) giveWay()
  return report.progress
}

/** Returns a function that rests while other connections write: requests must keep most of the CPU. */
function restWhenBusy(): () => void {
  const never = new Int32Array(new SharedArrayBuffer(4))
  const commits = () => db.pragma('data_version', { simple: true })
  let [seen, started] = [commits(), performance.now()]
  return () => {
    const worked_ms = performance.now() - started
    if (worked_ms < sliceMs) return
    if (commits() !== seen) Atomics.wait(never, 0, 0, rest * worked_ms)
    seen = commits()
    started = performance.now()
  }
}

function copy(to: string): string[] {
  copyInto(db, to)
  const file = openSync(to, 'r+')
  fsyncSync(file)
  closeSync(file)
  return []
}

/** The image is a private copy: a failure may leave it in any state. */
async function replace({ path, from, seed, at_ms, last_event_seq }: { path: string } & Replacement): Promise<Replaced> {
  const image = new Database(from, { fileMustExist: true })
  try {
    const count = (sql: string) => image.prepare<[], number>(sql).pluck().get() ?? 0
    image.pragma('synchronous = OFF')
    image.pragma('journal_mode = MEMORY')
    const catalogue_id = image.transaction(() => applySeed(image, seed, at_ms))()
    const event_seq = Math.max(last_event_seq, count('SELECT max(seq) FROM event')) + 1
    setInUseMark(image)
    prepareEvent(image)(event_seq, stateEvent('sandbox.restored', at_ms))
    const [events, exchanges] = [count('SELECT count(*) FROM event'), count('SELECT count(*) FROM exchange')]
    adoptPageSize(image, db)
    await overwriteFile(db, path, image)
    return { catalogue_id, event_seq, events, exchanges }
  } finally {
    image.close()
  }
}

function check(pragma: string, limit: number): string[] {
  try {
    const lines = db.prepare<[], string>(`PRAGMA ${pragma}(${limit})`).pluck().all()
    return lines.filter((line) => line !== 'ok')
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
    return [error.message]
  }
}

/** A constraint of a table: the condition of a row that violates it, and the problem. */
interface Constraint {
  table: string
  condition: string
  problem: string
}

/** Returns the first row whose values no sandbox writes, as `table row: problem`. Reads every row, each table once. */
function rowProblem(db: Database.Database): string | null {
  const find = (sql: string) => db.prepare<[], number>(`${sql} LIMIT 1`).pluck().get()
  const first = (table: string, condition: string) => find(`SELECT rowid FROM ${table} WHERE ${condition}`)
  const all = listConstraints()
  const suspects = new Set<string>()
  for (const [table, own] of Map.groupBy(all, ({ table }) => table)) {
    const any = own.map(({ condition }) => `(${condition})`).join(' OR ')
    if (first(table, any) !== undefined) suspects.add(table)
  }
  for (const { table, condition, problem } of all) {
    const row = suspects.has(table) ? first(table, condition) : undefined
    if (row !== undefined) return `${table} ${row}: ${problem}`
  }
  const unproven = find(unprovenBeacons)
  return unproven === undefined ? null : `beacon ${unproven}: the evidence has no entry of it`
}

/** Lists the constraints in the order in which the first violation is named. */
function listConstraints(): Constraint[] {
  const named = (tables: typeof times) =>
    Object.entries(tables).flatMap(([table, columns]) => columns.map((column) => ({ table, column })))
  // A client may send any number: consent that never expires.
  const isNumber = `expires_at_ms BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`
  return [
    ...named(times).map(({ table, column }) => ({
      table,
      condition: `${column} NOT BETWEEN 0 AND ${latestStoredMs}`,
      problem: `${column} is not a time`,
    })),
    { table: 'consent', condition: `NOT (${isNumber})`, problem: 'expires_at_ms is not a time' },
    ...named(objects).map(({ table, column }) => ({
      table,
      // Most are empty, and parsed for nothing.
      condition: `${column} <> '{}' AND NOT iif(json_valid(${column}), json_type(${column}) = 'object', 0)`,
      problem: `${column} is not a JSON object`,
    })),
    ...Object.entries(words).flatMap(([table, columns]) =>
      Object.entries(columns).map(([column, values]) => ({
        table,
        // NOT IN would look up each row in a table of the words.
        condition: values.map((value) => `${column} <> '${value}'`).join(' AND '),
        problem: `${column} is none of ${values.join(', ')}`,
      })),
    ),
    ...references.map(([table, column, parent]) => ({
      table,
      // NOT EXISTS would open the parent for each row.
      condition: `${column} IS NOT NULL AND ${column} NOT IN (SELECT id FROM ${parent})`,
      problem: `its ${parent} is not there`,
    })),
  ]
}
