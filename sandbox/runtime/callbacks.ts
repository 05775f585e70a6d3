/**
 * Callbacks: the decision of each slot is posted once to the callback URL of its job, signed with the text of the
 * secret key that created the job (C07). Keys are stored hashed, so their texts are kept here, in memory only: after a
 * restart an undelivered callback is `lost`, until it is sent again with the key.
 *
 * Time limits and retries run on real time, not on the sandbox clock: a receiver is a real program that needs real time
 * to recover, a frozen clock would never retry, and a clock that is moved ahead would use up all attempts at once.
 * Records have the time of the sandbox clock, like everything else.
 */

import { problemHeader } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import type { EventType } from '#contract/resources/events.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { Platform } from '#platform/platform.ts'
import type { CallbackRow, CallbackUpdate, Store } from '#store/store.ts'

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
  /** Called with failures outside any request. */
  report(error: unknown): void
}

/** The network that sends callbacks. */
export interface CallbackNetwork {
  findProblem(url: string): Promise<string | null>
  /** Sends one request, and never throws. */
  post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<CallbackResult>
}

/** The outcome of one attempt. */
export type CallbackResult =
  | { status: number; headers: Record<string, string>; body: string }
  /** No response, and why. `is_final`: another attempt would fail the same way. */
  | { status: null; problem: string; is_final: boolean }

const signatureHeader = 'x-csl-signature'

/** How long to wait before the second and the third attempt, real milliseconds. */
const retryDelaysMs = [500, 1_500] as const
/** Requests at a time: in all, of one project, and to one receiver. A slow receiver delays only its own callbacks. */
const maxRequests = 64
const maxProjectRequests = 32
const maxReceiverRequests = 4
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

/** One decision on its way: the same bytes in every attempt. `generation`: the state that it belongs to. */
interface Delivery {
  slot_id: number
  attempt: number
  message: string | null
  generation: number
  project_id: number
  /** The origin of its URL. */
  receiver: string
}

export function createCallbacks(services: CallbackServices): Callbacks {
  const { store, platform, network } = services
  const { shared } = store
  const expected = new Set<number>()
  /** When a callback of another node was first seen undelivered, by `performance.now()`. */
  const strays = new Map<number, number>()
  const keys = new Map<number, string>()
  const queue: Delivery[] = []
  /** How many requests are under way, by the id of a project and by receiver. */
  const busy = new Map<number | string, number>()
  const sending = new Set<Promise<void>>()
  const retries = new Set<NodeJS.Timeout>()
  const stopped = new AbortController()

  const isCurrent = ({ generation }: Delivery) => generation === store.stateGeneration().count

  const enqueue = (delivery: Delivery) => {
    if (stopped.signal.aborted) return
    queue.push(delivery)
    pump()
  }

  /** Queues the first attempt, with the share that it counts to. */
  const begin = async (slot_id: number): Promise<void> => {
    const generation = store.stateGeneration().count
    const row = await store.findCallback(slot_id)
    if (row === null || isFinished(row)) return
    const receiver = URL.parse(row.url)?.origin ?? row.url
    enqueue({ slot_id, attempt: 1, message: null, generation, project_id: row.project_id, receiver })
  }

  const mayStart = ({ project_id, receiver }: Delivery) =>
    (busy.get(receiver) ?? 0) < maxReceiverRequests && (busy.get(project_id) ?? 0) < maxProjectRequests

  const count = ({ project_id, receiver }: Delivery, change: 1 | -1) => {
    for (const share of [project_id, receiver]) {
      const left = (busy.get(share) ?? 0) + change
      if (left === 0) busy.delete(share)
      else busy.set(share, left)
    }
  }

  const pump = () => {
    for (let at = 0; at < queue.length && sending.size < maxRequests; ) {
      const delivery = queue[at]!
      if (!mayStart(delivery)) {
        at++
        continue
      }
      queue.splice(at, 1)
      count(delivery, 1)
      const done = attempt(delivery)
        .catch(services.report)
        .finally(() => {
          count(delivery, -1)
          sending.delete(done)
          pump()
        })
      sending.add(done)
    }
  }

  const attempt = async (delivery: Delivery): Promise<void> => {
    const row = isCurrent(delivery) ? await store.findCallback(delivery.slot_id) : null
    if (row === null || isFinished(row)) return
    const key = await findKey(row)
    // Another node may have the key: it is notified of the decision.
    if (key === null) return shared === null ? lose(row) : undefined
    if (shared !== null && !(await shared.claimCallback(row.slot_id, row.attempts, leaseMs))) return
    delivery.message ??= await services.readMessage(row.slot_id)
    if (delivery.message === null || !isCurrent(delivery)) return
    const sent = await send(row, key, delivery.message)
    if (sent === null || !isCurrent(delivery)) return
    const wait_ms = retryDelaysMs[delivery.attempt - 1]
    const isLast = sent.is_final || wait_ms === undefined
    await store.updateCallback(...outcome(sent.update, isLast), platform.clock.now())
    if (isLast || stopped.signal.aborted) return
    const timer = setTimeout(() => {
      retries.delete(timer)
      enqueue({ ...delivery, attempt: delivery.attempt + 1 })
    }, wait_ms)
    retries.add(timer)
  }

  /** Sends one request and records it in the journal. Resolves to null when the sandbox stops in the meantime. */
  const send = async (row: CallbackRow, key: string, message: string) => {
    const started = performance.now()
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'svc-callback',
      [signatureHeader]: `sha256=${platform.hmacSha256Hex(key, message)}`,
    }
    const result = await network.post(row.url, headers, message, stopped.signal)
    if (stopped.signal.aborted && result.status === null) return null
    const now_ms = platform.clock.now()
    store.appendExchange({
      id: platform.newId(),
      at_ms: now_ms,
      method: 'POST',
      path: redactSecrets(row.url),
      status: result.status ?? 0,
      error: null,
      reason_code: null,
      duration_us: Math.round((performance.now() - started) * 1000),
      project_id: row.project_id,
      session_id: null,
      slot_id: row.slot_id,
      request_headers: JSON.stringify(headers),
      request_body: redactSecrets(message),
      response_headers: redactSecrets(JSON.stringify(listHeaders(result))),
      response_body: result.status === null ? '' : redactSecrets(result.body),
      key_kind: null,
      key_id: row.key_id,
    })
    const problem = describeProblem(result)
    const update = {
      slot_id: row.slot_id,
      attempts: row.attempts + 1,
      http_status: result.status,
      problem,
      attempted_at_ms: now_ms,
    }
    return {
      update,
      is_final: problem === null || (result.status === null ? result.is_final : isRedirect(result.status)),
    }
  }

  /** Resolves to the text of the key that created the job; null when it is not in memory. */
  const findKey = async ({ key_id }: CallbackRow, text = keys.get(key_id)): Promise<string | null> => {
    // After a restore, the number may belong to another key.
    const key = text === undefined ? null : await store.findKey(platform.sha256(text))
    return key?.id === key_id ? text! : null
  }

  const lose = (row: CallbackRow): Promise<void> => {
    const problem =
      'The text of its key is no longer in memory: the sandbox was restarted before this was delivered, or 256 other keys have created callbacks since.'
    const update = { ...row, status: 'key_lost', problem } as const
    return store.updateCallback(update, 'callback.failed', platform.clock.now())
  }

  /** Runs on one node: it takes the attempt, and no other can. */
  const giveUp = async (slot_id: number): Promise<void> => {
    strays.delete(slot_id)
    const row = await store.findCallback(slot_id)
    if (row === null || isFinished(row)) return
    if (await shared?.claimCallback(slot_id, row.attempts, leaseMs)) await lose(row)
  }

  return {
    findProblem: network.findProblem,
    keepKey(key_id, text) {
      keys.delete(key_id)
      if (keys.size >= maxKeys) keys.delete(keys.keys().next().value!)
      keys.set(key_id, text)
    },
    deliver(slot_id) {
      begin(slot_id).catch(services.report)
    },
    expect(slot_id) {
      if (shared === null) return
      expected.add(slot_id)
      if (expected.size > maxExpectedSlots) expected.delete(expected.values().next().value!)
    },
    decided(slot_ids) {
      for (const slot_id of slot_ids) if (expected.delete(slot_id)) this.deliver(slot_id)
    },
    async adopt() {
      const unfinished = (await store.unfinishedCallbacks()).filter(({ is_decided }) => is_decided)
      const now = performance.now()
      const found = new Set(unfinished.map(({ slot_id }) => slot_id))
      for (const slot_id of strays.keys()) if (!found.has(slot_id)) strays.delete(slot_id)
      for (const { slot_id, key_id } of unfinished) {
        const seen = strays.get(slot_id)
        if (seen === undefined) strays.set(slot_id, now)
        else if (now - seen > giveUpAfterMs) await giveUp(slot_id)
        else if (now - seen > adoptAfterMs && keys.has(key_id)) this.deliver(slot_id)
      }
    },
    async resend(row, text) {
      const key = await findKey(row, text)
      if (key === null) throw text === undefined ? new ApiError('callback_key_lost') : anotherKey()
      const message = await services.readMessage(row.slot_id)
      if (message === null) throw new ApiError('callback_undecided')
      if (text !== undefined) this.keepKey(row.key_id, text)
      const sent = await send(row, key, message)
      if (sent === null) return row
      await store.updateCallback(...outcome(sent.update, true), platform.clock.now())
      return (await store.findCallback(row.slot_id)) ?? row
    },
    async restore() {
      if (shared !== null) {
        // Another node may have the key and be delivering it.
        if ((await shared.nodes()).length > 1) return
      }
      for (const { slot_id, key_id, is_decided } of await store.unfinishedCallbacks()) {
        const row = keys.has(key_id) ? null : await store.findCallback(slot_id)
        if (row !== null) await lose(row)
        else if (is_decided) this.deliver(slot_id)
      }
    },
    async close() {
      queue.length = 0
      for (const timer of retries) clearTimeout(timer)
      const force = setTimeout(() => stopped.abort(), stopTimeoutMs)
      await Promise.all(sending)
      clearTimeout(force)
      stopped.abort()
    },
  }
}

function isFinished({ status }: CallbackRow): boolean {
  return status !== 'waiting' && status !== 'retrying'
}

/** Returns the outcome to store of an attempt, and its event. */
function outcome(update: Omit<CallbackUpdate, 'status'>, isLast: boolean): [CallbackUpdate, EventType] {
  if (update.problem === null) return [{ ...update, status: 'delivered' }, 'callback.delivered']
  if (isLast) return [{ ...update, status: 'failed' }, 'callback.failed']
  return [{ ...update, status: 'retrying' }, 'callback.retried']
}

/** Returns why an attempt failed, as one sentence; null for a 2xx. */
function describeProblem(result: CallbackResult): string | null {
  if (result.status === null) return result.problem
  if (result.status >= 200 && result.status < 300) return null
  if (isRedirect(result.status)) return `The receiver responded ${result.status}; redirects are not followed.`
  return `The receiver responded ${result.status}.`
}

/** Returns the headers of a response; without one, why there is none. */
function listHeaders(result: CallbackResult): Record<string, string> {
  return result.status === null ? { [problemHeader]: result.problem } : result.headers
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

function anotherKey(): ApiError {
  return new ApiError('callback_key_lost', {
    message: 'The key you sent is not the one that created the job.',
    hint: 'Send the key that created it as secret_key: svc callbacks resend SLOT_ID --secret-key KEY.',
  })
}
