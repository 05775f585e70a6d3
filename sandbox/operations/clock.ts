/** The sandbox clock: shown and moved. Each move is stored and emits an event. */
import { latest_ms, type SandboxClock } from '../../src/contract/control/clock.ts'
import { ApiError } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Context, Operation, Services } from './context.ts'

export const showClock: Operation<Contract['clock.show']> = async (services, { now_ms }) =>
  reading(services.platform.clock, now_ms)

export const advanceClock: Operation<Contract['clock.advance']> = async (services, context, { body }) => {
  const { clock } = services.platform
  if (clock.now() + body.by_ms > latest_ms) {
    throw new ApiError('schema_invalid', {
      fields: [{ path: 'by_ms', message: 'reaches beyond the year 9000', expected: 'a shorter time' }],
    })
  }
  return move(services, context, () => clock.advance(body.by_ms))
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

/** Sets the clock that the database holds, or the time of the host when it holds none. */
export async function restoreClock({ store, platform }: Pick<Services, 'store' | 'platform'>): Promise<void> {
  platform.clock.restore(await store.findClock())
}

/**
 * Moves the clock and stores it, and resolves when every decision that has become due is made. A move that cannot be stored
 * is taken back, so that an error means that nothing has moved. The time of this request becomes the time of the move, so
 * that its Date header is right.
 */
async function move(services: Services, context: Context, change: () => void): Promise<SandboxClock> {
  const { store, platform, pendingDecisions } = services
  const before = platform.clock.state()
  change()
  const clock = reading(platform.clock, platform.clock.now())
  try {
    await store.saveClock(platform.clock.state(), clock.now_ms)
  } catch (error) {
    platform.clock.restore(before)
    // Alarms of the taken back time were called.
    await pendingDecisions.restore()
    throw error
  }
  context.now_ms = clock.now_ms
  await pendingDecisions.drain()
  return clock
}

function reading(clock: Clock, now_ms: number): SandboxClock {
  return { now_ms, offset_ms: clock.offset_ms, frozen: clock.frozen }
}
