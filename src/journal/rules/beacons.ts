/** Beacons: whether they come, once, in order, in time and with the right token. */
import { metricOf } from '../../contract/beacon-verdict.ts'
import { acceptHints, acceptMeanings } from '../../contract/error-codes.ts'
import { type AcceptCode, type BeaconEvent, BeaconEventInput, canonicalEvent } from '../../contract/v1/beacons.ts'
import { valueAt } from '../../foundation/json.ts'
import {
  type Exchange,
  groupBy,
  isBeacon,
  isFromBrowser,
  loadedFrames,
  slotsOf,
  some,
  textAt,
  times,
} from '../exchange.ts'
import {
  about,
  aboutEach,
  completeUntil,
  type Finding,
  type Judgement,
  type Observed,
  over,
  refusedFor,
  ruleSet,
} from '../rule.ts'

/** Events that happen once in the life of one mount. */
const onceOnly: ReadonlySet<string> = new Set(['render', 'visible', 'play_started', 'play_completed', 'completion'])

export const beaconRules = ruleSet('journal', {
  'beacon-missing': {
    title: 'every loaded frame is reported as rendered',
    severity: 'error',
    costs: 'Without a render beacon nothing of this ad is billed: the impression is lost.',
    fix: 'Mount the frame with render.js, which sends them, and let the page reach the service: see its console, CSP and CORS.',
    needs: 'a frame that a browser loaded, or beacons of one',
    judge(observed) {
      // A frame opened as a page of its own is a preview, which sends nothing.
      const frames = observed.exchanges.filter((each) => each.request_headers['sec-fetch-dest'] !== 'document')
      // A browser may have been closed at any moment, also when the program has ended.
      const inBrowser = frameReports(frames.filter(isFromBrowser), { ...observed, is_ended: false })
      // A program that reads a frame shows it to nobody, unless it says so by beacons.
      const programs = frames.filter((exchange) => !isFromBrowser(exchange))
      const inProgram = frameReports(programs, observed)
      return {
        looked_at: inBrowser.count + inProgram.count - inProgram.silent.length,
        findings: missingReports(inBrowser.silent, [...inBrowser.unrendered, ...inProgram.unrendered]),
        notes: visibleRate(observed),
      }
    },
  },
  'beacon-doubled': {
    title: 'each event of an ad is reported once',
    severity: 'error',
    costs: 'The second is not counted here; a service that counts it bills the ad twice, and refunds it later.',
    fix: 'Report each event once per mount, and give a retry the beacon_id of the first try.',
    needs: 'an accepted beacon',
    judge: over(isAccepted, (accepted) => {
      const groups = groupBy(accepted, (exchange) => {
        const event = eventOf(exchange)
        return onceOnly.has(event ?? '') ? `${exchange.slot_id} ${event} ${mountOf(exchange)}` : null
      })
      const doubled = [...groups.values()].filter((group) => new Set(group.map(beaconIdOf)).size > 1)
      return aboutEach(
        doubled,
        ({ length }, first) =>
          `${eventOf(first)} of ${first.slot_id} was reported ${times(length)}, each with another beacon_id.`,
      )
    }),
  },
  'beacon-repeated': {
    title: 'a beacon that was accepted is not sent again',
    severity: 'warning',
    costs: 'It counts once, and costs a request each time.',
    fix: 'Repeat a beacon only after no response, or after a 5xx or 429.',
    needs: 'an accepted beacon',
    judge: over(isAccepted, (accepted) => {
      const again = accepted.filter(({ response_body }) => valueAt(response_body, 'duplicate') === true)
      const groups = groupBy(again, (exchange) => `${exchange.slot_id} ${beaconIdOf(exchange)}`)
      return aboutEach(
        groups.values(),
        ({ length }, first) =>
          `${eventOf(first)} of ${first.slot_id} was sent again ${times(length)}, with the same beacon_id.`,
      )
    }),
  },
  'beacon-before-render': {
    title: 'the render beacon comes first',
    severity: 'warning',
    costs: 'Earlier beacons do not count until it arrives; when it is lost, none of them counts.',
    fix: 'Send render once the creative is painted, await its response, then send the others.',
    needs: 'an accepted beacon',
    judge: over(isAccepted, (accepted, { is_whole }) =>
      [...groupBy(accepted, ({ slot_id }) => slot_id)].flatMap(([slot_id, group]) => {
        const render = group.findIndex((each) => eventOf(each) === 'render')
        if (render === 0 || (render < 0 && !is_whole)) return []
        const requests = render < 0 ? group : group.slice(0, render + 1)
        const what = render > 0 ? 'its render' : 'any render'
        return about(requests, `${eventOf(group[0]!)} of ${slot_id} was reported before ${what}.`)
      }),
    ),
  },
  'beacon-clock': {
    title: 'beacons are stamped with the time of the event',
    severity: 'error',
    costs: 'The beacon is refused before billing: the impression is lost.',
    fix: "Send Date.now() of the event in milliseconds, corrected by the server's clock, and send beacons at once.",
    needs: 'a beacon',
    judge: refusedFor(
      ['beacon_stale', 'beacon_in_future', 'beacon_before_decision', 'occurred_at_in_seconds', 'occurred_at_conflict'],
      isBeacon,
    ),
  },
  'beacon-expired': {
    title: 'beacons are sent while their asset token is valid',
    severity: 'error',
    costs: 'The beacon is refused: an ad that is shown so late is not paid.',
    fix: 'Request a new placement with each turn; remove an ad when it expires.',
    needs: 'a beacon',
    judge: refusedFor(['asset_token_expired'], isBeacon),
  },
  'view-not-counted': {
    title: 'every view that is reported counts',
    severity: 'warning',
    costs: 'The beacon is accepted and the impression is not billed.',
    fix: 'Send visible with measurements.visible_ratio and visible_ms when the viewability threshold is met.',
    needs: 'an accepted visible or completion beacon',
    judge: uncountedViews,
  },
})

/** Rules about beacons for `svc doctor`. */
export const beaconCheckRules = ruleSet('journal', {
  /** Unlike `beacon-missing` it counts frames that a program loaded: while you develop, that is how a frame is tried. */
  'frame-silent': {
    severity: 'error',
    fix: 'Mount it with render.js, which sends them, and let the page reach the service: see its console, CSP and CORS.',
    judge(observed) {
      const { count, silent, unrendered } = frameReports(observed.exchanges, observed)
      return { looked_at: count, findings: missingReports(silent, unrendered) }
    },
  },
})

/** Returns how many frames should have sent beacons by now, those without any, and those with others than a render. */
function frameReports(exchanges: readonly Exchange[], observed: Observed) {
  const frames = [...loadedFrames(exchanges).values()].filter(({ at_ms }) => at_ms <= completeUntil(observed))
  const sent = slotsWith(observed)
  const rendered = slotsWith(observed, 'render')
  return {
    count: frames.length,
    silent: frames.filter(({ slot_id }) => !sent.has(slot_id)),
    unrendered: frames.filter(({ slot_id }) => sent.has(slot_id) && !rendered.has(slot_id)),
  }
}

function missingReports(silent: readonly Exchange[], unrendered: readonly Exchange[]): Finding[] {
  const slots = (requests: readonly Exchange[]) => `${times(requests.length)}: ${slotsOf(requests)}.`
  const renderFirst = 'Send render first: without it nothing else counts.'
  return [
    ...about(silent, `A frame was loaded and no beacon came, ${slots(silent)}`),
    ...about(unrendered, `A frame sent beacons but no render, ${slots(unrendered)}`, renderFirst),
  ]
}

/** Reports slots whose views or completions were all accepted without counting, by reason. */
function uncountedViews({ beacons, exchanges }: Observed): Judgement {
  const reported = beacons.filter(
    ({ event, verdict }) => verdict === 'accepted' && event !== null && viewMetrics.has(metricOf[event] ?? ''),
  )
  const slots = [...Map.groupBy(reported, ({ slot_id, event }) => `${slot_id} ${metricOf[event!]}`).values()]
  const uncounted = slots.filter((group) => !group.some(({ reason_code }) => counted.has(reason_code)))
  // Beacons are listed newest first: the last attempt is the one to correct.
  const reasons = Map.groupBy(uncounted, ([newest]) => `${newest!.event} ${newest!.reason_code}`)
  const findings = [...reasons.values()].map((groups): Finding => {
    const { event, reason_code } = groups[0]![0]!
    const ids = groups.map(([newest]) => newest!.slot_id ?? '')
    const code = reason_code as Exclude<AcceptCode, 'OK'>
    return {
      message: `${event} of ${some(ids)} was accepted and does not count, ${code}: ${acceptMeanings[code]}.`,
      fix: acceptHints[code],
      requests: exchanges.filter(
        (each) => isAccepted(each) && ids.includes(each.slot_id ?? '') && eventOf(each) === event,
      ),
    }
  })
  return { looked_at: slots.length, findings }
}

const viewMetrics: ReadonlySet<string> = new Set(['viewable_impression', 'completed_view'])
/** Codes of a beacon that counts, or that another one has counted before. */
const counted: ReadonlySet<string> = new Set(['OK', 'ALREADY_COUNTED'])

/** Not every ad that rendered is seen; how many were is worth knowing. */
function visibleRate(observed: Observed): string[] {
  const rendered = slotsWith(observed, 'render')
  const seen = [...slotsWith(observed, 'visible')].filter((slot_id) => rendered.has(slot_id)).length
  return rendered.size === 0 ? [] : [`${seen} of ${rendered.size} rendered ads were reported as visible.`]
}

/** Returns the slots for which beacons were accepted: any, or those of one event. */
function slotsWith({ beacons }: Observed, event?: BeaconEvent): Set<string | null> {
  const wanted = beacons.filter((beacon) => event === undefined || beacon.event === event)
  return new Set(wanted.map(({ slot_id }) => slot_id))
}

function isAccepted(exchange: Exchange): boolean {
  return isBeacon(exchange) && exchange.status === 200
}

function beaconIdOf({ request_body }: Exchange): string | null {
  return textAt(request_body, 'beacon_id')
}

function mountOf({ request_body }: Exchange): string | null {
  return textAt(request_body, 'render_instance_id')
}

/** Returns the current name of the event of a beacon, or null when it is none. */
function eventOf({ request_body }: Exchange): string | null {
  const event = BeaconEventInput.safeParse(textAt(request_body, 'event'))
  return event.success ? canonicalEvent(event.data) : null
}

/** Returns the mounts that reported a slot as rendered, each with its first beacon. */
export function mountsOf(exchanges: readonly Exchange[]): Map<string, Exchange[]> {
  const renders = exchanges.filter((each) => isAccepted(each) && eventOf(each) === 'render')
  const slots = groupBy(renders, ({ slot_id }) => slot_id)
  return new Map(
    [...slots].map(([slot_id, group]) => [slot_id, [...Map.groupBy(group, mountOf).values()].map(([first]) => first!)]),
  )
}
