/**
 * The journal at a million rows: how long each filter of its list takes over HTTP, first page, median and slowest of
 * several calls. The rows are as large as those of placements with both bodies. `node bench/journal.ts`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { startSandbox } from '#sandbox/index.ts'
import { median } from './processes.ts'

const rows = 1_000_000
const rowsAtOnce = 20_000
const calls = 15
const limitMs = 20
const idsPerMs = 4_096
const bodyCharacters = 1_600

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-journal-'))
const database = join(folder, 'sandbox.db')
const options = { database, journal_limit: 2 * rows }
let unmet = 0

try {
  await (await startSandbox(options)).close()
  fill()
  const sandbox = await startSandbox(options)
  try {
    await measure(sandbox.url)
  } finally {
    await sandbox.close()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(unmet === 0 ? `Every median is below ${limitMs} ms.` : `${unmet} medians miss ${limitMs} ms.`)

/** Placements and beacons in turn; one request in a thousand is refused, every session has a hundred requests. */
function fill(): void {
  const db = new Database(database)
  const project_id = db.prepare("SELECT id FROM project WHERE client_id = 'proj_demo'").pluck().get() as number
  const insert = db.prepare(
    `INSERT INTO exchange (id, at_ms, method, path, status, error, reason_code, duration_us, project_id, session_id,
       slot_id, request_headers, request_body, response_headers, response_body, key_kind, key_id)
     VALUES (?, ?, 'POST', ?, ?, ?, ?, 900, ?, ?, ?, ?, ?, ?, ?, 'sk_test', 1)`,
  )
  const headers = JSON.stringify({ authorization: 'Bearer sk_test_redacted', 'user-agent': 'x'.repeat(200) })
  const answer = JSON.stringify({ text: 'x'.repeat(bodyCharacters) })
  const now = Date.now()
  for (let first = 0; first < rows; first += rowsAtOnce) {
    db.transaction(() => {
      for (let row = first; row < first + rowsAtOnce; row++) {
        const isRefused = row % 1_000 === 0
        const isBeacon = row % 2 === 1
        const body = isBeacon
          ? { beacon_id: `beacon-${row}`, event: row % 4 === 1 ? 'render' : 'visible', occurred_at_ms: now }
          : { client_id: 'proj_demo', session_id: `sess_${Math.floor(row / 100)}`, job_type: 'chat' }
        insert.run(
          (row + 1) * idsPerMs,
          now - rows + row,
          isBeacon ? '/v1/beacons' : '/v1/placements',
          isRefused ? 400 : 200,
          isRefused ? 'validation_error' : null,
          isRefused ? 'schema_invalid' : null,
          project_id,
          `sess_${Math.floor(row / 100)}`,
          row + 1,
          headers,
          JSON.stringify(body),
          headers,
          answer,
        )
      }
    })()
  }
  db.close()
}

async function measure(url: string): Promise<void> {
  const list = (query: string) => () => fetch(`${url}/_sandbox/requests?${query}`)
  const post = (verb: string, match: object) => () =>
    fetch(`${url}/_sandbox/requests/${verb}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(match),
    })
  const cases: Record<string, () => Promise<Response>> = {
    'list, no filter': list(''),
    'list, method': list('method=POST'),
    'list, path': list('path=/v1/beacons'),
    'list, path with *': list('path=*/placements'),
    'list, a path that is nowhere': list('path=/v1/jobs'),
    'list, status': list('status=400'),
    'list, status class': list('status_class=4xx'),
    'list, status class that is nowhere': list('status_class=5xx'),
    'list, reason': list('reason=schema_invalid'),
    'list, key': list('key=sk_live'),
    'list, project': list('client_id=proj_other'),
    'list, newest session': list(`session_id=sess_${rows / 100 - 1}`),
    'list, oldest session': list('session_id=sess_0'),
    'list, since': list('since=10m'),
    'list, until': list('until=10m'),
    'find, body': post('find', { path: '/v1/beacons', body: { event: 'visible' } }),
    'find, a body that is nowhere': post('find', { body: { event: 'click' } }),
    'count, path': post('count', { path: '/v1/beacons' }),
    'count, body': post('count', { body: { event: 'visible' } }),
    'nearest, body': post('nearest', { path: '/v1/beacons', body: { event: 'click' } }),
  }
  console.log(`${rows.toLocaleString('en')} exchanges`)
  for (const [name, call] of Object.entries(cases)) {
    const times: number[] = []
    for (let round = 0; round < calls; round++) {
      const started = performance.now()
      const response = await call()
      const text = await response.text()
      times.push(performance.now() - started)
      if (!response.ok) throw new Error(`${name}: ${text}`)
    }
    const middle = median(times)
    if (middle > limitMs) unmet++
    console.log(`${name.padEnd(36)} ${middle.toFixed(1).padStart(6)} ms  slowest ${Math.max(...times).toFixed(1)} ms`)
  }
}
