/** Which calls fail: every one of a history with every fault, or some of them. */
import type { Dice } from '#tests/reliability/dice.ts'
import { type CallFault, type CallKind, type Control, callKinds } from './control.ts'

const faults: readonly Pick<CallFault, 'error' | 'effect' | 'times'>[] = [
  { error: 'EIO', effect: 'refuse', times: 1 },
  { error: 'ENOSPC', effect: 'refuse', times: 1 },
  { error: 'EIO', effect: 'refuse', times: 'all' },
  { error: 'ENOSPC', effect: 'refuse', times: 'all' },
]

const shortWrites: typeof faults = [
  { error: 'ENOSPC', effect: 'short', times: 1 },
  { error: 'ENOSPC', effect: 'short_then_refuse', times: 1 },
]

/** Counts the calls of each kind that some work makes. */
export async function countCalls(
  control: Control,
  work: () => Promise<unknown>,
): Promise<{ kind: CallKind; calls: number }[]> {
  const counts: { kind: CallKind; calls: number }[] = []
  for (const kind of callKinds) {
    control.count([kind])
    await work()
    counts.push({ kind, calls: control.disarm().calls })
  }
  return counts
}

/** Lists each fault of each call. */
export function listFaults(counts: readonly { kind: CallKind; calls: number }[]): CallFault[] {
  return counts.flatMap(({ kind, calls }) =>
    Array.from({ length: calls }, (_, index) => index + 1).flatMap((nth) =>
      (kind === 'write' ? [...faults, ...shortWrites] : faults).map((fault) => ({ kinds: [kind], nth, ...fault })),
    ),
  )
}

/** Returns some of them in another order, of each kind of call as many as of the others. */
export function chooseFaults(all: readonly CallFault[], dice: Dice, count: number): CallFault[] {
  const kinds = [...Map.groupBy(all, ({ kinds: [kind] }) => kind).values()]
  return Array.from({ length: count }, (_, index) => dice.pick(kinds[index % kinds.length]!))
}
