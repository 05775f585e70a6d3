/** Whole states: named snapshots, imports, and the reset. */
import type { Output } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import { systemReason } from '#foundation/system-error.ts'
import { DamageWarning, isReplaced, type PreparedState, type Refusal } from '#store/store.ts'
import type { Context, Operation, Services } from '../context.ts'
import { verifyChains } from '../evidence/verification.ts'
import { restoreClock } from './clock.ts'

export const resetSandbox: Operation<Contract['sandbox.reset']> = async (services, { now_ms }) => {
  await replaceState(services, () => services.store.reset(now_ms))
  return { ok: true }
}

export const listSnapshots: Operation<Contract['snapshots.list']> = async ({ store }) => ({
  items: await store.listSnapshots(),
})

export const saveSnapshot: Operation<Contract['snapshots.save']> = async ({ store }, _context, { params, body }) => {
  const saved = await store.saveSnapshot(params.name, body.replace ?? false)
  if (saved === null) {
    throw new ApiError('snapshot_exists', { message: `There is a snapshot named ${params.name}.` })
  }
  return saved
}

export const restoreSnapshot: Operation<Contract['snapshots.restore']> = async (services, { now_ms }, { params }) => {
  // Outside the lock: one that waits for its turn would be waited for by the one before it.
  const prepare = async () => {
    const found = await services.drainLock.runOutside(() => services.store.prepareSnapshot(params.name))
    if (found === 'missing') throw missing(params.name)
    if (found.status === 'refused') throw refused(`The snapshot ${params.name}`, found)
    return found
  }
  const { snapshot } = await replaceBy(services, prepare, (found) =>
    replaceState(services, () => found.replace(now_ms)),
  )
  return snapshot
}

export const deleteSnapshot: Operation<Contract['snapshots.delete']> = async ({ store }, _context, { params }) => {
  if (!(await store.deleteSnapshot(params.name))) throw missing(params.name)
  return { ok: true }
}

/**
 * Imports an unpacked export: all of it is verified before it replaces anything. Until then no request waits for it,
 * however long its upload takes, and a client that disconnects cancels it.
 */
export async function importState(
  services: Services,
  { now_ms, signal }: Pick<Context, 'now_ms' | 'signal'>,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Output<Contract['sandbox.import']>> {
  const disconnected = signal()
  const received = await services.store.receiveState(bytes)
  if (received.status === 'refused') throw refused('The file', received)
  try {
    const chains = await verifyReceived({ ...services, store: received.store })
    const replace = (prepared: PreparedState) =>
      services.drainLock.run(() => {
        if (disconnected.aborted) throw new ApiError('http_malformed', { message: 'The client has disconnected.' })
        return replaceState(services, () => prepared.replace(now_ms))
      })
    await replaceBy(services, () => received.prepare(), replace)
    return { ok: true, ...chains }
  } finally {
    await discard(services, received)
  }
}

/** How often a state is prepared again when another one has replaced the present one in the meantime. */
const maxTries = 10

/** Prepares a state, and replaces the present one by it. Of several at a time each takes its turn, the last one stays. */
async function replaceBy<State extends PreparedState>(
  services: Services,
  prepare: () => Promise<State>,
  replace: (prepared: State) => Promise<void>,
): Promise<State> {
  for (let tries = 1; ; tries += 1) {
    let prepared: State | undefined
    try {
      prepared = await prepare()
      await replace(prepared)
      return prepared
    } catch (error) {
      if (!isReplaced(error) || tries === maxTries) throw error
    } finally {
      if (prepared !== undefined) await discard(services, prepared)
    }
  }
}

/** Removes what was prepared. Whether that succeeds says nothing about the replacement, which is done or refused by now. */
async function discard({ report }: Services, copy: Pick<PreparedState, 'discard'>): Promise<void> {
  try {
    await copy.discard()
  } catch (error) {
    report(
      new DamageWarning(
        `a temporary copy of the state could not be removed: ${systemReason(error)}. The next start removes it`,
      ),
    )
  }
}

/** Replaces the whole state while no other request runs, and restores the state in memory. */
async function replaceState<Result>(services: Services, replace: () => Promise<Result>): Promise<Result> {
  const { store, platform, markets, drainLock, pendingDecisions, callbacks, tickets } = services
  return drainLock.runExclusive(async () => {
    const before = store.stateGeneration().count
    try {
      return await replace()
    } finally {
      if (store.stateGeneration().count !== before) {
        // First what needs no rows: a read that is refused must leave nothing of the state before.
        markets.clearCache()
        await services.clearRates()
        await tickets.clear()
        services.consoleGrants.clear()
        services.spotWarnings.length = 0
        services.player?.restart()
        platform.reserveIdsUpTo(await store.largestId())
        await restoreClock(services)
        await services.faults.restore()
        await callbacks.restore()
      }
      await pendingDecisions.restore()
    }
  }, pendingDecisions.cancel)
}

async function verifyReceived(services: Services): Promise<{ projects: number; evidence_entries: number }> {
  let chains: Output<Contract['evidence.verify']>['chains']
  try {
    chains = (await verifyChains(services, { isFull: true })).chains
  } catch {
    throw new ApiError('archive_invalid', { message: 'The evidence of the file cannot be read.' })
  }
  const broken = chains.find(({ broken_at }) => broken_at !== null)
  if (broken !== undefined) {
    throw new ApiError('archive_invalid', {
      message: `The evidence chain of ${broken.client_id} in the file is broken: ${broken.problem}`,
    })
  }
  return { projects: chains.length, evidence_entries: chains.reduce((sum, { entries }) => sum + entries, 0) }
}

function missing(name: string): ApiError {
  return new ApiError('not_found', {
    message: `There is no snapshot named ${name}.`,
    hint: 'List them: svc sandbox snapshot list.',
  })
}

function refused(what: string, { reason, problem }: Refusal): ApiError {
  return new ApiError(reason === 'newer' ? 'archive_newer' : 'archive_invalid', {
    message: `${what} cannot be used: ${problem}.`,
  })
}
