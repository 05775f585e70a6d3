/**
 * Pending slots: decided when their latency has passed on the sandbox clock, even after a restart; and the requests
 * that wait for them.
 */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import { encodeId } from '#contract/ids.ts'
import { mayProcessPrompt, resolveConsent } from '#domain/consent.ts'
import type { Clock } from '#platform/clock.ts'
import type { SlotRow, Store, StoredDecision } from '#store/store.ts'
import { createAsking, type PostToBidder } from './bidders/bidders.ts'
import type { Callbacks } from './callbacks/callbacks.ts'
import { listCampaignCaps, listCaps } from './caps.ts'
import { type DecisionServices, decideJobSlot, decisionEvidence } from './decisions.ts'
import { yieldToEventLoop } from './event-loop.ts'
import type { NodeMetrics } from './metrics/node-metrics.ts'
import { createTimers } from './timers.ts'
import { describeDecision } from './traces/request-trace.ts'
import { readStoredTrace } from './traces/trace-context.ts'
import type { Tracing } from './traces/tracing.ts'
import type { Waiters } from './waiters.ts'

export interface PendingDecisions {
  /** Decides the slot when the sandbox clock reaches `due_at_ms`. */
  schedule(slot_id: number, due_at_ms: number): void
  /** Schedules the slots that are pending in the store: after a start, or when the state was replaced. */
  restore(): Promise<void>
  /** Schedules due slots that another node should have decided: it may have died. */
  adopt(): Promise<void>
  /** Returns how many decisions this node has yet to make. */
  count(): number
  /** Resolves when every decision that is due now has been made, or has failed and will be tried again. */
  drain(): Promise<void>
  /** Cancels every scheduled decision and wakes all waiters. The slots stay pending in the store. */
  cancel(): void
}

interface PendingDecisionServices extends DecisionServices {
  waiters: Waiters
  callbacks: Pick<Callbacks, 'deliver'>
  metrics: Pick<NodeMetrics, 'countDecision'>
  tracing: Tracing | null
  postToBidder: PostToBidder
  /** Called with failures outside any request. */
  report(error: unknown): void
}

/** Delay before a decision that could not be stored is tried again, real milliseconds. */
const retryMs = 1_000
/** Decisions that are made before other requests get a turn. */
const batchSize = 50

interface Pending {
  slot_id: number
  due_at_ms: number
}

export function createPendingDecisions(services: PendingDecisionServices): PendingDecisions {
  const { store, platform, waiters } = services
  const { clock } = platform
  const pending = pendingInOrder(clock, run)
  const retries = createTimers()
  let running: Promise<void> | null = null
  /** Slots that are being decided: one that waits for a bidder is still pending in the store. */
  const deciding = new Set<number>()
  let asking = new AbortController()

  function run(): Promise<void> {
    if (running !== null) return running
    pending.cancelAlarm()
    running = decideDue().finally(() => {
      running = null
      pending.setAlarm()
    })
    return running
  }

  const schedule = (slot_id: number, due_at_ms: number) => {
    pending.add({ slot_id, due_at_ms })
    if (running === null) pending.setAlarm()
  }

  const decideDue = async () => {
    for (;;) {
      const due = pending.takeDue()
      if (due.length === 0) return
      await Promise.all(due.map(decide))
      await yieldToEventLoop()
    }
  }

  const decide = async ({ slot_id, due_at_ms }: Pending) => {
    if (deciding.has(slot_id)) return
    const { signal } = asking
    deciding.add(slot_id)
    try {
      await decidePending(services, slot_id, signal)
    } catch (error) {
      services.report(error)
      retries.set(() => schedule(slot_id, due_at_ms), retryMs)
    } finally {
      deciding.delete(slot_id)
    }
  }

  return {
    schedule,
    async restore() {
      pending.addAll(await store.listPendingSlots())
      if (running === null) pending.setAlarm()
    },
    async adopt() {
      pending.addMissing(await store.listPendingSlots(clock.now()))
      if (running === null) pending.setAlarm()
    },
    count: pending.count,
    async drain() {
      while (running !== null || pending.isDue()) await run()
    },
    cancel() {
      retries.clear()
      pending.clear()
      asking.abort()
      asking = new AbortController()
      deciding.clear()
      waiters.wakeAll()
    },
  }
}

type StoredPending = Awaited<ReturnType<Store['listPendingSlots']>>[number]

/** Pending slots in the order that they become due, with an alarm for the first. */
function pendingInOrder(clock: Clock, onDue: () => void) {
  let pending: Pending[] = []
  let alarm: { at_ms: number; cancel: () => void } | null = null

  return { add, addAll, addMissing, count: () => pending.length, isDue, takeDue, setAlarm, cancelAlarm, clear }

  function add(added: Pending): void {
    const after = pending.findLastIndex(({ due_at_ms }) => due_at_ms <= added.due_at_ms)
    pending.splice(after + 1, 0, added)
  }

  function addAll(stored: readonly StoredPending[]): void {
    for (const { id, due_at_ms } of stored) pending.push({ slot_id: id, due_at_ms })
    pending.sort((a, b) => a.due_at_ms - b.due_at_ms)
  }

  function addMissing(stored: readonly StoredPending[]): void {
    const own = new Set(pending.map(({ slot_id }) => slot_id))
    addAll(stored.filter(({ id }) => !own.has(id)))
  }

  function isDue(): boolean {
    const [next] = pending
    return next !== undefined && next.due_at_ms <= clock.now()
  }

  /** Removes and returns at most one batch of due slots. */
  function takeDue(): Pending[] {
    const now_ms = clock.now()
    const later = pending.findIndex(({ due_at_ms }, index) => index === batchSize || due_at_ms > now_ms)
    return pending.splice(0, later === -1 ? pending.length : later)
  }

  function setAlarm(): void {
    const at_ms = pending[0]?.due_at_ms
    if (alarm?.at_ms === at_ms) return
    cancelAlarm()
    if (at_ms !== undefined) alarm = { at_ms, cancel: clock.at(at_ms, onDue) }
  }

  function cancelAlarm(): void {
    alarm?.cancel()
    alarm = null
  }

  function clear(): void {
    pending = []
    cancelAlarm()
  }
}

async function decidePending(services: PendingDecisionServices, slot_id: number, stopped: AbortSignal): Promise<void> {
  const { store, platform, waiters, callbacks, metrics } = services
  let ask: ReturnType<typeof createAsking> | null = null
  for (;;) {
    const slot = await store.findSlot(slot_id)
    if (slot === null || slot.decision !== null) return
    const started = performance.now()
    const { job } = slot
    const jobSlot = { job, project: slot.project, slot_id }
    ask ??= createAsking(services, jobSlot, stopped)
    const asked_at_ms = platform.clock.now()
    const consent = await consentInForce(services, slot, asked_at_ms)
    const answers = await ask(consent, asked_at_ms)
    // Then the slot stays pending.
    if (stopped.aborted) return
    const now_ms = answers.length === 0 ? asked_at_ms : platform.clock.now()
    const decision = await decideJobSlot(services, jobSlot, { consent, now_ms, answers })
    const evidence = decisionEvidence(services, jobSlot, decision)
    const dropsTopic = job.facts.derived_topic !== undefined && !mayProcessPrompt(consent)
    const bound = await store.bindDecision({
      ...{ slot_id: slot.id, session: job, decision, evidence, dropsTopic },
      caps: [...listCaps(job, now_ms), ...listCampaignCaps(services, job, [decision], now_ms)],
    })
    if (bound === 'capped' || bound === 'superseded') continue
    if (bound === 'bound') {
      metrics.countDecision(decision)
      recordDecision(services.tracing, slot, decision, started)
    }
    waiters.wake(slot.id)
    if (bound === 'bound' && job.facts.callback_url !== undefined) callbacks.deliver(slot.id)
    return
  }
}

/** In the trace of the request that created the slot, which another node may have received. */
function recordDecision(tracing: Tracing | null, slot: SlotRow, decision: StoredDecision, started: number): void {
  const parent = readStoredTrace(slot.job.facts)
  if (tracing === null || parent === null) return
  tracing.start({ name: 'decision', kind: 'internal', parent, started }).end({
    'svc.slot_id': encodeId('slot', slot.id),
    'svc.decision.waited_ms': decision.decided_at_ms - slot.created_at_ms,
    ...describeDecision(decision),
  })
}

/** The newest consent of the session; without one, the snapshot that the job was created with. */
async function consentInForce(
  { store }: PendingDecisionServices,
  slot: SlotRow,
  now_ms: number,
): Promise<AuthoritativeConsent> {
  const { job, project, created_at_ms } = slot
  const stored = job.session_id === null ? null : await store.findLatestConsent(job.project_id, job.session_id)
  if (stored === null && job.facts.consent !== undefined) return job.facts.consent
  const at_ms = stored === null ? created_at_ms : now_ms
  return resolveConsent(project.settings.consent, undefined, stored, at_ms).snapshot
}
