/** What a case moves for everyone is put back after it: the clock, fault rules, the scenario, settings of the project. */
import type { JsonValue } from '../json.ts'
import type { Move } from '../steps/step-kind.ts'
import type { Target } from '../target/target.ts'

interface Clock {
  now_ms: number
  offset_ms: number
  frozen: boolean
}

/** Looks at how things are. What it answers puts them back. */
export async function rememberShared(
  target: Target,
  moves: ReadonlySet<Move>,
  client_id: string,
): Promise<() => Promise<void>> {
  const undo: (() => Promise<unknown>)[] = []
  const everything = moves.has('everything')
  if (moves.has('project') || everything) {
    const before = (await target.control('projects.show', { client_id })) as { settings: JsonValue }
    undo.push(() => target.control('projects.update', { client_id }, before.settings))
  }
  if (moves.has('scenario') || everything) {
    const active = await activeScenario(target)
    undo.push(async () => {
      if ((await activeScenario(target)) === active) return
      await (active === null ? target.control('scenario.clear') : target.control('scenario.use', { name: active }, {}))
    })
  }
  if (moves.has('faults') || everything) {
    const before = await faultsOf(target)
    undo.push(async () => {
      const ids = new Set(before.map(({ fault_id }) => fault_id))
      const now = await faultsOf(target)
      for (const { fault_id } of now) if (!ids.has(fault_id)) await target.control('faults.remove', { fault_id })
    })
  }
  if (moves.has('clock') || everything) {
    const before = (await target.control('clock.show')) as unknown as Clock
    undo.push(() => restoreClock(target, before))
  }
  return async () => {
    for (const each of undo) await each()
  }
}

async function restoreClock(target: Target, { now_ms, offset_ms, frozen }: Clock): Promise<void> {
  const now = (await target.control('clock.show')) as unknown as Clock
  if (now.offset_ms === offset_ms && now.frozen === frozen && !frozen) return
  if (frozen) {
    await target.control('clock.freeze', {}, {})
    await target.control('clock.set', {}, { to_ms: now_ms })
    return
  }
  // In this order: a clock that runs on keeps the distance that it had while it stood still.
  await target.control('clock.resume', {}, {})
  await target.control('clock.set', {}, { to_ms: null })
  if (offset_ms === 0) return
  const real = (await target.control('clock.show')) as unknown as Clock
  await target.control('clock.set', {}, { to_ms: real.now_ms + offset_ms })
}

async function faultsOf(target: Target): Promise<{ fault_id: string; scenario: string | null }[]> {
  const { items } = (await target.control('faults.list')) as { items: { fault_id: string; scenario: string | null }[] }
  return items.filter(({ scenario }) => scenario === null)
}

async function activeScenario(target: Target): Promise<string | null> {
  const { items } = (await target.control('scenario.list')) as { items: { name: string; active: boolean }[] }
  return items.find(({ active }) => active)?.name ?? null
}
