/** Fills: whether they are shown, in time, once, and fit. */

import {
  countPhrase,
  groupBy,
  isFrame,
  isFromBrowser,
  isPlacementRequest,
  type JournaledExchange,
  joinFirst,
  loadedFrames,
  openSlots,
  readNoFillReason,
} from '#diagnosis/exchange.ts'
import { valueAt } from '#foundation/json.ts'
import { plural } from '#text/text.ts'
import { isAccepted, isNamedByPage, readEvent, readMount, readTurn, reportsBeforeFrame } from '../facts/shown-ads.ts'
import { followedSlots } from '../journal.ts'
import { completeUntil, findingFor, judgeMatching, type Observed, ruleSet } from '../rule.ts'

export const fillRules = ruleSet('journal', {
  'fill-unused': {
    title: 'a fill is shown',
    severity: 'warning',
    costs: 'The ad was won and never shown: nothing is paid, and the fill counts against your show rate.',
    fix: 'Mount placement.render.frame_url as soon as the response arrives; request no placement without a slot for it.',
    needs: 'a fill, and in a run of tests a browser',
    judge(observed) {
      const { fills, unused } = decidedFills(observed)
      const expired = unused.filter(({ status }) => status === 'expired').length
      const slots = new Set(unused.map(({ slot_id }) => slot_id))
      const requests = observed.exchanges.filter(({ slot_id, method }) => method === 'POST' && slots.has(slot_id ?? ''))
      const burst = longestBurst(requests)
      // Tests of a backend show no page: none of their fills could have been shown.
      if (!mayShow(observed) && burst < minBurstFrames) return { sample_size: 0, findings: [] }
      const finding = {
        message: `${unused.length} of ${fills.length} fills had neither a frame nor a beacon${expired > 0 ? `, ${expired} until they expired` : ''}: ${joinFirst([...slots])}.${burst < minBurstFrames ? '' : ` ${burst} of them were requested in one session, each within a second of the last.`}`,
        requests,
        ...(burst < minBurstFrames ? {} : { fix: burstFix }),
      }
      return {
        sample_size: fills.length,
        findings: unused.length === 0 ? [] : [finding],
        notes: fills.length === 0 ? [] : [describeShown(observed, fills)],
      }
    },
  },
  'expired-ad': {
    title: 'frames are loaded while their decision is valid',
    severity: 'error',
    costs: 'The user sees an empty slot.',
    fix: 'Load the frame_url of the newest response, unchanged, within constraints.max_render_delay_ms of its decision.',
    needs: 'a frame',
    judge: judgeMatching(isFrame, (frames) => {
      const requests = frames.filter(({ status }) => status >= 400 && status !== 403)
      const last = requests.at(-1)
      const message = `A frame was refused ${countPhrase(requests.length)}, last with ${last?.reason_code ?? last?.status} (${last?.request_id}).`
      return findingFor(requests, message)
    }),
  },
  'shown-twice': {
    title: 'each placement is shown once',
    severity: 'error',
    costs: 'A placement is one impression: the second is not paid, and looks like fraud to the buyer.',
    fix: 'Mount each placement in one slot. Give each turn its own placement and pass a turnId, so that a remount by the framework is the same turn.',
    needs: 'a frame that was loaded',
    judge: judgeMatching(
      (exchange) => isFrame(exchange) && exchange.status === 200,
      (frames, { exchanges }) => {
        const loads = groupBy(frames, ({ slot_id }) => slot_id)
        const mounts = groupByMount(exchanges)
        const turns = slotsOfTurns(exchanges, (turn_id) => turn_id !== null)
        const named = slotsOfTurns(exchanges, isNamedByPage)
        const shown = [...new Set([...loads.keys(), ...mounts.keys()])].map((slot_id) => {
          return { slot_id, loaded: loads.get(slot_id) ?? [], mounted: mounts.get(slot_id) ?? [] }
        })
        // A turn that its page mounts again loads its frame again, and stays one mount (A102).
        const again = shown.filter(({ slot_id, loaded, mounted }) =>
          turns.has(slot_id) ? mounted.length > 1 : loaded.length > 1 || mounted.length > 1,
        )
        const alike = groupBy(again, ({ loaded, mounted }) => `${loaded.length} ${mounted.length}`)
        return [...alike.values()].flatMap((slots) => {
          const { loaded, mounted } = slots[0]
          const ids = joinFirst(slots.map(({ slot_id }) => slot_id))
          const subject = slots.length === 1 ? `The frame of ${ids} was` : `The frames of ${ids} were each`
          return findingFor(
            slots.flatMap((each) => [...each.loaded, ...each.mounted]),
            `${subject} loaded ${countPhrase(loaded.length)}, and reported as rendered by ${plural(mounted.length, 'mount')}.`,
            slots.every(({ slot_id }) => named.has(slot_id)) ? fixOfNamedTurn : undefined,
          )
        })
      },
    ),
  },
  'slot-hint-misfit': {
    title: 'slot hints leave room for a creative',
    severity: 'warning',
    costs: 'This slot never fills: every request of it is a no-fill.',
    fix: 'Send the real size of the slot in CSS pixels, or leave slot_hint out; the smallest banners are 300 × 250 and 320 × 50.',
    needs: 'a placement with slot_hint',
    judge({ exchanges }) {
      const hinted = groupBy(exchanges, (exchange) => {
        const hint = valueAt(exchange.request_body, 'slot_hint')
        const isAnswered = isPlacementRequest(exchange) && exchange.status === 200
        return isAnswered && hint !== undefined ? JSON.stringify(hint) : null
      })
      const misfits = [...hinted].filter(([, group]) =>
        group.every((each) => readNoFillReason(each) === 'size_mismatch'),
      )
      const findings = misfits.map(([hint, requests]) => ({
        message: `Nothing fits the slot_hint ${hint}: ${requests.length} of ${requests.length} responses were size_mismatch.`,
        requests,
      }))
      return { sample_size: hinted.size, findings }
    },
  },
})

/** Returns the mounts that reported a slot as rendered, each with its first beacon. */
function groupByMount(exchanges: readonly JournaledExchange[]): Map<string, JournaledExchange[]> {
  // What a server reports for the frame is no mount, and has its own rule.
  const early = reportsBeforeFrame(exchanges)
  const renders = exchanges.filter((each) => isAccepted(each) && readEvent(each) === 'render' && !early.has(each))
  const slots = groupBy(renders, ({ slot_id }) => slot_id)
  return new Map(
    [...slots].map(([slot_id, group]) => [
      slot_id,
      [...Map.groupBy(group, readMount).values()].map(([first]) => first!),
    ]),
  )
}

/** For pages that pass a turnId already. */
export const fixOfNamedTurn =
  'Mount each placement in one slot: copies of a slot, or turns with ids of their own for one response, show it again.'

/** Returns the slots whose beacons have a turn id that counts. */
export function slotsOfTurns(
  exchanges: readonly JournaledExchange[],
  counts: (turn_id: string | null) => boolean,
): Set<string | null> {
  const named = exchanges.filter((each) => isAccepted(each) && counts(readTurn(each.request_body)))
  return new Set(named.map(({ slot_id }) => slot_id))
}

/** Whether anything was seen that could show an ad. Only a run of tests is known to have nothing else. */
function mayShow({ exchanges, is_whole }: Observed): boolean {
  return !is_whole || exchanges.some(isFromBrowser)
}

/** Says how far the fills got, by what was seen of each. */
function describeShown({ exchanges, beacons }: Observed, fills: Observed['placements']): string {
  const framed = loadedFrames(exchanges)
  const rendered = new Set(
    beacons.filter(({ event, verdict }) => event === 'render' && verdict === 'accepted').map(({ slot_id }) => slot_id),
  )
  const count = (slots: { has(slot_id: string): boolean }) => fills.filter(({ slot_id }) => slots.has(slot_id)).length
  return `Of ${plural(fills.length, 'fill')}, ${count(framed)} had the frame loaded and ${count(rendered)} a render reported.`
}

/**
 * Returns fills that were decided early enough to have been shown by now, and those that had neither frame nor beacon.
 * A fill of a slot that nobody polled is lost for another reason.
 */
function decidedFills(observed: Observed): { fills: Observed['placements']; unused: Observed['placements'] } {
  const { exchanges, placements, beacons, now_ms } = observed
  const followed = followedSlots(observed)
  const givenUp = new Set(exchanges.flatMap(openSlots).filter((slot_id) => !followed.has(slot_id)))
  const used = new Set([...loadedFrames(exchanges).keys(), ...beacons.map(({ slot_id }) => slot_id)])
  const until_ms = completeUntil(observed)
  const fills = placements.filter(
    ({ slot_id, fill, decided_at_ms }) =>
      fill === true && (decided_at_ms ?? now_ms) <= until_ms && !givenUp.has(slot_id),
  )
  return { fills, unused: fills.filter(({ slot_id }) => !used.has(slot_id)) }
}

/** This many unused fills, each requested within a second of the last, are no turns of a conversation. */
const minBurstFrames = 3

const burstFix =
  'Request one placement for each turn, before its answer streams: not for each token, chunk, keystroke or rerender.'

/** Returns the length of the longest run of requests for placements in one session, each within a second of the last. */
function longestBurst(requests: readonly JournaledExchange[]): number {
  let longest = 0
  for (const group of groupBy(requests.filter(isPlacementRequest), ({ session_id }) => session_id).values()) {
    let run = 0
    for (const [index, { at_ms }] of group.entries()) {
      run = index > 0 && at_ms - group[index - 1]!.at_ms < 1_000 ? run + 1 : 1
      longest = Math.max(longest, run)
    }
  }
  return longest
}
