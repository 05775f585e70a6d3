/** Plays the faults of a game day in a running sandbox, beside the turns that meet them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '#client/client.ts'
import { listRules } from './fault-rules.ts'
import type { Gameday } from './gameday-file.ts'

/**
 * Awaits `work` while each fault of the timeline is added at its time. Removes the rules that it added, however `work`
 * ends. The signal that `work` gets is aborted when a fault cannot be added, whose error is thrown.
 */
export async function withFaults<T>(
  client: Client,
  { timeline, seed }: Pick<Gameday, 'timeline' | 'seed'>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const both = AbortSignal.any([signal, over.signal])
  const added: string[] = []
  const start_ms = performance.now()
  const adding = timeline.map(async (timed) => {
    await sleep(Math.max(0, start_ms + timed.at_ms - performance.now()), undefined, { signal: both })
    for (const body of listRules(timed, seed))
      added.push((await client.faults.add({ body }, { signal: both })).fault_id)
  })
  const added_all = Promise.all(adding)
  // Handled below, but it may reject while work goes on.
  added_all.catch(() => {})
  try {
    const failed = added_all.then(() => new Promise<never>(() => {}))
    return await Promise.race([work(both), failed])
  } finally {
    over.abort()
    await Promise.allSettled(adding)
    for (const fault_id of added) await client.faults.remove({ params: { fault_id } })
  }
}
