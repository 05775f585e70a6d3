/**
 * Applies the commits of other nodes: clock, fault rules, decisions that requests of this node wait for, and states
 * that replaced this one. Overdue decisions of a node that has died are made by the first node that finds them: the
 * store binds a decision once. Requests that wait for a decision that nobody announced are woken.
 */
import type { Platform } from '#platform/platform.ts'
import type { Store, StoreChange } from '#store/store.ts'
import type { Callbacks } from './callbacks/callbacks.ts'
import type { ConsoleGrants } from './console-grants.ts'
import type { Faults } from './faults.ts'
import type { Markets } from './markets.ts'
import type { PendingDecisions } from './pending-decisions.ts'
import type { Waiters } from './waiters.ts'

interface NodeChangeServices {
  store: Store
  platform: Platform
  waiters: Waiters
  faults: Faults
  markets: Markets
  pendingDecisions: PendingDecisions
  callbacks: Callbacks
  consoleGrants: ConsoleGrants
  /** Called with failures outside any request, but not while the database is lost. */
  report(error: unknown): void
}

/** How often to look for overdue decisions and callbacks of other nodes, real milliseconds. */
const sweepMs = 1_000

/** Follows the other nodes until the returned function is called. Does nothing for a store that one process owns. */
export function followNodes(services: NodeChangeServices): () => void {
  const { store, pendingDecisions, callbacks } = services
  const { shared } = store
  if (shared === null) return () => {}
  let isStopped = false

  const reportUnlessLost = (error: unknown) => {
    if (!isStopped && shared.isConnected()) services.report(error)
  }

  /** One change after the other: the last change committed is the last to take effect. */
  let applying = Promise.resolve()
  const unsubscribe = store.onChange((change) => {
    if (!isStopped) applying = applying.then(() => applyChange(services, change)).catch(reportUnlessLost)
  })

  let timer: NodeJS.Timeout
  const sweep = async () => {
    try {
      if (shared.isConnected()) {
        await wakeDecided(services)
        await pendingDecisions.adopt()
        await callbacks.adopt()
      }
    } catch (error) {
      reportUnlessLost(error)
    }
    if (!isStopped) timer = setTimeout(sweep, sweepMs)
  }
  timer = setTimeout(sweep, sweepMs)
  return () => {
    isStopped = true
    clearTimeout(timer)
    unsubscribe()
  }
}

async function applyChange(services: NodeChangeServices, change: StoreChange): Promise<void> {
  const { store, platform, waiters, faults, markets, pendingDecisions, callbacks, consoleGrants } = services
  switch (change.kind) {
    case 'projects':
      return
    case 'clock':
      return platform.clock.restore(await store.findClock())
    case 'faults':
      return faults.restore()
    case 'decided':
      for (const slot_id of change.slot_ids) waiters.wake(slot_id)
      return callbacks.decided(change.slot_ids)
    case 'generation':
      markets.clearCache()
      consoleGrants.clear()
      pendingDecisions.cancel()
      platform.reserveIdsUpTo(await store.largestId())
      break
    case 'resumed':
      await wakeDecided(services)
  }
  platform.clock.restore(await store.findClock())
  await faults.restore()
  await pendingDecisions.adopt()
}

/** Wakes requests whose slot was decided without a notification: it was lost, or the node died before sending it. */
async function wakeDecided({ store, waiters }: NodeChangeServices): Promise<void> {
  const wakeIfDecided = async (slot_id: number) => {
    const find = async () => store.findSlot(slot_id)
    const slot = await (store.shared?.readShowable(find) ?? find())
    if (slot?.decision !== null) waiters.wake(slot_id)
  }
  await Promise.all(waiters.waiting().map(wakeIfDecided))
}
