/** Steps about one slot that is there already: poll, frame, ledger. They mean the last placement unless told. */
import { z } from 'zod'
import { valueAt } from '../expect/paths.ts'
import type { Turn } from '../run/turn.ts'
import { Duration, durationMs, orVariable } from '../suite/fields.ts'
import { needsOfMembers } from './effects.ts'
import { type Answer, stepKind } from './step-kind.ts'

const what = z.string().nullable()

const Poll = z.union([
  what,
  z.strictObject({
    of: z.string().optional().describe('Name of a step, or a slot_id; default: the last slot.'),
    wait_ms: orVariable(z.int(), 'a whole number').optional().describe('How long each poll waits.'),
    until: z.enum(['ready', 'expired', 'pending']).optional().describe('Poll again until it has this status.'),
    every: Duration.optional().describe('Pause between two polls; default 50ms.'),
  }),
])

export const poll = stepKind({
  name: 'poll',
  summary: 'polls the decision of a slot',
  shape: { poll: Poll.describe('Name of a step, or a slot_id; nothing: the last slot.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: () => 'poll',
  run: async ({ poll, ...members }, turn) => {
    const {
      of,
      wait_ms,
      until,
      every = 50,
    } = typeof poll === 'object' && poll !== null ? poll : { of: poll ?? undefined }
    const once = () =>
      turn.call('decisions.get', {
        params: { slot_id: turn.state.slotOf(of) },
        query: wait_ms === undefined ? {} : { wait_ms },
        members,
      })
    let answer = await once()
    while (until !== undefined && answer.status === 200 && valueAt(answer.body, 'status') !== until) {
      await pause(durationMs(every), turn)
      answer = await once()
    }
    return answer
  },
})

export const frame = stepKind({
  name: 'frame',
  summary: 'loads the hosted frame of a fill, as a browser does',
  shape: { frame: what.describe('Name of a step, or an asset token; nothing: the last fill.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: () => 'frame',
  run: ({ frame, ...members }, turn): Promise<Answer> =>
    turn.call('render.frame', { params: { asset_token: turn.state.assetTokenOf(frame ?? undefined) }, members }),
})

export const ledger = stepKind({
  name: 'ledger',
  summary: "reads the control plane's page of a slot: beacons, verdicts, billing, evidence",
  shape: { ledger: what.describe('Name of a step, or a slot_id; nothing: the last slot.') },
  isRequest: false,
  needs: () => ['control'],
  moves: () => [],
  title: () => 'ledger',
  run: ({ ledger }, turn) =>
    turn.call('placements.explain', { params: { slot_id: turn.state.slotOf(ledger ?? undefined) } }),
})

/** Waits, unless the step ends first. */
export function pause(duration_ms: number, { signal }: Pick<Turn, 'signal'>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, duration_ms)
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
  })
}
