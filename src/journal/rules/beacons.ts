/** Beacons: whether they come, once, in order, in time and with the right token. */
import { BeaconEventInput, canonicalEvent } from '../../contract/v1/beacons.ts'
import { type Exchange, groupBy, member, pathOf, some, times } from '../exchange.ts'
import { isFrame, unheardFrames } from '../frames.ts'
import { isFromBrowser, type Observed, type Rule, refusalRule, settledAt, settledInBrowserAt } from '../rule.ts'

export const isBeacon = (exchange: Exchange) => exchange.method === 'POST' && pathOf(exchange) === '/v1/beacons'

export const beaconMissing: Rule = {
  title: 'every loaded frame is told as rendered',
  severity: 'error',
  costs: 'Without a render beacon nothing of this ad is billed: the impression is lost.',
  fix: 'Mount the frame with render.js, which sends them, and let the page reach the service: see its console, CSP and CORS.',
  needs: 'a frame that a browser loaded, or beacons of one',
  judge(observed) {
    const frames = observed.exchanges.filter((exchange) => isFrame(exchange) && isEmbedded(exchange))
    const inBrowser = unheardFrames(frames.filter(isFromBrowser), observed.beacons, settledInBrowserAt(observed))
    // A program that reads a frame shows it to nobody, unless it says so by beacons.
    const elsewhere = frames.filter((exchange) => !isFromBrowser(exchange))
    const inProgram = unheardFrames(elsewhere, observed.beacons, settledAt(observed))
    const { silent } = inBrowser
    const unrendered = [...inBrowser.unrendered, ...inProgram.unrendered]
    return {
      looked_at: inBrowser.frames.length + inProgram.frames.length - inProgram.silent.length,
      findings: [
        ...about(silent, (slots, count) => `A frame was loaded and no beacon came, ${count}: ${slots}.`),
        ...about(unrendered, (slots, count) => `Beacons came of a frame, but no render, ${count}: ${slots}.`),
      ],
      notes: visibleRate(observed),
    }
  },
}

/** A frame opened as a page of its own is a preview, which sends nothing. */
function isEmbedded({ detail }: Exchange): boolean {
  return detail?.request_headers['sec-fetch-dest'] !== 'document'
}

/** Not every ad that rendered is seen; how many were is worth knowing. */
function visibleRate({ beacons }: Observed): string[] {
  const of = (event: string) => new Set(beacons.filter((each) => each.event === event).map(({ slot_id }) => slot_id))
  const rendered = of('render')
  const seen = [...of('visible')].filter((slot_id) => rendered.has(slot_id)).length
  return rendered.size === 0 ? [] : [`${seen} of ${rendered.size} rendered ads were told as visible.`]
}

function about(requests: readonly Exchange[], seen: (slots: string, count: string) => string) {
  const slots = some(requests.map(({ slot_id }) => String(slot_id)))
  return requests.length === 0 ? [] : [{ seen: seen(slots, times(requests.length)), requests }]
}

/** Events that happen once in the life of one mount. */
const onceOnly: ReadonlySet<string> = new Set(['render', 'visible', 'play_started', 'play_completed', 'completion'])

export const beaconDoubled: Rule = {
  title: 'each event of an ad is told once',
  severity: 'error',
  costs: 'The second is not counted here; a service that counts it bills the same ad twice, and takes the money back.',
  fix: 'Tell each event once per mount, and give a retry the beacon_id of the first try.',
  needs: 'an accepted beacon',
  judge({ exchanges }) {
    const accepted = exchanges.filter((exchange) => isBeacon(exchange) && exchange.status === 200)
    const groups = groupBy(accepted, (exchange) => {
      const { event, instance } = factsOf(exchange)
      return event !== null && onceOnly.has(event) ? `${exchange.slot_id} ${event} ${instance}` : null
    })
    const doubled = [...groups.values()].filter((group) => new Set(group.map((each) => factsOf(each).id)).size > 1)
    return {
      looked_at: accepted.length,
      findings: doubled.map((group) => ({
        seen: `${factsOf(group[0]!).event} of ${group[0]!.slot_id} was told ${times(group.length)}, each with another beacon_id.`,
        requests: group,
      })),
    }
  },
}

export const beaconRepeated: Rule = {
  title: 'a beacon that was accepted is not sent again',
  severity: 'warning',
  costs: 'It counts once, and costs a request each time.',
  fix: 'Repeat a beacon only when no answer came, or a 5xx or 429.',
  needs: 'an accepted beacon',
  judge({ exchanges }) {
    const accepted = exchanges.filter((exchange) => isBeacon(exchange) && exchange.status === 200)
    const again = accepted.filter(({ detail }) => member(detail?.response_body, 'duplicate') === true)
    const groups = groupBy(again, (exchange) => `${exchange.slot_id} ${factsOf(exchange).id}`)
    return {
      looked_at: accepted.length,
      findings: [...groups.values()].map((group) => ({
        seen: `${factsOf(group[0]!).event} of ${group[0]!.slot_id} was sent again ${times(group.length)}, with the same beacon_id.`,
        requests: group,
      })),
    }
  },
}

export const beaconBeforeRender: Rule = {
  title: 'the render beacon comes first',
  severity: 'warning',
  costs: 'What comes before it does not count until it is there; when it gets lost, nothing counts.',
  fix: 'Send render once the creative is painted, await its answer, then send the others.',
  needs: 'an accepted beacon',
  judge({ exchanges, is_whole }) {
    const accepted = exchanges.filter((exchange) => isBeacon(exchange) && exchange.status === 200)
    const early = [...groupBy(accepted, ({ slot_id }) => slot_id)].flatMap(([slot_id, group]) => {
      const at = group.findIndex((each) => factsOf(each).event === 'render')
      return at === 0 || (at < 0 && !is_whole)
        ? []
        : [{ slot_id, requests: at < 0 ? group : group.slice(0, at + 1), isLate: at > 0 }]
    })
    return {
      looked_at: accepted.length,
      findings: early.map(({ slot_id, requests, isLate }) => ({
        seen: `${factsOf(requests[0]!).event} of ${slot_id} was told before ${isLate ? 'its render' : 'any render'}.`,
        requests,
      })),
    }
  },
}

const beaconNeeds = 'a beacon'

export const beaconClock = refusalRule(
  {
    title: 'beacons are stamped with the time of the event',
    severity: 'error',
    costs: 'The beacon is refused before billing: the impression is lost.',
    fix: "Send Date.now() of the event in milliseconds, corrected by the server's clock, and do not keep beacons.",
    needs: beaconNeeds,
  },
  ['beacon_stale', 'beacon_in_future', 'beacon_before_decision', 'occurred_at_in_seconds'],
  isBeacon,
)

export const beaconExpired = refusalRule(
  {
    title: 'beacons come while their asset token lives',
    severity: 'error',
    costs: 'The beacon is refused: what was shown so late is not paid.',
    fix: 'Ask for a new placement with each turn; take an ad away when its time is over.',
    needs: beaconNeeds,
  },
  ['asset_token_expired'],
  isBeacon,
)

export const tokenMixed = refusalRule(
  {
    title: 'every token is used where it was issued for',
    severity: 'error',
    costs: 'The request is refused: the event of this slot or page is lost.',
    fix: 'Keep each placement with its asset token, and let each origin activate by itself.',
    needs: 'a beacon or a request of a page',
  },
  ['slot_mismatch', 'asset_token_invalid', 'origin_mismatch'],
  (exchange) => isBeacon(exchange) || isFromBrowser(exchange),
)

function factsOf({ detail }: Exchange): { id: string | null; event: string | null; instance: string | null } {
  const text = (name: string) => {
    const value = member(detail?.request_body, name)
    return typeof value === 'string' ? value : null
  }
  const event = BeaconEventInput.safeParse(text('event'))
  return {
    id: text('beacon_id'),
    event: event.success ? canonicalEvent(event.data) : null,
    instance: text('render_instance_id'),
  }
}

/** The mounts that told of a slot, by their render beacons. */
export function mountsOf(exchanges: readonly Exchange[]): Map<string, Exchange[]> {
  const renders = exchanges.filter((each) => isBeacon(each) && each.status === 200 && factsOf(each).event === 'render')
  const slots = groupBy(renders, ({ slot_id }) => slot_id)
  return new Map(
    [...slots].map(([slot_id, group]) => [
      slot_id,
      [...new Map(group.map((each) => [factsOf(each).instance, each])).values()],
    ]),
  )
}
