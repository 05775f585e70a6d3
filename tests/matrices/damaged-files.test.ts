/** Damaged database files: a sandbox starts on one and answers, or says why not; nothing ends as an unexplained failure. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { edit, fill, folder, stage } from '#tests/http/stage.ts'
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import { addBeacons } from '#tests/reliability/large-state.ts'
import { share } from '#tests/share.ts'

const cases = 200
const statements = [
  "UPDATE project SET settings = '{'",
  "UPDATE project SET settings = 'null'",
  "UPDATE project SET settings = '[]'",
  "UPDATE project SET client_id = '' WHERE id = 1",
  'DELETE FROM project',
  'DELETE FROM api_key',
  'DELETE FROM catalogue',
  "UPDATE catalogue SET demand = '{}'",
  "UPDATE catalogue SET demand = 'x'",
  "INSERT OR REPLACE INTO meta VALUES ('clock', 'x')",
  "INSERT OR REPLACE INTO meta VALUES ('clock', '{}')",
  'INSERT OR REPLACE INTO meta VALUES (\'clock\', \'{"offset_ms":"soon","frozen_at_ms":null}\')',
  "INSERT OR REPLACE INTO meta VALUES ('faults', 'x')",
  "INSERT OR REPLACE INTO meta VALUES ('faults', '[1]')",
  "INSERT OR REPLACE INTO meta VALUES ('faults', '{}')",
  "UPDATE slot SET consent = 'x'",
  'UPDATE slot SET trace = NULL',
  'UPDATE slot SET catalogue = 99',
  "UPDATE job SET facts = 'x'",
  'UPDATE job SET project_id = 99',
  'UPDATE slot SET job_id = 99',
  "UPDATE evidence SET entry = 'x'",
  'UPDATE event SET seq = 9007199254740993 WHERE seq = 1',
  'UPDATE slot SET id = 9007199254740993 WHERE id = (SELECT min(id) FROM slot)',
  'DROP TABLE meta',
  'DROP TABLE event',
  'DROP TABLE exchange',
  'DROP INDEX job_by_session',
  'ALTER TABLE slot DROP COLUMN trace',
  'ALTER TABLE slot RENAME COLUMN consent TO agreement',
  'ALTER TABLE beacon ADD COLUMN more TEXT',
  'CREATE TABLE more (id INTEGER)',
  "CREATE TRIGGER no BEFORE INSERT ON job BEGIN SELECT raise(ABORT, 'no'); END",
  'PRAGMA user_version = 1',
  'PRAGMA user_version = 0',
  'PRAGMA user_version = 99',
  'PRAGMA application_id = 1',
]

test(`${cases} damaged files`, async () => {
  using place = folder()
  const intact = join(place.path, 'intact.db')
  {
    await using on = await stage({ database: intact })
    await fill(on.api)
    await on.api.accept('clock.freeze')
  }
  addBeacons(intact, 200)
  const dice = createDice(7)
  const unexplained: string[] = []
  for (let index = 0; index < cases; index++) {
    if (!share.has(index)) continue
    const path = join(place.path, `${index}.db`)
    copyFileSync(intact, path)
    const what = damage(path, index, dice)
    const outcome = await readOutcome(path)
    if (outcome.startsWith('unexplained')) unexplained.push(`${what} -> ${outcome}`)
  }
  expect(unexplained).toEqual([])
})

function damage(path: string, index: number, dice: Dice): string {
  const statement = statements[index]
  if (statement !== undefined) {
    edit(path, (db) => db.exec(`PRAGMA foreign_keys = OFF; ${statement}`))
    return statement
  }
  const bytes = readFileSync(path)
  const pages = bytes.length / 8192
  const at = dice.below(bytes.length)
  switch (dice.below(6)) {
    case 0: {
      writeFileSync(path, bytes.subarray(0, at))
      return `cut to ${at} bytes`
    }
    case 1: {
      const page = dice.below(pages)
      writeFileSync(path, bytes.fill(dice.below(256), page * 8192, (page + 1) * 8192))
      return `page ${page} overwritten`
    }
    case 2: {
      const [from, to] = [dice.below(pages), dice.below(pages)]
      bytes.copy(bytes, to * 8192, from * 8192, (from + 1) * 8192)
      writeFileSync(path, bytes)
      return `page ${from} over page ${to}`
    }
    case 3: {
      const offset = dice.below(100)
      bytes[offset] = dice.below(256)
      writeFileSync(path, bytes)
      return `byte ${offset} of the header`
    }
    case 4: {
      for (let count = 0; count < 50; count++) bytes[dice.below(bytes.length)] = dice.below(256)
      writeFileSync(path, bytes)
      return '50 random bytes'
    }
    default: {
      writeFileSync(`${path}-wal`, Buffer.from(Array.from({ length: 20_000 }, () => dice.below(256))))
      return 'a log of random bytes'
    }
  }
}

async function readOutcome(path: string): Promise<string> {
  const reports: unknown[] = []
  try {
    await using sandbox = await startSandbox({ database: path, report: (error) => reports.push(error) })
    const responses = []
    for (const target of [
      'placements',
      'consent',
      'beacons',
      'evidence',
      'events',
      'requests',
      'integrity',
      'billing',
      'info',
    ]) {
      responses.push(await fetch(new URL(`/_sandbox/${target}`, sandbox.url)))
    }
    const placed = await fetch(new URL('/v1/placements', sandbox.url), {
      method: 'POST',
      headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
      body: '{"client_id":"proj_demo","job_type":"chat"}',
    })
    const failed = [...responses, placed].filter(({ status }) => status === 500)
    const reset = await fetch(new URL('/_sandbox/reset', sandbox.url), { method: 'POST' })
    const bad = [...failed, ...(reset.status === 500 ? [reset] : [])]
    if (bad.length > 0)
      return `unexplained: 500 of ${bad.map(({ url }) => new URL(url).pathname)} ${String((reports[0] as Error)?.cause ?? reports[0])}`
    return reset.status === 200 ? 'started' : `unexplained: reset ${reset.status} ${await reset.text()}`
  } catch (error) {
    if (error instanceof SandboxError) return `refused: ${error.code}`
    return `unexplained: ${String((error as Error).stack).slice(0, 300)}`
  }
}
