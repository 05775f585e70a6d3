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
  clock.advance(body.by_ms)
  return moved(services, context)
}

export const setClock: Operation<Contract['clock.set']> = async (services, context, { body }) => {
  services.platform.clock.set(body.to_ms)
  return moved(services, context)
}

export const freezeClock: Operation<Contract['clock.freeze']> = async (services, context) => {
  services.platform.clock.freeze()
  return moved(services, context)
}

export const resumeClock: Operation<Contract['clock.resume']> = async (services, context) => {
  services.platform.clock.resume()
  return moved(services, context)
}

/** Sets the clock that the database holds, or the time of the host when it holds none. */
export async function restoreClock({ store, platform }: Pick<Services, 'store' | 'platform'>): Promise<void> {
  platform.clock.restore(await store.findClock())
}

/**
 * Stores the moved clock, and resolves when every decision that has become due is made. The time of this request becomes
 * the time of the move, so that its Date header is right.
 */
async function moved(services: Services, context: Context): Promise<SandboxClock> {
  const { store, platform, pendingDecisions } = services
  const clock = reading(platform.clock, platform.clock.now())
  context.now_ms = clock.now_ms
  await store.saveClock(platform.clock.state(), clock.now_ms)
  await pendingDecisions.drain()
  return clock
}

function reading(clock: Clock, now_ms: number): SandboxClock {
  return { now_ms, offset_ms: clock.offset_ms, frozen: clock.frozen }
}
