/**
 * Callbacks: the decision of each slot is posted once to the callback URL of its job, signed with the text of the
 * secret key that created the job (C07). Keys are stored hashed, so their texts are kept here, in memory only: after a
 * restart an undelivered callback is `lost`, until it is sent again with the key.
 *
 * Time limits and retries run on real time, not on the sandbox clock: a receiver is a real program that needs real time
 * to recover, a frozen clock would never retry, and a clock that is moved ahead would use up all attempts at once.
 * Records have the time of the sandbox clock, like everything else.
 */
import { ApiError } from '#contract/errors.ts'
import type { Platform } from '#platform/platform.ts'
import type { CallbackRow, CallbackUpdate, Store } from '#store/store.ts'
import type { NodeMetrics } from '../metrics/node-metrics.ts'
import { createTimers } from '../timers.ts'
import { readStoredTrace, type TraceContext } from '../traces/trace-context.ts'
import type { Tracing } from '../traces/tracing.ts'
import { createCallbackQueue, type Delivery } from './queue.ts'
import { type CallbackNetwork, outcome, sendCallback } from './request.ts'

export interface Callbacks {
  /** Resolves to why a callback may not go to this URL, or null: a clause about `callback_url`. */
  findProblem(url: string): Promise<string | null>
  /** Keeps the text of the key that a job with a callback URL was created with. */
  keepKey(key_id: number, text: string): void
  /** Notes that this node must post the decision of a slot, whichever node decides it: its key is here. */
  expect(slot_id: number): void
  /** Posts decisions that another node made for expected slots. */
  decided(slot_ids: readonly number[]): void
  /** Continues callbacks of nodes that have died, and gives up the ones whose key no node has. */
  adopt(): Promise<void>
  /** Returns how many deliveries wait for their turn, and how many are being sent. */
  queued(): { waiting: number; sending: number }
  /** Posts the decision of a decided slot. Does nothing for a slot without a callback. */
  deliver(slot_id: number): void
  /**
   * Posts the decision of a slot now, once, and resolves to the outcome. `text`: the key, when it is not in memory.
   * @throws ApiError 400 when the key is not the one that created the job, or not in memory
   */
  resend(row: CallbackRow, text?: string): Promise<CallbackRow>
  /** Continues the callbacks that are unfinished in the store: after a start, or when the state was replaced. */
  restore(): Promise<void>
  /** Cancels pending attempts, and waits a moment for requests that were sent. */
  close(): Promise<void>
}

interface CallbackServices {
  store: Store
  platform: Platform
  /** Resolves to the decision of a slot as JSON text; null when the slot is gone or not decided. */
  readMessage(slot_id: number): Promise<string | null>
  network: CallbackNetwork
  metrics: Pick<NodeMetrics, 'countCallback'>
  tracing: Tracing | null
  /** Called with failures outside any request. */
  report(error: unknown): void
}

/** How long to wait before the second and the third attempt, real milliseconds. */
const retryDelaysMs = [500, 1_500] as const
/** Keys whose texts are kept. The oldest goes first. */
const maxKeys = 256
/** Slots whose decision is expected from other nodes. */
const maxExpectedSlots = 10_000
/** How long a stop waits for requests that were sent, real milliseconds. */
const stopTimeoutMs = 500

/** How long an attempt belongs to the node that took it: longer than a request may take, milliseconds. */
const leaseMs = 30_000
/** How long a callback of another node may be undelivered before this node takes over, and before it is given up. */
const adoptAfterMs = 5_000
const giveUpAfterMs = 45_000

export function createCallbacks(services: CallbackServices): Callbacks {
  const { store, network } = services
  const { shared } = store
  const expected = new Set<number>()
  const keys = createKeys(services)
  const { deliver, lose, send, finish, queued, close } = createDeliveries(services, keys)
  /** When a callback of another node was first seen undelivered, by `performance.now()`. */
  const strays = new Map<number, number>()
  return {
    findProblem: network.findProblem,
    keepKey: keys.keep,
    queued,
    deliver,
    expect(slot_id) {
      if (shared === null) return
      addExpected(expected, slot_id)
    },
    decided(slot_ids) {
      for (const slot_id of slot_ids) if (expected.delete(slot_id)) deliver(slot_id)
    },
    async adopt() {
      const unfinished = (await store.listUnfinishedCallbacks()).filter(({ is_decided }) => is_decided)
      const now = performance.now()
      trackStrays(strays, unfinished, now)
      for (const { slot_id, key_id } of unfinished) {
        const waited_ms = now - (strays.get(slot_id) ?? now)
        if (waited_ms > giveUpAfterMs) await giveUp(slot_id)
        else if (waited_ms > adoptAfterMs && keys.has(key_id)) deliver(slot_id)
      }
    },
    async resend(row, text) {
      const key = await keys.find(row, text)
      if (key === null) throw text === undefined ? new ApiError('callback_key_lost') : anotherKey()
      const message = await services.readMessage(row.slot_id)
      if (message === null) throw new ApiError('callback_undecided')
      if (text !== undefined) keys.keep(row.key_id, text)
      const sent = await send({ row, key, message, trace: await findTrace(store, row.slot_id) })
      if (sent === null) return row
      await finish(sent.update, true)
      return (await store.findCallback(row.slot_id)) ?? row
    },
    async restore() {
      // Another node may have the key and be delivering it.
      if (shared !== null && (await shared.nodes()).length > 1) return
      for (const { slot_id, key_id, is_decided } of await store.listUnfinishedCallbacks()) {
        const row = keys.has(key_id) ? null : await store.findCallback(slot_id)
        if (row !== null) await lose(row)
        else if (is_decided) deliver(slot_id)
      }
    },
    close,
  }

  /** Runs on one node: it takes the attempt, and no other can. */
  async function giveUp(slot_id: number): Promise<void> {
    strays.delete(slot_id)
    const row = await store.findCallback(slot_id)
    if (row === null || isFinished(row)) return
    if (await shared?.claimCallback(slot_id, row.attempts, leaseMs)) await lose(row)
  }
}

function addExpected(expected: Set<number>, slot_id: number): void {
  expected.add(slot_id)
  if (expected.size > maxExpectedSlots) expected.delete(expected.values().next().value!)
}

/** The attempts to deliver callbacks whose keys are in memory. */
function createDeliveries(services: CallbackServices, keys: Keys) {
  const { store, platform } = services
  const { shared } = store
  const retries = createTimers()
  const stopped = new AbortController()
  const queue = createCallbackQueue(attempt, services.report)
  const send = (callback: Parameters<typeof sendCallback>[1]) => sendCallback(services, callback, stopped.signal)
  const lose = (row: CallbackRow) => loseCallback(services, row)
  return {
    deliver(slot_id: number): void {
      begin(slot_id).catch(services.report)
    },
    lose,
    send,
    finish,
    queued: queue.queued,
    async close(): Promise<void> {
      queue.clear()
      retries.clear()
      const force = setTimeout(() => stopped.abort(), stopTimeoutMs)
      await queue.finish()
      clearTimeout(force)
      stopped.abort()
    },
  }

  /** Queues the first attempt, with the share that it counts to. */
  async function begin(slot_id: number): Promise<void> {
    const generation = store.stateGeneration().count
    const row = await store.findCallback(slot_id)
    if (row === null || isFinished(row)) return
    const receiver = URL.parse(row.url)?.origin ?? row.url
    enqueue({ slot_id, attempt: 1, message: null, generation, project_id: row.project_id, receiver })
  }

  function enqueue(delivery: Delivery): void {
    if (!stopped.signal.aborted) queue.add(delivery)
  }

  async function attempt(delivery: Delivery): Promise<void> {
    const row = isCurrent(delivery) ? await store.findCallback(delivery.slot_id) : null
    if (row === null || isFinished(row)) return
    const key = await keys.find(row)
    // Another node may have the key: it is notified of the decision.
    if (key === null) return shared === null ? lose(row) : undefined
    if (shared !== null && !(await shared.claimCallback(row.slot_id, row.attempts, leaseMs))) return
    delivery.message ??= await services.readMessage(row.slot_id)
    if (delivery.message === null || !isCurrent(delivery)) return
    const trace = await findTrace(store, row.slot_id)
    const sent = await send({ row, key, message: delivery.message, trace })
    if (sent === null || !isCurrent(delivery)) return
    const wait_ms = retryDelaysMs[delivery.attempt - 1]
    const isLast = sent.is_final || wait_ms === undefined
    await finish(sent.update, isLast)
    const next = { ...delivery, attempt: delivery.attempt + 1 }
    if (!isLast && !stopped.signal.aborted) retries.set(() => enqueue(next), wait_ms)
  }

  /** Stores and counts the outcome of an attempt. */
  async function finish(update: Omit<CallbackUpdate, 'status'>, isLast: boolean): Promise<void> {
    const [row, event] = outcome(update, isLast)
    await store.updateCallback(row, event, platform.clock.now())
    services.metrics.countCallback(row.status)
  }

  function isCurrent({ generation }: Delivery): boolean {
    return generation === store.stateGeneration().count
  }
}

/** Resolves to the trace of the request that created a slot; null when it was in none. */
async function findTrace(store: Store, slot_id: number): Promise<TraceContext | null> {
  return readStoredTrace((await store.findSlot(slot_id))?.job.facts ?? {})
}

async function loseCallback({ store, platform, metrics }: CallbackServices, row: CallbackRow): Promise<void> {
  const problem =
    'The text of its key is no longer in memory: the sandbox was restarted before this was delivered, or 256 other keys have created callbacks since.'
  const update = { ...row, status: 'key_lost', problem } as const
  await store.updateCallback(update, 'callback.failed', platform.clock.now())
  metrics.countCallback(update.status)
}

interface Keys {
  has(key_id: number): boolean
  keep(key_id: number, text: string): void
  /** Resolves to the text of the key that created the job; null when it is not in memory. */
  find(row: CallbackRow, text?: string): Promise<string | null>
}

function createKeys({ store, platform }: CallbackServices): Keys {
  const texts = new Map<number, string>()
  return {
    has: (key_id) => texts.has(key_id),
    keep(key_id, text) {
      texts.delete(key_id)
      if (texts.size >= maxKeys) texts.delete(texts.keys().next().value!)
      texts.set(key_id, text)
    },
    async find({ key_id }, text = texts.get(key_id)) {
      // After a restore, the number may belong to another key.
      const key = text === undefined ? null : await store.findKey(platform.sha256(text))
      return key?.id === key_id ? text! : null
    },
  }
}

/** Notes when callbacks were first seen undelivered, and removes the ones that are no longer. */
function trackStrays(strays: Map<number, number>, unfinished: readonly { slot_id: number }[], now: number): void {
  const found = new Set(unfinished.map(({ slot_id }) => slot_id))
  for (const slot_id of strays.keys()) if (!found.has(slot_id)) strays.delete(slot_id)
  for (const slot_id of found) if (!strays.has(slot_id)) strays.set(slot_id, now)
}

function isFinished({ status }: CallbackRow): boolean {
  return status !== 'waiting' && status !== 'retrying'
}

function anotherKey(): ApiError {
  return new ApiError('callback_key_lost', {
    message: 'The key you sent is not the one that created the job.',
    hint: 'Send the key that created it as secret_key: svc sandbox callbacks resend SLOT_ID --secret-key KEY.',
  })
}
