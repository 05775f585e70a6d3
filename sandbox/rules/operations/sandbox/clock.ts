/** The sandbox clock. Each move is stored and emits an event. */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import { maxClockMs, type SandboxClock } from '#contract/resources/sandbox/clock.ts'
import type { Clock } from '#platform/clock.ts'
import type { Context, Operation, Services } from '../context.ts'

export const showClock: Operation<Contract['clock.show']> = async (services, { now_ms }) =>
  reading(services.platform.clock, now_ms)

export const advanceClock: Operation<Contract['clock.advance']> = async (services, context, { body }) => {
  const { clock } = services.platform
  return move(services, context, () => {
    if (clock.now() + body.by_ms > maxClockMs) {
      throw new ApiError('schema_invalid', {
        fields: [{ path: 'by_ms', message: 'reaches beyond the year 9000', expected: 'a shorter time' }],
      })
    }
    clock.advance(body.by_ms)
  })
}

export const setClock: Operation<Contract['clock.set']> = async (services, context, { body }) => {
  return move(services, context, () => services.platform.clock.set(body.to_ms))
}

export const freezeClock: Operation<Contract['clock.freeze']> = async (services, context) => {
  return move(services, context, () => services.platform.clock.freeze())
}

export const resumeClock: Operation<Contract['clock.resume']> = async (services, context) => {
  return move(services, context, () => services.platform.clock.resume())
}

/** Sets the clock from the database, or from the host if the database has none. */
export async function restoreClock({ store, platform }: Pick<Services, 'store' | 'platform'>): Promise<void> {
  platform.clock.restore(await store.findClock())
}

/**
 * Moves the clock and stores it, and resolves when every decision that became due is made. A move that cannot be stored
 * is undone, so an error means that nothing moved. If two nodes move it at the same moment, the second starts again
 * from the first one's time. The time of this request becomes the time of the move, so that its Date header is right.
 */
async function move(services: Services, context: Context, change: () => void): Promise<SandboxClock> {
  const { store, platform, pendingDecisions } = services
  const isShared = store.shared !== null
  for (;;) {
    // Another node may have moved it a moment ago.
    const from = isShared ? await store.findClock() : undefined
    if (from !== undefined) platform.clock.restore(from)
    const before = platform.clock.state()
    change()
    const clock = reading(platform.clock, platform.clock.now())
    try {
      if (!(await store.saveClock(platform.clock.state(), from, clock.now_ms))) continue
    } catch (error) {
      platform.clock.restore(before)
      // Alarms of the undone time were called.
      await pendingDecisions.restore()
      throw error
    }
    context.now_ms = clock.now_ms
    if (isShared) {
      // The notification of an older move may have arrived in the meantime.
      await restoreClock(services)
      await pendingDecisions.adopt()
    }
    await pendingDecisions.drain()
    return clock
  }
}

function reading(clock: Clock, now_ms: number): SandboxClock {
  return { now_ms, offset_ms: clock.offset_ms, frozen: clock.frozen }
}
