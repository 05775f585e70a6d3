/**
 * The ads that beacons report, each with its turn: from the requests of a journal, or from the bodies of a file. The turn is
 * read from `metadata.turn_id` of the beacons alone (A102): a placement request never names it.
 */
import { eventMetrics } from '#contract/beacon-verdict.ts'
import { type BeaconEvent, BeaconEventInput, canonicalEvent } from '#contract/resources/beacons.ts'
import {
  groupBy,
  isAdRequest,
  isBeacon,
  isFrame,
  type JournaledExchange,
  openSlots,
  textAt,
} from '#diagnosis/exchange.ts'
import { valueAt } from '#foundation/json.ts'
import type { Journal } from '../journal.ts'
import type { AcceptedInFile } from './beacon-file.ts'

/** One placement of which beacons were accepted. */
export interface ShownAd {
  /** Project and session; empty in a file, whose beacons name none. */
  session: string
  slot_id: string
  /** Null when no beacon names one. */
  turn_id: string | null
  /** Oldest first, each beacon_id once. */
  beacons: readonly AdBeacon[]
}

export interface AdBeacon {
  event: BeaconEvent
  /** When it happened, epoch milliseconds. */
  at_ms: number
  /** Its render_instance_id. */
  mount: string | null
  reason_code: string
  /** What it measured: the share in view, 0 to 1, the dwell, and whether the page was visible. Null when it does not say. */
  visible_ratio: number | null
  visible_ms: number | null
  page_visible: boolean | null
  /** The request of a journal, or the beacon of a file. */
  source: JournaledExchange | AcceptedInFile
}

const viewMetrics: ReadonlySet<string> = new Set(['viewable_impression', 'completed_view'])

/** Whether an event reports that an ad was seen. */
export function isViewEvent(event: BeaconEvent | null): boolean {
  return event !== null && viewMetrics.has(eventMetrics[event] ?? '')
}

/** Returns the current name of a beacon's event, or null when it is not an event. */
export function readEvent({ request_body }: JournaledExchange): BeaconEvent | null {
  const event = BeaconEventInput.safeParse(textAt(request_body, 'event') ?? textAt(request_body, 'beacon_type'))
  return event.success ? canonicalEvent(event.data) : null
}

export function isAccepted(exchange: JournaledExchange): boolean {
  return isBeacon(exchange) && exchange.status === 200
}

/** Whether a beacon reported that an ad was seen. */
export function isAnySeen({ exchanges }: Pick<Journal, 'exchanges'>): boolean {
  return exchanges.some((each) => isAccepted(each) && isViewEvent(readEvent(each)))
}

export function readBeaconId({ request_body }: JournaledExchange): string | null {
  return textAt(request_body, 'beacon_id')
}

export function readMount({ request_body }: JournaledExchange): string | null {
  return textAt(request_body, 'render_instance_id')
}

/**
 * Returns the accepted beacons of ads that a page shows in their frame, from before that frame was first asked for: no frame
 * sent them. A client that draws by itself loads none; a frame loaded before the first request that is known may be missing.
 */
export function reportsBeforeFrame(exchanges: readonly JournaledExchange[]): Set<JournaledExchange> {
  const made = new Set(exchanges.filter(isAdRequest).flatMap((each) => [each.slot_id, ...openSlots(each)]))
  const frames = groupBy(exchanges.filter(isFrame), ({ slot_id }) => (made.has(slot_id) ? slot_id : null))
  const shown = new Map(
    [...frames].filter(([, loads]) => loads.some(isShownByPage)).map(([id, [first]]) => [id, first]),
  )
  const places = new Map(exchanges.map((each, at) => [each, at]))
  const isEarly = (each: JournaledExchange, at: number) => {
    const frame = shown.get(each.slot_id ?? '')
    // The frame hands out the token of class bt.
    if (frame === undefined || !isAccepted(each) || each.key === 'bt') return false
    return at < places.get(frame)! && each.at_ms < frame.at_ms
  }
  return new Set(exchanges.filter(isEarly))
}

/** Whether a page of the app loaded it in an iframe: the inspector's are of the same origin, a preview is a document. */
function isShownByPage({ status, request_headers }: JournaledExchange): boolean {
  const { 'sec-fetch-dest': destination, 'sec-fetch-site': site } = request_headers
  return status === 200 && destination === 'iframe' && site !== 'same-origin'
}

/** Returns the ads of a journal, in the order of their first beacons. */
export function adsInJournal({ exchanges, placements, beacons }: Omit<Journal, 'callbacks'>): ShownAd[] {
  const sessions = new Map([...placements, ...beacons].map((item) => [item.slot_id, item]))
  // The verdict may have changed since the response: a view that came before its render counts later.
  const reasons = new Map(
    beacons.map(({ beacon_id, slot_id, reason_code }) => [`${slot_id} ${beacon_id}`, reason_code]),
  )
  const early = reportsBeforeFrame(exchanges)
  const accepted = exchanges.filter((each) => isAccepted(each) && each.slot_id !== null && !early.has(each))
  return [...Map.groupBy(accepted, ({ slot_id }) => slot_id!)].map(([slot_id, requests]): ShownAd => {
    const { client_id, session_id } = sessions.get(slot_id) ?? requests[0]!
    const distinct = [...new Map(requests.toReversed().map((each) => [readBeaconId(each), each])).values()]
    return {
      session: `${client_id} ${session_id}`,
      slot_id,
      turn_id: requests.map(({ request_body }) => readTurn(request_body)).find((turn) => turn !== null) ?? null,
      beacons: distinct
        .map((exchange) => {
          const current = reasons.get(`${slot_id} ${readBeaconId(exchange)}`)
          const reason_code = current ?? textAt(exchange.response_body, 'reason_code') ?? ''
          return toAdBeacon(exchange.request_body, readEvent(exchange), exchange, reason_code)
        })
        .flatMap((beacon) => beacon ?? [])
        .sort((one, other) => one.at_ms - other.at_ms),
    }
  })
}

/** Returns the ads of a file; `verdictOf` returns the reason code that the service would respond with. */
export function adsInFile(
  accepted: readonly AcceptedInFile[],
  findVerdict: (beacon: AcceptedInFile) => string,
): ShownAd[] {
  return [...Map.groupBy(accepted, ({ beacon }) => beacon.asset_token)].map(([token, beacons]): ShownAd => {
    const distinct = [...new Map(beacons.toReversed().map((each) => [each.beacon.beacon_id, each])).values()]
    return {
      session: '',
      // A token is a secret; it begins with the identifier of its slot.
      slot_id: beacons[0]?.beacon.slot_id ?? `slot_${/^ast_([0-9a-z]+)_/.exec(token)?.[1] ?? 'unknown'}`,
      turn_id: beacons.map(({ beacon }) => readTurn(beacon)).find((turn) => turn !== null) ?? null,
      beacons: distinct
        .flatMap((each) => toAdBeacon(each.beacon, canonicalEvent(each.beacon.event), each, findVerdict(each)) ?? [])
        .sort((one, other) => one.at_ms - other.at_ms),
    }
  })
}

/** Returns the turn that a beacon names, or null. */
export function readTurn(body: unknown): string | null {
  return textAt(body, 'metadata.turn_id')
}

/** Whether a page has given a turn its id: render.js makes one of digits for a turn without. */
export function isNamedByPage(turn_id: string | null): turn_id is string {
  return turn_id !== null && !/^turn_\d{20,40}$/.test(turn_id)
}

function toAdBeacon(
  body: unknown,
  event: BeaconEvent | null,
  source: AdBeacon['source'],
  reason_code: string,
): AdBeacon | null {
  if (event === null) return null
  const number = (path: string) => {
    const value = valueAt(body, path)
    return typeof value === 'number' ? value : null
  }
  const page_visible = valueAt(body, 'measurements.page_visible')
  return {
    event,
    at_ms: number('occurred_at_ms') ?? (Date.parse(textAt(body, 'occurred_at') ?? '') || source.at_ms),
    mount: textAt(body, 'render_instance_id'),
    reason_code,
    visible_ratio: number('measurements.visible_ratio'),
    visible_ms: number('measurements.visible_ms'),
    page_visible: typeof page_visible === 'boolean' ? page_visible : null,
    source,
  }
}
