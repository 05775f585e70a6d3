/** Beacons: whether they arrive, once, in order, in time and with the right token. */

import { eventMetrics } from '#contract/beacon-verdict.ts'
import { acceptHints, acceptMeanings } from '#contract/error-codes.ts'
import { reasonsAbout } from '#contract/facts/reason-subjects.ts'
import type { AcceptCode, BeaconItem } from '#contract/resources/beacons.ts'
import { isTooSmall } from '#contract/viewability.ts'
import { valueAt } from '#foundation/json.ts'
import { plural } from '#text/text.ts'
import {
  countPhrase,
  groupBy,
  isBeacon,
  isFromBrowser,
  type JournaledExchange,
  joinFirst,
  listSlots,
  loadedFrames,
  type NonEmpty,
  takeLast,
} from '../../exchange.ts'
import {
  isAccepted,
  isViewEvent,
  readBeaconId,
  readEvent,
  readMount,
  reportsBeforeFrame,
} from '../../facts/shown-ads.ts'
import { declaredSizes, formatSize, type Size, sizeAt } from '../../facts/sizes.ts'
import {
  completeUntil,
  findingFor,
  findingPerGroup,
  type Judgement,
  judgeMatching,
  judgeRefused,
  type Observed,
  type RuleFinding,
  ruleSet,
} from '../../rule.ts'
import { frameReports, missingReports, silenceCauses, slotsWith } from '../frame-reports.ts'

/** Events that happen once in the life of one mount. */
const onceOnly: ReadonlySet<string> = new Set(['render', 'visible', 'play_started', 'play_completed', 'completion'])

/** Whether a beacon can count: a view that nobody could measure is reported too, and a later one that was seen still counts. */
function mayCount({ request_body }: JournaledExchange): boolean {
  return valueAt(request_body, 'measurements.visibility_check') !== 'none'
}

export const beaconRules = ruleSet('journal', {
  'beacon-missing': {
    title: 'every loaded frame is reported as rendered',
    severity: 'error',
    costs: 'Without a render beacon nothing of this ad is billed: the impression is lost.',
    fix: `Mount the frame in an iframe with render.js, which sends them. ${silenceCauses}`,
    needs: 'a frame loaded by a browser, or its beacons',
    judge(observed) {
      // A frame opened as its own page is a preview, which sends nothing.
      const frames = observed.exchanges.filter((each) => each.request_headers['sec-fetch-dest'] !== 'document')
      // A browser may have been closed at any moment, even when the program has ended.
      const inBrowser = frameReports(frames.filter(isFromBrowser), { ...observed, is_ended: false })
      // A program that reads a frame shows it to nobody, unless its beacons say otherwise.
      const programs = frames.filter((exchange) => !isFromBrowser(exchange))
      const inProgram = frameReports(programs, observed)
      return {
        sample_size: inBrowser.count + inProgram.count - inProgram.silent.length,
        findings: missingReports(observed, inBrowser.silent, [...inBrowser.unrendered, ...inProgram.unrendered]),
        notes: visibleRate(observed),
      }
    },
  },
  'beacon-doubled': {
    title: 'each event of an ad is reported once',
    severity: 'error',
    costs: 'The second is not counted here; a service that counts it bills the ad twice, and refunds it later.',
    fix: 'Report each event once per mount, and reuse the beacon_id when you retry.',
    needs: 'an accepted beacon',
    judge: judgeMatching(isAccepted, (accepted) => {
      const groups = groupBy(accepted, (exchange) => {
        const event = readEvent(exchange)
        return onceOnly.has(event ?? '') && mayCount(exchange)
          ? `${exchange.slot_id} ${event} ${readMount(exchange)}`
          : null
      })
      const doubled = [...groups.values()].filter((group) => new Set(group.map(readBeaconId)).size > 1)
      return findingPerGroup(
        doubled,
        ({ length }, first) =>
          `${readEvent(first)} of ${first.slot_id} was reported ${countPhrase(length)}, each with a different beacon_id.`,
      )
    }),
  },
  'beacon-repeated': {
    title: 'an accepted beacon is not sent again',
    severity: 'warning',
    costs: 'It counts once, and costs a request each time.',
    fix: 'Repeat a beacon only after no response, or after a 5xx or 429.',
    needs: 'an accepted beacon',
    judge: judgeMatching(isAccepted, (accepted) => {
      const again = accepted.filter(({ response_body }) => valueAt(response_body, 'duplicate') === true)
      const groups = groupBy(again, (exchange) => `${exchange.slot_id} ${readBeaconId(exchange)}`)
      return findingPerGroup(
        groups.values(),
        ({ length }, first) =>
          `${readEvent(first)} of ${first.slot_id} was sent again ${countPhrase(length)}, with the same beacon_id.`,
      )
    }),
  },
  'beacon-before-render': {
    title: 'the frame comes first, then its render, then the rest',
    severity: 'warning',
    costs:
      'A beacon before the render does not count until that arrives. One before the frame bills what nobody measured.',
    fix: 'Send render once the creative is painted, await its response, then send the others.',
    needs: 'an accepted beacon',
    judge: judgeMatching(isAccepted, (accepted, { exchanges, is_whole }) => {
      const loaded = loadedFrames(exchanges)
      const early = reportsBeforeFrame(exchanges)
      const framed = groupBy(accepted, (each) => (early.has(each) ? null : each.slot_id))
      const unordered = [...framed].flatMap(([slot_id, group]) => {
        const render = group.findIndex((each) => readEvent(each) === 'render')
        // A frame that was loaded and never rendered, or a view without a render, has its own rule.
        const isJudged = is_whole && !loaded.has(slot_id) && !group.some(isView)
        if (render === 0 || (render < 0 && !isJudged)) return []
        const requests = render < 0 ? group : group.slice(0, render + 1)
        const what = render > 0 ? 'its render' : 'any render'
        return findingFor(requests, `${readEvent(group[0])} of ${slot_id} was reported before ${what}.`)
      })
      return [...reportedForFrame([...early], loaded), ...unordered]
    }),
  },
  'beacon-clock': {
    title: 'beacons are stamped with the time of the event',
    severity: 'error',
    costs: 'The beacon is refused before billing: the impression is lost.',
    fix: "Send Date.now() of the event in milliseconds, corrected by the server's clock, and send beacons at once.",
    needs: 'a beacon',
    judge: judgeRefused(reasonsAbout.clock, isBeacon),
  },
  'beacon-expired': {
    title: 'beacons are sent while their asset token is valid',
    severity: 'error',
    costs: 'The beacon is refused: an ad shown this late is not paid.',
    fix: 'Request a new placement with each turn; remove an ad when it expires.',
    needs: 'a beacon',
    judge: judgeRefused(reasonsAbout.expired, isBeacon),
  },
  'view-not-counted': {
    title: 'every reported view counts',
    severity: 'warning',
    costs: 'The beacon is accepted, but the impression is not billed.',
    fix: 'Send visible with measurements.visible_ratio and visible_ms when the viewability threshold is met.',
    needs: 'an accepted visible or completion beacon',
    judge: uncountedViews,
  },
  'beacon-lost': {
    title: 'every beacon reaches the service',
    severity: 'warning',
    costs: 'The event that it reported does not count: without visible, the impression is lost.',
    fix: 'Find what kept the page from the service just then: no network, a blocker, a closed page. render.js tries for four minutes, then emits beacon with network_error.',
    needs: 'a beacon with seq',
    judge(observed) {
      const mounts = groupComplete(observed, (each) =>
        isBeacon(each) && readSeq(each) !== null ? `${each.slot_id} ${readMount(each)}` : null,
      )
      const findings = mounts.flatMap((group) => {
        const numbers = new Set(group.map((each) => readSeq(each)!))
        const lost = Math.max(...numbers) - Math.min(...numbers) + 1 - numbers.size
        const message = `${plural(lost, 'beacon')} of ${listSlots(group)} never arrived: seq has a gap.`
        return findingFor(lost === 0 ? [] : group, message)
      })
      return { sample_size: mounts.length, findings }
    },
  },
  'frame-without-room': {
    title: 'every rendered ad has room',
    severity: 'error',
    costs: 'Nobody can see it, or it is too small to be billed.',
    fix: 'Give the slot its declared size: no display: none, and no width or height of 0, on it or around it.',
    needs: 'a beacon with measurements',
    judge(observed) {
      const slots = groupComplete(observed, (each) =>
        isAccepted(each) && readSize(each) !== null ? each.slot_id : null,
      )
      // A page may collapse an ad once it has been seen; a view of one that is too small has its own rule.
      const unseen = slots.filter((group) => !group.some((each) => isView(each) && !isWithoutPixels(each)))
      const declared = declaredSizes(observed.exchanges)
      const last = unseen.map((group) => takeLast(group))
      const none = last.filter(isWithoutPixels)
      const small = groupBy(last, (each) =>
        !none.includes(each) && isWithoutRoom(each, declared) ? formatSize(readSize(each)!) : null,
      )
      const when = 'when it was last measured'
      return {
        sample_size: slots.length,
        findings: [
          ...findingFor(none, `A rendered ad had no pixels ${when}, ${countPhrase(none.length)}: ${listSlots(none)}.`),
          ...[...small].flatMap(([size, group]) =>
            findingFor(
              group,
              `A rendered ad was ${size} pixels ${when}, too small to count as seen, ${countPhrase(group.length)}: ${listSlots(group)}.`,
              acceptHints.TOO_SMALL,
            ),
          ),
        ],
      }
    },
  },
  /** Users scroll past ads, so one that was seen is enough. The last measurement says why the others were not. */
  'ads-never-seen': {
    title: 'some ad is seen',
    severity: 'warning',
    costs: 'An ad that nobody sees is not billed.',
    needs: 'an ad that was measured after it rendered',
    fix: 'Show the ad where users look, and keep it until it has been seen: svc observe --url shows what hides it.',
    judge(observed) {
      const early = reportsBeforeFrame(observed.exchanges)
      const sent = observed.exchanges.filter((each) => isAccepted(each) && !early.has(each))
      const rendered = new Set(sent.filter((each) => readEvent(each) === 'render').map(({ slot_id }) => slot_id))
      if (rendered.size === 0 || sent.some(isView)) return { sample_size: rendered.size, findings: [] }
      const measured = groupComplete({ ...observed, exchanges: sent }, (each) =>
        isMeasured(each) ? each.slot_id : null,
      )
      const declared = declaredSizes(observed.exchanges)
      const ends = measured.map((group) => takeLast(group)).filter(({ slot_id }) => rendered.has(slot_id))
      const causes = groupBy(ends, (last) => (isWithoutRoom(last, declared) ? null : findUnseenCause(last, observed)))
      const known = [...causes.values()].flat().length
      const none = `${rendered.size === 1 ? 'The rendered ad was not' : `None of ${rendered.size} rendered ads was`} reported as seen`
      const open = rendered.size - known
      const rest = open === 0 ? '' : ` Why the other ${open === 1 ? 'one was' : `${open} were`} not seen is not known.`
      return {
        // An ad that just rendered, or whose page may have been left, shows nothing.
        sample_size: known,
        findings: [...causes].map(([cause, last]): RuleFinding => {
          const { what, fix } = unseenCauses[cause]
          const message = `${none}. ${what}, ${countPhrase(last.length)}: ${listSlots(last)}.${rest}`
          return { message, fix, requests: last }
        }),
        notes: known > 0 ? [] : [`${none}; whether one could have been is not judged: ${tooEarly}.`],
      }
    },
  },
})

/** Reports beacons that came before the frame that shows their ad, with the first load of each of those frames. */
function reportedForFrame(
  early: readonly JournaledExchange[],
  loaded: ReadonlyMap<string, JournaledExchange>,
): RuleFinding[] {
  const slots = [...new Set(early.map(({ slot_id }) => slot_id ?? ''))]
  const events = [...new Set(early.map(readEvent))].join(' and ')
  const by = early.some(isFromBrowser) ? 'by the app itself' : 'by the backend'
  const message = `${events} of ${joinFirst(slots)} came before the frame had been loaded: reported ${by}, not by the frame.`
  const fix = 'Leave beacons to the frame: mount it with render.js, which reports what it measures in the page.'
  const frames = slots.flatMap((slot_id) => loaded.get(slot_id) ?? [])
  return findingFor(early.length === 0 ? [] : [...early, ...frames], message, fix).map((finding) => ({
    ...finding,
    severity: 'error',
  }))
}

/** Groups exchanges, leaving out groups that a beacon may still be on its way to. */
function groupComplete(
  observed: Observed,
  key: (exchange: JournaledExchange) => string | null,
): NonEmpty<JournaledExchange>[] {
  const until_ms = completeUntil(observed)
  return [...groupBy(observed.exchanges, key).values()].filter((group) => takeLast(group).at_ms <= until_ms)
}

/** Why an ad that rendered was not seen, as far as its last measurement shows. */
const unseenCauses = {
  tab_hidden: {
    what: 'The tab was in the background when it was last measured',
    fix: 'Bring the page to the front. Only time in a visible tab counts.',
  },
  outside: {
    what: 'Less than half of it was in the window when it was last measured',
    fix: 'Scroll to it: it may be below the fold. If you did, an element around it cuts it off; svc observe --url names it.',
  },
  hidden: {
    what: 'It was in the window for seconds, and hidden',
    fix: 'Remove opacity: 0 or visibility: hidden from the slot and the elements around it, and what lies over it. A clip also has to play.',
  },
  removed: {
    what: 'It was in the window when it rendered, and was gone or hidden before it could count',
    fix: 'Keep it in the page for at least a second, or two for a clip while it plays: finish() waits for that, clear, cancel and removing the slot do not. If it stayed, a style hides or fades it, or something lies over it.',
  },
} as const

/** A heartbeat is sent every ten seconds; after this long it is missing. */
const heartbeatDueMs = 15_000

const tooEarly = `each had no room, or was measured less than ${heartbeatDueMs / 1_000} s before the end, or not at all`

/** A browser that svc drives keeps each ad in the window for three seconds. */
const inViewMs = 2_500

/** Returns why the ad of this last beacon was not seen; null when it is too early. */
function findUnseenCause(last: JournaledExchange, { now_ms, page }: Observed): keyof typeof unseenCauses | null {
  if (valueAt(last.request_body, 'measurements.page_visible') === false) return 'tab_hidden'
  const isUnmeasured = page?.renderer_errors.some(({ code }) => code === 'unmeasurable')
  const mount = page?.mounts.find(({ slot_id }) => slot_id === last.slot_id)
  if (mount !== undefined && !isUnmeasured && mount.in_view_ms >= inViewMs && last.at_ms <= now_ms - 2 * inViewMs)
    return 'hidden'
  // A clip starts to play as it renders.
  const isFirst = readEvent(last) !== 'heartbeat'
  if (isFirst && last.at_ms > now_ms - heartbeatDueMs) return null
  if ((readVisibleRatio(last) ?? 0) < 0.5) return 'outside'
  return isFirst ? 'removed' : 'hidden'
}

/** Returns the share of an ad that was in the window, 0 to 1, or null. */
function readVisibleRatio({ request_body }: JournaledExchange): number | null {
  const ratio = valueAt(request_body, 'measurements.visible_ratio')
  return typeof ratio === 'number' ? ratio : null
}

/** Whether a beacon says how much of its ad could be seen. */
function isMeasured(exchange: JournaledExchange): boolean {
  return readSize(exchange) !== null && readVisibleRatio(exchange) !== null
}

/** Reports slots whose views or completions were all accepted without counting, by reason. */
function uncountedViews({ beacons, exchanges }: Observed): Judgement {
  const identify = (slot_id: string | null, beacon_id: string | null) => `${slot_id} ${beacon_id}`
  const early = new Set([...reportsBeforeFrame(exchanges)].map((each) => identify(each.slot_id, readBeaconId(each))))
  const reported = beacons.filter(
    ({ event, verdict, slot_id, beacon_id }) =>
      verdict === 'accepted' && isViewEvent(event) && !early.has(identify(slot_id, beacon_id)),
  )
  const slots = [...groupBy(reported, ({ slot_id, event }) => `${slot_id} ${eventMetrics[event!]}`).values()]
  const loaded = loadedFrames(exchanges)
  // A frame that was loaded and never reported as rendered has its own rule.
  const isNamed = ({ slot_id, reason_code }: BeaconItem) =>
    reason_code === 'AWAITING_RENDER' && loaded.has(slot_id ?? '')
  const uncounted = slots.filter((group) => !group.some((each) => counted.has(each.reason_code) || isNamed(each)))
  // Beacons are listed newest first: the last attempt is the one to correct.
  const reasons = groupBy(uncounted, ([newest]) => `${newest.event} ${newest.reason_code}`)
  const findings = [...reasons.values()].map((groups): RuleFinding => {
    const { event, reason_code } = groups[0][0]
    const ids = groups.map(([newest]) => newest.slot_id ?? '')
    const code = reason_code as Exclude<AcceptCode, 'OK'>
    return {
      message: `${event} of ${joinFirst(ids)} was accepted but does not count, ${code}: ${acceptMeanings[code]}.`,
      fix: acceptHints[code],
      requests: exchanges.filter(
        (each) => isAccepted(each) && ids.includes(each.slot_id ?? '') && readEvent(each) === event,
      ),
    }
  })
  return { sample_size: slots.length, findings }
}

/** Codes of a beacon that counts, or whose event was already counted. */
const counted: ReadonlySet<string> = new Set(['OK', 'ALREADY_COUNTED'])

/** Not every rendered ad is seen; the share that was is worth knowing. */
function visibleRate(observed: Observed): string[] {
  const accepted = { ...observed, beacons: observed.beacons.filter(({ verdict }) => verdict !== 'rejected') }
  const rendered = slotsWith(accepted, 'render')
  const seen = [...slotsWith(accepted, 'visible')].filter((slot_id) => rendered.has(slot_id)).length
  return rendered.size === 0 ? [] : [`${seen} of ${rendered.size} rendered ads were reported as visible.`]
}

function readSeq({ request_body }: JournaledExchange): number | null {
  const seq = valueAt(request_body, 'seq')
  return typeof seq === 'number' && Number.isSafeInteger(seq) ? seq : null
}

/** Returns the size that a beacon measured of its frame, CSS pixels, or null. */
function readSize({ request_body }: JournaledExchange): Size | null {
  return sizeAt(request_body, 'measurements.width_px', 'measurements.height_px')
}

function isWithoutPixels(exchange: JournaledExchange): boolean {
  const size = readSize(exchange)
  return size !== null && size.width * size.height === 0
}

/** Whether a beacon measured an ad too small to count as seen. */
function isWithoutRoom(exchange: JournaledExchange, declared: ReadonlyMap<string, Size>): boolean {
  const size = readSize(exchange)
  const whole = declared.get(exchange.slot_id ?? '')
  return isWithoutPixels(exchange) || (size !== null && whole !== undefined && isTooSmall(size, whole))
}

/** Whether a beacon reports that the ad was seen. */
function isView(exchange: JournaledExchange): boolean {
  return isViewEvent(readEvent(exchange))
}
