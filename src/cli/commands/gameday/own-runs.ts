/** Both runs of a game day with the turns that svc plays itself, each against a sandbox in memory of its own. */

import type { CommandContext } from '#cli/run/command.ts'
import { commandClient } from '#cli/run/command-client.ts'
import { keyOfStarted } from '#client/permitted-key.ts'
import { withFaults } from '#gameday/fault-timeline.ts'
import type { Gameday } from '#gameday/gameday-file.ts'
import { playTurns, recordPlayed } from '#gameday/own-turns.ts'
import type { Plan } from '#gameday/plan.ts'
import type { RunRecord } from '#gameday/records.ts'
import { readReached } from '#gameday/sandbox-reading.ts'
import type { Runs } from '#gameday/verdict.ts'
import { startOnFreePort } from '../sandbox/emulator.ts'

/** A page gives up on a beacon after this time, milliseconds. */
const timeoutMs = 10_000

export interface MeasuredRuns {
  runs: Runs
  /** What was measured, in sentences. */
  looked_at: string[]
}

export async function measureOwnTurns(context: CommandContext, gameday: Gameday, plan: Plan): Promise<MeasuredRuns> {
  const without = await playOnce(context, gameday, plan, false)
  const faulted = await playOnce(context, gameday, plan, true)
  const looked_at = [
    'The turns are those of svc itself, with the client of this package and its retries; each run has a sandbox in memory of its own. Latency is from the planned start of a turn to its decision.',
  ]
  return { runs: { without, with: faulted }, looked_at }
}

async function playOnce(
  context: CommandContext,
  gameday: Gameday,
  plan: Plan,
  is_faulted: boolean,
): Promise<RunRecord> {
  const { system, out, signal } = context
  const options = { port: 0, host: '127.0.0.1', ephemeral: true as const, seed: gameday.seed }
  const { sandbox } = await startOnFreePort(context, options)
  try {
    const { url: base_url, keys } = sandbox
    const client = commandClient(system, {
      base_url,
      credential: keyOfStarted(sandbox),
      timeout_ms: timeoutMs,
      // It is this version of the sandbox, and faults do not change what a body has.
      validate: false,
    })
    const { now_ms } = await client.clock.show()
    const play = (signal: AbortSignal) =>
      playTurns(gameday, plan, { client, base_url, client_id: keys.client_id, signal })
    const what = `playing ${plan.turns.length} turns ${is_faulted ? 'with' : 'without'} faults`
    const playing = is_faulted ? withFaults(client, gameday, signal, play) : play(signal)
    const played = await out.progress(what, playing)
    return recordPlayed(played, await readReached(client, now_ms))
  } finally {
    await sandbox.close()
  }
}
