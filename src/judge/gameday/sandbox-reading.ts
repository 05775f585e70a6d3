/** What the sandbox knows of the turns of a run: how far each ad got, and which requests an app made. */
import { type Client, nextCursor } from '#client/client.ts'
import { type FillStep, fillSteps } from '#contract/resources/funnel.ts'
import type { PlacementItem } from '#contract/resources/placements.ts'
import { isAdRequest, type JournaledExchange } from '#diagnosis/exchange.ts'
import type { RunRecord, TurnRecord, TurnStep, Wait } from './records.ts'

/** Returns how far each slot got that was created since a time, sandbox epoch milliseconds. */
export async function readReached(client: Client, since_ms: number): Promise<ReadonlyMap<string, TurnStep>> {
  const reached = new Map<string, TurnStep>()
  for (const { slot_id, ...item } of await readSlots(client, since_ms)) reached.set(slot_id, decidedStep(item))
  for (const step of fillSteps) {
    for (const { slot_id } of await readSlots(client, since_ms, step)) reached.set(slot_id, turnStepFor[step])
  }
  return reached
}

const turnStepFor: Record<FillStep, TurnStep> = {
  framed: 'framed',
  rendered: 'rendered',
  visible: 'visible',
  billable: 'billed',
}

function decidedStep({ fill }: Pick<PlacementItem, 'fill'>): TurnStep {
  if (fill === null) return 'requested'
  return fill ? 'filled' : 'decided'
}

async function readSlots(client: Client, since_ms: number, reached?: FillStep): Promise<PlacementItem[]> {
  const items: PlacementItem[] = []
  const filter = { since: String(since_ms), ...(reached === undefined ? {} : { reached }) }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...filter, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) }
    const page = await client.placements.list({ query })
    items.push(...page.items)
    cursor = nextCursor(page, cursor ?? null)
  }
  return items
}

/** The requests and slots of an app in the span of a run. */
interface AppRun {
  exchanges: readonly JournaledExchange[]
  placements: readonly PlacementItem[]
  reached: ReadonlyMap<string, TurnStep>
  /** When the timeline began, sandbox epoch milliseconds: with or shortly after the first request. */
  started_at_ms: number
  length_ms: number
  /** How long users waited, where pages were opened; null: the requests themselves are measured. */
  waits: readonly Wait[] | null
}

/**
 * Returns the record of an app: a turn for each of its requests for an ad. Its latency is that of the response, or of the
 * decision where that came later. Requests after the span are left out, unless they are those of pages that were
 * opened in it.
 */
export function recordApp({ exchanges, placements, reached, started_at_ms, length_ms, waits }: AppRun): RunRecord {
  const slots = new Map(placements.map((item) => [item.slot_id, item]))
  const asked = exchanges.filter(isAdRequest).flatMap((exchange) => {
    const since_ms = Math.max(0, exchange.at_ms - started_at_ms)
    // A page that was opened in the span may ask after it.
    const at_ms = waits === null ? since_ms : Math.min(since_ms, length_ms - 1)
    return at_ms >= length_ms ? [] : [{ exchange, at_ms, slot: slots.get(exchange.slot_id ?? '') }]
  })
  const turns = asked.map(({ exchange, at_ms, slot }): TurnRecord => {
    const { status, reason_code } = exchange
    // Without a response the app knows of no decision, even if there is one.
    if (slot === undefined || status === 0)
      return { at_ms, step: 'requested', reason: reason_code ?? (status === 0 ? 'no_response' : `status_${status}`) }
    return { at_ms, step: reached.get(slot.slot_id) ?? decidedStep(slot), reason: slot.no_fill_reason }
  })
  const own = asked.map(({ exchange, at_ms, slot }): Wait => {
    const decided = slot?.decided_at_ms ?? null
    if (decided === null || exchange.status === 0) return { at_ms, latency_ms: null }
    return { at_ms, latency_ms: Math.max(exchange.duration_ms, decided - exchange.at_ms) }
  })
  return { turns, waits: waits ?? own, is_paired: false }
}
