/** Why two counts of the same turns differ: each cause in words, and what to change. */
import { acceptHints, reasonCodes } from '#contract/error-codes.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import { findEntry } from '#foundation/table-entry.ts'

interface CauseText {
  /** One sentence about a turn that is counted differently. */
  meaning: string
  /** What to change, one or two sentences. */
  change: string
  /** The same for a sum of a session or a day, where it differs. */
  change_of_sum?: string
}

/** In the order in which a sum of several turns is explained, the likeliest first. */
export const causes = {
  test_traffic: {
    meaning: 'It is test traffic, which production does not count.',
    change: 'Count one kind of traffic, or compare the kind that your file has.',
  },
  live_traffic: {
    meaning: 'It is live traffic, and the other side counts only test traffic.',
    change: 'Count one kind of traffic, or compare the kind that your file has.',
  },
  clock_skew: {
    meaning: 'The clock that stamped it is wrong.',
    change: "Stamp events with the server's time, or set the clock of the device or server that stamps them.",
  },
  late: {
    meaning: 'Its beacon came too late to count.',
    change: 'Send each beacon when the event happens, and count only those that the service accepted.',
  },
  early: {
    meaning: 'It was counted before it had happened.',
    change: 'Count after the decision, and a completion after the clip has played.',
  },
  after_expiry: {
    meaning: 'The ad had expired when it was shown.',
    change: 'Request a placement for each turn when there is room for it, and show it at once; do not store fills.',
  },
  beacon_refused: {
    meaning: 'Its beacon was refused.',
    change: 'Count only beacons that the service accepted.',
  },
  does_not_count: {
    meaning: 'Its beacon was accepted, but does not count.',
    change: 'Count by the verdict of the beacon.',
  },
  counting_method: {
    meaning: 'It is counted by another method.',
    change:
      'Count a view by the visible beacon of render.js, not when the ad begins to render: 50 % of it for one second, 30 % of a large one, a clip for two seconds.',
  },
  doubled: {
    meaning: 'It is counted more than once. Each placement counts once for a metric.',
    change: 'Count each slot_id once for a metric, however often its page is drawn or its beacon is sent.',
  },
  not_viewed: {
    meaning: 'It was rendered, and no view of it arrived.',
    change:
      'Count a view by the visible beacon of render.js, not when the ad begins to render. If it was viewed, look for a policy, a blocker or an early end of its page.',
  },
  beacon_never_sent: {
    meaning: 'No beacon of it arrived.',
    change:
      'Send the beacon when you count it; render.js does. On a page that uses it, look for a policy, a blocker or an early end of the page; and among the rejected beacons for some that name no slot.',
  },
  frame_not_loaded: {
    meaning: 'Its frame was never loaded, so nothing was shown.',
    change: 'Count an ad when its frame is painted, not when it is filled. Mount placement.render.frame_url at once.',
  },
  no_fill_counted: {
    meaning: 'It had no ad.',
    change: 'Count only decisions with fill: true.',
  },
  not_decided: {
    meaning: 'It is not decided yet.',
    change: 'Poll GET /v1/decisions/{slot_id} until it is decided, and count then.',
  },
  never_requested: {
    meaning: 'It was never requested in what is compared.',
    change:
      'Log the slot_id of the response as it is, and compare with the sandbox, project and session that you counted.',
    change_of_sum: 'Compare with the sandbox, project and time that you counted.',
  },
  time_zone: {
    meaning: 'It is counted on another day, as in another time zone.',
    change: 'Count days from midnight to midnight UTC, or convert your times to UTC before you add them up.',
  },
  not_recorded: {
    meaning: 'It counts here, and your file does not count it.',
    change: 'Find where your record of it is lost: a page that was left, a sampled log, an export that ended too soon.',
  },
  unexplained: {
    meaning: 'No cause that the sandbox has evidence of explains it alone.',
    change: 'Compare by slot_id: a sum does not show which turns differ.',
  },
} as const satisfies Record<string, CauseText>
export type Cause = keyof typeof causes

/** A cause, with the code of the beacon or the decision where one says more. */
export interface Explanation {
  cause: Cause
  reason_code: string | null
}

/** Returns an explanation in one sentence or two, with what its code means. */
export function describeCause({ cause, reason_code, is_possible }: Explanation & { is_possible: boolean }): string {
  const { meaning } = causes[cause]
  const whole = reason_code === null ? meaning : `${meaning.replace(/\.$/, '')}: ${reason_code}.`
  return is_possible ? `Possible, of turns in the sum: ${whole.charAt(0).toLowerCase()}${whole.slice(1)}` : whole
}

/** Returns what to change so that both count the same. @param key what the file counts by */
export function describeChange(
  { cause, reason_code }: Explanation,
  key: 'slot_id' | 'session_id' | 'day' = 'slot_id',
): string {
  const text: CauseText = causes[cause]
  const change = (key === 'slot_id' ? undefined : text.change_of_sum) ?? text.change
  if (reason_code === null || Object.hasOwn(noFillReasons, reason_code)) return change
  const hint = findEntry(acceptHints, reason_code) ?? findEntry(reasonCodes, reason_code)?.hint
  return hint === undefined ? change : `${change} ${hint}`
}
