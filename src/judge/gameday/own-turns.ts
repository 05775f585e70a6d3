/**
 * The turns that svc plays itself on a game day, as a careful integration does with the client of this package: consent,
 * job, decision, frame, beacons, with its retries. Open loop: each turn starts at its planned time, however many are
 * still waiting, and its latency counts from that time, so that a slow service cannot hide how long users would wait.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '#client/client.ts'
import { ServiceError, UnreachableError } from '#client/errors.ts'
import { backoff, type IntegrationMethods, integrate } from '#client/integration.ts'
import { isFormat, readFormat } from '#contract/facts/formats.ts'
import type { EndpointId } from '#contract/index.ts'
import type { Gameday } from './gameday-file.ts'
import type { Plan, PlannedTurn } from './plan.ts'
import type { RunRecord, TurnRecord, TurnStep } from './records.ts'

interface TurnPlayer {
  client: Client
  base_url: string
  /** The project of the turns. */
  client_id: string
  /** Ends the run. */
  signal: AbortSignal
}

/** What a turn knew of itself when it ended. The sandbox knows how far its ad got. */
interface PlayedTurn {
  at_ms: number
  /** Null when it got no decision. */
  latency_ms: number | null
  step: TurnStep
  reason: string | null
  slot_id: string | null
}

/** Plays the turns of a plan from now on. Resolves when the last one has ended; rejects when the signal aborts. */
export async function playTurns(gameday: Gameday, plan: Plan, player: TurnPlayer): Promise<PlayedTurn[]> {
  const start_ms = performance.now()
  const over = new AbortController()
  const signal = AbortSignal.any([player.signal, over.signal])
  const playing = plan.turns.map(async (turn, index) => {
    await sleep(Math.max(0, start_ms + turn.at_ms - performance.now()), undefined, { signal })
    const failed: RunningTurn['failed'] = { reason: null }
    const { client_id, base_url } = player
    const client = integrate<EndpointId>(noteFailures(player.client, failed), { base_url })
    return playTurn(gameday, turn, { client, client_id, signal, index, planned_ms: start_ms + turn.at_ms, failed })
  })
  try {
    return await Promise.all(playing)
  } finally {
    // When one fails in a way that no service causes, the others have no purpose.
    over.abort()
    await Promise.allSettled(playing)
  }
}

interface RunningTurn {
  client: Pick<Client, 'consent' | 'render'> & IntegrationMethods<null>
  client_id: string
  /** Ends the run. */
  signal: AbortSignal
  index: number
  /** By the clock of `performance.now`. */
  planned_ms: number
  /** Why the last attempt failed, even if it was repeated; null for none. */
  failed: { reason: string | null }
}

/** Returns a client that notes each attempt that failed. */
function noteFailures(client: Client, failed: RunningTurn['failed']): Client {
  const noting =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args) => {
      try {
        return await call(...args)
      } catch (error) {
        failed.reason = nameFailure(error) ?? failed.reason
        throw error
      }
    }
  return {
    ...client,
    consent: { ...client.consent, set: noting(client.consent.set) },
    jobs: { ...client.jobs, create: noting(client.jobs.create) },
    decisions: { ...client.decisions, get: noting(client.decisions.get) },
    beacons: { ...client.beacons, send: noting(client.beacons.send) },
  }
}

async function playTurn(gameday: Gameday, { at_ms, format }: PlannedTurn, turn: RunningTurn): Promise<PlayedTurn> {
  const { client, client_id, index, planned_ms } = turn
  const session_id = `sess_gameday_${index}`
  const left_ms = Math.max(0, Math.ceil(planned_ms + gameday.patience_ms - performance.now()))
  const signal = AbortSignal.any([turn.signal, AbortSignal.timeout(left_ms)])
  const played: PlayedTurn = { at_ms, latency_ms: null, step: 'turn', reason: null, slot_id: null }
  const who = { client_id, session_id }
  try {
    const purposes = { semantic_targeting: true }
    await storeConsent(
      () => client.consent.set({ body: { ...who, decision: 'granted', purposes } }, { signal }),
      signal,
    )
    played.step = 'requested'
    const body = { ...who, job_type: 'chat' as const, overrides: { allowed_formats: [format] } }
    const job = await client.createJob(body, { signal })
    played.slot_id = job?.slot_ids[0] ?? null
    if (played.slot_id === null) return { ...played, reason: 'contract_error' }
    const read = await client.getDecision(played.slot_id, { timeout_ms: gameday.patience_ms, signal })
    const { status = 'pending', decision = null } = read ?? {}
    if (decision === null) return { ...played, reason: status === 'pending' ? 'timeout' : status }
    played.latency_ms = performance.now() - planned_ms
    played.step = 'decided'
    if (!decision.fill) return { ...played, reason: decision.no_fill_reason }
    played.step = 'filled'
    return { ...played, ...(await showAd(gameday, decision, turn)) }
  } catch (error) {
    turn.signal.throwIfAborted()
    return { ...played, reason: readReason(error, turn, signal) }
  }
}

/** Retries of a consent, which may be sent again: the same consent changes nothing. */
const consentRetries = 3

/** Stores the consent, with the retries that the client has for jobs and beacons. */
async function storeConsent(send: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (let count = 0; ; count++) {
    try {
      await send()
      return
    } catch (error) {
      const isService = error instanceof ServiceError
      const mayRepeat = isService ? error.status === 429 || error.status >= 500 : error instanceof UnreachableError
      if (count >= consentRetries || !mayRepeat || signal.aborted) throw error
      const demanded_ms = isService ? (error.retry_after_s ?? 0) * 1_000 : 0
      await sleep(Math.max(backoff(count), demanded_ms), undefined, { signal })
    }
  }
}

/** Shows a fill for the time of the file. Resolves to how far it got. */
async function showAd(
  { view_ms }: Gameday,
  { asset_token, format, duration_ms }: { asset_token: string; format: string; duration_ms: number | null },
  turn: RunningTurn,
): Promise<Pick<PlayedTurn, 'step' | 'reason'>> {
  const { client, signal } = turn
  let step: TurnStep = 'filled'
  const send = client.sendBeacon
  turn.failed.reason = null
  try {
    await client.render.frame({ params: { asset_token } }, { signal })
    step = 'framed'
    const position = { measurements: { position_ms: 0, duration_ms: duration_ms ?? 0 } }
    // What fails by itself does not end the view: a page sends each beacon for itself.
    const first = send({ asset_token, event: 'render' }, { signal })
    const playing =
      isFormat(format) && readFormat(format).plays
        ? send({ asset_token, event: 'play_started', ...position }, { signal })
        : first
    const [started] = await Promise.all([Promise.allSettled([first, playing]), sleep(view_ms, undefined, { signal })])
    const measurements = { visible_ratio: 1, visible_ms: view_ms, page_visible: true }
    await send({ asset_token, event: 'visible', measurements }, { signal })
    const failed = started.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
    return { step: 'visible', reason: null }
  } catch (error) {
    signal.throwIfAborted()
    return { step, reason: readReason(error, turn, signal) }
  }
}

/** Returns what ended a turn; of one that ran out of time, why its last attempt failed. Throws what no service causes. */
function readReason(error: unknown, { failed }: RunningTurn, signal: AbortSignal): string {
  if (signal.aborted) return failed.reason ?? 'timeout'
  const reason = nameFailure(error)
  if (reason === null) throw error
  return reason
}

function nameFailure(error: unknown): string | null {
  if (error instanceof ServiceError) return error.reason_code ?? error.code
  if (error instanceof UnreachableError) return error.timed_out ? 'timeout' : 'unreachable'
  return null
}

/** Returns the record of a run: how far each ad got, by the sandbox where it knows more. */
export function recordPlayed(played: readonly PlayedTurn[], reached: ReadonlyMap<string, TurnStep>): RunRecord {
  return {
    turns: played.map(({ at_ms, step, reason, slot_id }): TurnRecord => {
      const own = { at_ms, step, reason }
      const known = slot_id === null ? undefined : reached.get(slot_id)
      if (step === 'turn' || step === 'requested' || step === 'decided' || known === undefined) return own
      return { at_ms, step: known, reason: known === 'billed' ? null : reason }
    }),
    waits: played.map(({ at_ms, latency_ms }) => ({ at_ms, latency_ms })),
    is_paired: true,
  }
}
