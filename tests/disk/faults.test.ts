/**
 * What the other tests here notice: flushes that the disk ignores, a response that leaves one commit too early, and faults
 * of the product, of which a run without `DISK_SECONDS` takes one by its seed.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listEdits } from '#tests/mutations/edits.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { seed, wholeSeconds } from './budget.ts'
import { log } from './cursor.ts'
import { openSome } from './images.ts'
import { startRecorded } from './recorded-process.ts'
import { type Recording, recordHistory } from './recording.ts'
import { createReplayer } from './replay.ts'
import { createJudge, findLost } from './served-faults.ts'
import { createPlace } from './started-sandbox.ts'

/** In which each must be found. */
const limitMs = 120_000

describe('of the same recording', async () => {
  const recording = await recordHistory({ seed, turns: 2 })

  test.each([log, 'sandbox.db'])('a disk that ignores the flushes of %s', (name) => {
    expect(findFaults(recording, name)).not.toEqual([])
  })

  test('a response that leaves one commit too early', () => {
    const acknowledged: Recording['acknowledged'] = new Map()
    for (const [place, what] of recording.acknowledged) acknowledged.set(placeBeforeCommit(recording, place), what)
    expect(findFaults({ ...recording, acknowledged }, null)).not.toEqual([])
  })
})

const recorded = listEdits('disk').filter(({ checks }) => checks.disk === 'what a power loss leaves')

test.each(wholeSeconds === null ? [recorded[seed % recorded.length]!] : recorded)('$name: $wrong', async ({ name }) => {
  const recording = await recordHistory({ seed, turns: 2, mutation: name })
  expect(findFaults(recording, null)).not.toEqual([])
})

const refused = listEdits('disk').filter(({ checks }) => checks.disk === 'a call that fails')

test.each(refused)('$name: $wrong', async ({ name }) => {
  using place = createPlace()
  const judge = createJudge()
  const options = { database: join(place.folder, 'sandbox.db'), rate_limit: 'off' }
  const sandbox = await startRecorded(options, { folder: place.folder, control: place.control.path }, name)
  try {
    for (let round = 0; round < 4; round++) {
      place.control.arm({ kinds: ['write'], nth: 3, error: 'EIO', effect: 'refuse', times: 1, only: '-wal' })
      await judge.ask(sandbox.url, 2 * round)
    }
  } finally {
    await sandbox.kill()
  }
  expect([...judge.problems, ...findLost(place.folder, judge)]).not.toEqual([])
})

function findFaults(recording: Recording, ignoredFlush: string | null): string[] {
  const replayer = createReplayer(recording, ignoredFlush)
  try {
    const found =
      replayer.findings.length > 0
        ? replayer.findings
        : openSome(recording, replayer, createDice(seed), limitMs, true).findings
    return found.map(({ problem }) => problem)
  } finally {
    replayer.close()
  }
}

/** Returns the place of the first write of the transaction before. */
function placeBeforeCommit({ records }: Recording, place: number): number {
  let at = place
  while (at > 0 && records[at]!.name !== log) at--
  while (at > 0 && records[at]!.name === log) at--
  return at
}
