/**
 * Power losses: of what a recorded sandbox had not flushed at any moment, any part is lost, torn and in another order. What
 * is left opens, as one of the commits, and not before the last one that was flushed; what is promised to be there is.
 */
import { expect, test } from 'vitest'
import { seed, wholeSeconds } from './budget.ts'
import { openSome } from './images.ts'
import { describeFindings } from './kept-recording.ts'
import { checkRecordings, someMs } from './rounds.ts'

test('a power loss leaves one of the last commits, whole', () =>
  checkRecordings(({ recording, replayer, dice }) => {
    const share = wholeSeconds === null ? someMs : Math.min(wholeSeconds * 1_000, 120_000)
    const { opened, findings, most_lost } = openSome(recording, replayer, dice, share, true)
    console.log(
      `seed ${seed}: ${opened} power losses, of at most ${most_lost} of ${replayer.states} commits, in ${recording.records.length} places`,
    )
    expect(describeFindings(recording, findings)).toEqual([])
    expect(opened).toBeGreaterThanOrEqual(40)
    expect(most_lost).toBeGreaterThan(0)
    const end = replayer.run([{ place: recording.records.length, loss: 'everything', seed }])
    expect(end, 'after an orderly stop a power loss takes nothing').toMatchObject({ findings: [], most_lost: 0 })
  }))
