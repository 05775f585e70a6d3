import type { SharedState } from '../steps/step-kind.ts'
import type { Target } from './target.ts'

export interface Project {
  settings: { allowed_origins: string[] }
}

interface Clock {
  now_ms: number
  offset_ms: number
  frozen: boolean
}

/** Reads the shared state that a case will change. Resolves with a function that restores it. */
export async function saveShared(
  target: Target,
  changes: ReadonlySet<SharedState>,
  client_id: string,
): Promise<() => Promise<void>> {
  const restores: (() => Promise<unknown>)[] = []
  const has = (state: SharedState) => changes.has(state) || changes.has('everything')
  if (has('project')) {
    const { settings } = await target.control<Project>('projects.show', { client_id })
    restores.push(() => target.control('projects.update', { client_id }, settings))
  }
  if (has('scenario')) {
    const active = await activeScenario(target)
    restores.push(async () => {
      if ((await activeScenario(target)) === active) return
      await (active === null ? target.control('scenario.clear') : target.control('scenario.use', { name: active }, {}))
    })
  }
  if (has('faults')) {
    const before = await listOwnFaults(target)
    restores.push(async () => {
      for (const fault_id of await listOwnFaults(target)) {
        if (!before.includes(fault_id)) await target.control('faults.remove', { fault_id })
      }
    })
  }
  if (has('clock')) {
    const before = await target.control<Clock>('clock.show')
    restores.push(() => restoreClock(target, before))
  }
  return async () => {
    for (const restore of restores) await restore()
  }
}

async function restoreClock(target: Target, { now_ms, offset_ms, frozen }: Clock): Promise<void> {
  const now = await target.control<Clock>('clock.show')
  if (now.offset_ms === offset_ms && now.frozen === frozen && !frozen) return
  if (frozen) {
    await target.control('clock.freeze', {}, {})
    await target.control('clock.set', {}, { to_ms: now_ms })
    return
  }
  // In this order: a clock that is resumed keeps the offset that it had while it was frozen.
  await target.control('clock.resume', {}, {})
  await target.control('clock.set', {}, { to_ms: null })
  if (offset_ms === 0) return
  const real = await target.control<Clock>('clock.show')
  await target.control('clock.set', {}, { to_ms: real.now_ms + offset_ms })
}

/** Returns the ids of the fault rules that are not of a scenario. */
async function listOwnFaults(target: Target): Promise<string[]> {
  const { items } = await target.control<{ items: { fault_id: string; scenario: string | null }[] }>('faults.list')
  return items.filter(({ scenario }) => scenario === null).map(({ fault_id }) => fault_id)
}

async function activeScenario(target: Target): Promise<string | null> {
  const { items } = await target.control<{ items: { name: string; active: boolean }[] }>('scenario.list')
  return items.find(({ active }) => active)?.name ?? null
}
