import { rmSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { StorageError } from '../store.ts'
import { type OpenDatabase, openDatabase } from './file/open.ts'
import { findRowProblem } from './file-work.ts'

let path: string
let opened: OpenDatabase

beforeAll(() => {
  path = join(temporaryDirectory(), 'state.db')
  opened = openDatabase(path, process.pid)
  opened.db.exec(`
    INSERT INTO project VALUES (1, 'proj', 1, 1, '{}', NULL);
    INSERT INTO job VALUES (2, 1, NULL, 'chat', 'test', 1, 5, '{}');
    INSERT INTO slot (id, job_id, due_at_ms, format, consent) VALUES (3, 2, 5, NULL, NULL), (4, 2, 5, 'banner', '{"a":1}');
    INSERT INTO beacon VALUES (5, 3, 'b1', 'render', 5, 5, '', NULL, '{}'), (6, 4, 'b1', 'click', 5, 5, '', ' {"b":[]}', '{}');
    INSERT INTO evidence VALUES (1, 1, 1, 'decision', 3, 3, 5, '', x''), (2, 1, 2, 'beacon', 6, 4, 5, '', x''),
      (3, 1, 3, 'beacon', 5, 3, 5, '', x'')`)
})

afterAll(() => {
  opened.close()
  rmSync(dirname(path), { recursive: true })
})

test('rows that a sandbox writes have no problem, in whatever order their entries are', async () => {
  expect(await findRowProblem(path)).toBeNull()
})

test.each([
  ['UPDATE beacon SET received_at_ms = -1 WHERE id = 6', 'beacon 6: received_at_ms is not a time'],
  ["UPDATE beacon SET extras = '[]' WHERE id = 6", 'beacon 6: extras is not a JSON object'],
  ["UPDATE beacon SET measurements = '{' WHERE id = 6", 'beacon 6: measurements is not a JSON object'],
  ["UPDATE slot SET consent = '1' WHERE id = 4", 'slot 4: consent is not a JSON object'],
  ["UPDATE evidence SET kind = 'x' WHERE id = 2", 'evidence 2: kind is none of decision, consent, beacon'],
  ['UPDATE beacon SET slot_id = 9 WHERE id = 6', 'beacon 6: its slot is not there'],
  ['UPDATE job SET session = 9', 'job 2: its session is not there'],
  ['DELETE FROM evidence WHERE id = 2', 'beacon 6: the evidence has no entry of it'],
  ['UPDATE evidence SET ref = 5 WHERE id = 2', 'beacon 6: the evidence has no entry of it'],
  ['UPDATE evidence SET slot_id = 3 WHERE id = 2', 'beacon 6: the evidence has no entry of it'],
  ["UPDATE evidence SET kind = 'decision' WHERE id = 2", 'beacon 6: the evidence has no entry of it'],
])('%s: %s', async (change, problem) => {
  const { db } = opened
  const rows = ['job', 'slot', 'beacon', 'evidence']
  db.exec(rows.map((table) => `CREATE TEMP TABLE kept_${table} AS SELECT * FROM main.${table}`).join(';'))
  db.exec(change)
  expect(await findRowProblem(path)).toBe(problem)
  db.exec(
    rows
      .map(
        (table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM kept_${table}; DROP TABLE kept_${table}`,
      )
      .join(';'),
  )
})

test('rows that cannot be read are an error of the storage', async () => {
  const other = `${path}.other`
  opened.db.prepare('VACUUM INTO ?').run(other)
  truncateSync(other, 20_000)
  await expect(findRowProblem(other)).rejects.toThrow(StorageError)
})
