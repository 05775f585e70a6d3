/** Recordings one after the other, each replayed: one in CI, as many as fit into `DISK_SECONDS` otherwise. */
import { expect } from 'vitest'
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import { seed, wholeSeconds } from './budget.ts'
import { describeFindings, takeRecording } from './kept-recording.ts'
import type { Recording } from './recording.ts'
import { createReplayer, type Replayer } from './replay.ts'

/** How long CI opens images of one recording. */
export const someMs = 8_000

interface Round {
  recording: Recording
  replayer: Replayer
  dice: Dice
}

/** Calls `check` with each recording, whose own commits have to be as they were acknowledged. */
export async function checkRecordings(check: (round: Round) => void | Promise<void>): Promise<void> {
  const started = performance.now()
  const dice = createDice(seed)
  for (let round = 0; round === 0 || performance.now() - started < (wholeSeconds ?? 0) * 1_000; round++) {
    const recording = await takeRecording({ seed: seed + round, turns: wholeSeconds === null ? 3 : 8 })
    const replayer = createReplayer(recording)
    try {
      expect(describeFindings(recording, replayer.findings)).toEqual([])
      await check({ recording, replayer, dice })
    } finally {
      replayer.close()
    }
  }
}
