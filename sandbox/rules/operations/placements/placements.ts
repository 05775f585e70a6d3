/** Placements: created in one call (POST /v1/placements), listed and explained by the control plane. */

import { type BeaconVerdict, eventMetrics } from '#contract/beacon-verdict.ts'
import type { Parsed } from '#contract/endpoint.ts'
import { formats } from '#contract/fields.ts'
import { decodeId, encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { limits } from '#contract/limits.ts'
import { type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import { type BeaconEvent, beaconEvents } from '#contract/resources/beacons.ts'
import { type FillStep, fillSteps, funnelPlacements } from '#contract/resources/funnel.ts'
import type { PlacementItem } from '#contract/resources/placements.ts'
import type { BeaconRow, SlotRow } from '#store/store.ts'
import { judgeSlotBeacons, listTurnBeacons, withBeacons } from '../beacons/beacon-items.ts'
import { isAcceptCode, judgedAtOnce, pageOfJudged, selectEvents } from '../beacons/beacon-list.ts'
import {
  type Context,
  defined,
  encodeCursor,
  type FilledOutcome,
  fullPage,
  type Operation,
  parsePage,
  parseSinceFilter,
  projectFilter,
  requireCaller,
  type Services,
  slotFilter,
} from '../context.ts'
import { chooseWait, whenDecided } from '../decisions.ts'
import { readPlacementIntake } from '../job-intake.ts'
import { openJob } from '../jobs.ts'
import { placementResponse, slotStatus } from './placement-response.ts'

export const createPlacement: Operation<Contract['placements.create']> = async (services, context, { body, query }) => {
  const wait_ms = chooseWait(context, query.wait_ms, body.wait_ms, limits.wait_ms.placements_default)
  const { job, slots } = await openJob(services, context, readPlacementIntake(services, context, body))
  if (slots.length > 1) context.headers['x-sandbox-slot-ids'] = slots.map(({ id }) => encodeId('slot', id)).join(', ')
  const first = slots[0]!
  const slot: SlotRow = {
    id: first.id,
    job,
    project: requireCaller(context).project,
    created_at_ms: job.created_at_ms,
    due_at_ms: first.due_at_ms,
    decision: first.decision,
    first_frame_at_ms: null,
  }
  const decided = whenDecided(services, context, slot, wait_ms)
  return placementResponse(services, decided instanceof Promise ? await decided : decided, context.now_ms)
}

export const listPlacements: Operation<Contract['placements.list']> = async (services, context, { query }) => {
  const { now_ms } = context
  const filter = defined({
    project_id: await projectFilter(services, query.client_id),
    session_id: query.session_id,
    // A malformed one matches nothing.
    job_id: query.job_id === undefined ? undefined : (decodeId('job', query.job_id) ?? -1),
    campaign_id: query.campaign_id,
    format: query.format,
    fill: parseFlag(query.fill),
    decided: parseFlag(query.decided),
    from_id: slotFilter(query.from_slot_id),
    since_ms: parseSinceFilter(query.since, now_ms),
    until_ms: parseSinceFilter(query.until, now_ms),
    slot_ids: query.slot_ids?.split(',').map((id) => decodeId('slot', id) ?? -1),
  })
  const judged = judgedFilter(context, query)
  const { rows, next } = await fullPage(context, parsePage(query), async (part) => {
    if (judged === null) return services.store.listSlots({ ...part, ...filter })
    const { candidates, isListed } = judged
    const limit = isListed === null ? part.limit : judgedAtOnce
    const { rows, next } = await services.store.listSlots({ ...part, limit, ...filter, ...candidates })
    if (isListed === null) return { rows, next }
    const matching: { id: number; row: SlotRow }[] = []
    for await (const { slot, beacons } of withBeacons(services, rows)) {
      if (await isListed(services, slot, beacons)) matching.push({ id: slot.id, row: slot })
    }
    return pageOfJudged(matching, next, part.limit)
  })
  const reached = parseFlag(query.with_reached) === true ? await findReached(services, rows) : null
  const beacons = parseFlag(query.with_beacons) === true ? await listTurnBeacons(services, rows) : null
  const items = rows.map((slot) => ({
    ...placementItem(slot, now_ms),
    ...(reached !== null && { reached: reached.get(slot.id) ?? null }),
    ...(beacons !== null && { framed: slot.first_frame_at_ms !== null, beacons: beacons.get(slot.id) ?? [] }),
  }))
  return { items, next_cursor: encodeCursor(next) }
}

/** Resolves to the last step of each fill. */
async function findReached(services: Services, slots: readonly SlotRow[]): Promise<Map<number, FillStep | null>> {
  const reached = new Map<number, FillStep | null>()
  const filled = slots.filter(({ decision }) => decision?.outcome.status === 'filled')
  for await (const { slot, beacons } of withBeacons(services, filled)) {
    reached.set(slot.id, lastStep(slot, beacons, [...judgeSlotBeacons(slot, beacons).values()]))
  }
  return reached
}

/** Returns the last step that a fill reached, or null. */
export function lastStep(...reached: Parameters<typeof findSteps>): FillStep | null {
  const steps = findSteps(...reached)
  return fillSteps.findLast((step) => steps[step]) ?? null
}

function parseFlag(text: 'true' | 'false' | undefined): boolean | undefined {
  return text === undefined ? undefined : text === 'true'
}

type SlotQuery = Parameters<Services['store']['listSlots']>[0]

/** A filter by what happened after the decision: what the store can select, and what only the verdicts show. */
interface JudgedFilter {
  candidates: Pick<SlotQuery, 'fill' | 'framed' | 'with_events' | 'without_event' | 'reasons'>
  /** Null where the candidates are the answer. */
  isListed: ((services: Services, slot: SlotRow, beacons: readonly BeaconRow[]) => boolean | Promise<boolean>) | null
}

/** The events that a fill that got this far has. */
const eventsOfStep: Readonly<Record<FillStep, readonly BeaconEvent[]>> = {
  framed: [],
  rendered: ['render'],
  visible: ['visible'],
  billable: beaconEvents.filter((event) => eventMetrics[event] !== null),
}

function judgedFilter(
  context: Pick<Context, 'signal'>,
  query: Parsed<Contract['placements.list']>['query'],
): JudgedFilter | null {
  const { reason, billed: isBilled, reached, missing } = query
  const steps: [step: FillStep, isReached: boolean][] = []
  if (isBilled !== undefined) steps.push(['billable', isBilled === 'true'])
  if (reached !== undefined) steps.push([reached, true])
  if (missing !== undefined) steps.push([missing, false])
  if (steps.length === 0 && reason === undefined) return null
  const codes = reason?.split(',') ?? []
  const accept = codes.filter((code) => isAcceptCode(code) && code !== 'DUPLICATE')
  const unaccepted_reasons = codes.filter((code) => code === 'DUPLICATE' || !isAcceptCode(code))
  const framed = steps.find(([step]) => step === 'framed')?.[1]
  const isJudged =
    steps.some(([step]) => step === 'visible' || step === 'billable') || steps.length > 1 || accept.length > 0
  const with_events = steps.flatMap(([step, isReached]) =>
    isReached && step !== 'framed' ? [eventsOfStep[step]] : [],
  )[0]
  const candidates = defined({
    // An outcome that is asked for as well stays: both hold.
    fill: steps.length > 0 ? true : undefined,
    framed,
    with_events,
    without_event: steps.some(([step, isReached]) => step === 'rendered' && !isReached)
      ? ('render' as const)
      : undefined,
    reasons:
      reason === undefined
        ? undefined
        : {
            no_fill: codes.filter((code) => Object.hasOwn(noFillReasons, code)),
            unaccepted: unaccepted_reasons,
            events: selectEvents(accept),
          },
  })
  if (!isJudged) return { candidates, isListed: null }
  const isListed: JudgedFilter['isListed'] = async ({ store }, slot, beacons) => {
    const verdicts = [...judgeSlotBeacons(slot, beacons).values()]
    if (!steps.every(([step, isReached]) => findSteps(slot, beacons, verdicts)[step] === isReached)) return false
    if (reason === undefined || verdicts.some(({ reason_code }) => codes.includes(reason_code))) return true
    const { outcome } = slot.decision ?? {}
    if (outcome?.status === 'no_fill' && codes.includes(outcome.reason)) return true
    if (unaccepted_reasons.length === 0) return false
    // In parts: a slot may have any number of refused beacons.
    const { rows } = await fullPage(context, { limit: 1, before: null }, (part) =>
      store.listBeacons({ ...part, slot_id: slot.id, accepted_events: [], unaccepted_reasons }),
    )
    return rows.length > 0
  }
  return { candidates, isListed }
}

/** Returns which steps a fill has reached. */
function findSteps(
  { first_frame_at_ms }: SlotRow,
  beacons: readonly BeaconRow[],
  verdicts: readonly BeaconVerdict[],
): Record<FillStep, boolean> {
  return {
    // A client that draws the placement itself loads no frame, and its beacons count all the same.
    framed: first_frame_at_ms !== null,
    rendered: beacons.some(({ event }) => event === 'render'),
    visible: verdicts.some(({ metric }) => metric === 'viewable_impression'),
    billable: verdicts.some(({ would_bill }) => would_bill),
  }
}

/** GET /_sandbox/funnel. Counts the newest placements only: only they change, and the inspector polls it. */
export const countFunnel: Operation<Contract['placements.funnel']> = async (services, context, { query }) => {
  const filter = defined({
    project_id: await projectFilter(services, query.client_id),
    session_id: query.session_id,
    since_ms: parseSinceFilter(query.since, context.now_ms),
  })
  const { rows, next } = await fullPage(context, { limit: funnelPlacements, before: null }, (part) =>
    services.store.listSlots({ ...part, ...filter }),
  )
  const byFormat = new Map(formats.map((format) => [format, noSteps()]))
  const reasons = new Map<NoFillReason, number>()
  const filled: SlotRow[] = []
  for (const slot of rows) {
    const outcome = slot.decision?.outcome
    if (outcome?.status === 'no_fill') reasons.set(outcome.reason, (reasons.get(outcome.reason) ?? 0) + 1)
    if (outcome?.status === 'filled') filled.push(slot)
  }
  for await (const { slot, beacons } of withBeacons(services, filled)) {
    const steps = byFormat.get((slot.decision!.outcome as FilledOutcome).format)!
    steps.decided++
    const reached = findSteps(slot, beacons, [...judgeSlotBeacons(slot, beacons).values()])
    for (const step of fillSteps) if (reached[step]) steps[step]++
  }
  const no_fills = [...reasons.values()].reduce((sum, count) => sum + count, 0)
  return {
    placements: rows.length,
    is_complete: next === null,
    oldest_slot_id: rows.length === 0 ? null : encodeId('slot', rows.at(-1)!.id),
    pending: rows.length - filled.length - no_fills,
    fills: filled.length,
    no_fills,
    no_fill_reasons: [...reasons]
      .map(([no_fill_reason, count]) => ({ no_fill_reason, count }))
      .toSorted((a, b) => b.count - a.count || (a.no_fill_reason < b.no_fill_reason ? -1 : 1)),
    formats: [...byFormat].map(([format, steps]) => ({ format, ...steps })),
  }
}

function noSteps() {
  return { decided: 0, framed: 0, rendered: 0, visible: 0, billable: 0 }
}

export function placementItem(slot: SlotRow, now_ms: number): PlacementItem {
  const outcome = slot.decision?.outcome ?? null
  const fill = outcome?.status === 'filled' ? outcome : null
  return {
    slot_id: encodeId('slot', slot.id),
    job_id: encodeId('job', slot.job.id),
    client_id: slot.project.client_id,
    session_id: slot.job.session_id,
    job_type: slot.job.job_type,
    mode: slot.job.mode,
    format: fill?.format ?? null,
    status: slotStatus(slot, now_ms),
    fill: outcome === null ? null : fill !== null,
    no_fill_reason: outcome?.status === 'no_fill' ? outcome.reason : null,
    campaign_id: fill?.campaign_id ?? null,
    ...(slot.job.facts.force_campaign_id === undefined ? {} : { forced: true as const }),
    created_at_ms: slot.created_at_ms,
    decided_at_ms: slot.decision?.decided_at_ms ?? null,
  }
}
