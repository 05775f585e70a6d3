/** Fills: whether they are shown, in time, once, and fit. */
import { valueAt } from '../../foundation/json.ts'
import { groupBy, isFrame, isPlacementRequest, loadedFrames, noFillReasonOf, some, times } from '../exchange.ts'
import { about, completeUntil, type Observed, over, ruleSet } from '../rule.ts'
import { mountsOf } from './beacons.ts'

export const fillRules = ruleSet('journal', {
  'fill-unused': {
    title: 'a fill is shown',
    severity: 'warning',
    costs: 'The ad was won and never shown: nothing is paid, and the fill counts against your show rate.',
    fix: 'Mount placement.render.frame_url as soon as the response arrives; request no placement without a slot for it.',
    needs: 'a fill',
    judge(observed) {
      const { fills, unused } = decidedFills(observed)
      const expired = unused.filter(({ status }) => status === 'expired').length
      const slots = new Set(unused.map(({ slot_id }) => slot_id))
      const finding = {
        message: `${unused.length} of ${fills.length} fills had neither a frame nor a beacon${expired > 0 ? `, ${expired} until they expired` : ''}: ${some([...slots])}.`,
        requests: observed.exchanges.filter(({ slot_id, method }) => method === 'POST' && slots.has(slot_id ?? '')),
      }
      return {
        looked_at: fills.length,
        findings: unused.length === 0 ? [] : [finding],
        notes: fills.length === 0 ? [] : [`${fills.length - unused.length} of ${fills.length} fills were shown.`],
      }
    },
  },
  'expired-ad': {
    title: 'frames are loaded while their decision is valid',
    severity: 'error',
    costs: 'The user sees an empty slot, and nothing is paid.',
    fix: 'Load the frame_url of the newest response, unchanged, within constraints.max_render_delay_ms of its decision.',
    needs: 'a frame',
    judge: over(isFrame, (frames) => {
      const requests = frames.filter(({ status }) => status >= 400 && status !== 403)
      const last = requests.at(-1)
      const message = `A frame was refused ${times(requests.length)}, last with ${last?.status} (${last?.request_id}).`
      return about(requests, message)
    }),
  },
  'shown-twice': {
    title: 'each placement is shown once',
    severity: 'error',
    costs: 'A placement is one impression: the second is not paid, and looks like fraud to the buyer.',
    fix: 'Mount each placement in one slot; give each turn its own, and pass a turnId, so that a remount by the framework is the same turn.',
    needs: 'a frame that was loaded',
    judge: over(
      (exchange) => isFrame(exchange) && exchange.status === 200,
      (frames, { exchanges }) => {
        const loads = groupBy(frames, ({ slot_id }) => slot_id)
        const mounts = mountsOf(exchanges)
        return [...new Set([...loads.keys(), ...mounts.keys()])].flatMap((slot_id) => {
          const [loaded, mounted] = [loads.get(slot_id) ?? [], mounts.get(slot_id) ?? []]
          if (loaded.length < 2 && mounted.length < 2) return []
          return about(
            [...loaded, ...mounted],
            `The frame of ${slot_id} was loaded ${times(loaded.length)}, and reported as rendered by ${mounted.length} mounts.`,
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
      const misfits = [...hinted].filter(([, group]) => group.every((each) => noFillReasonOf(each) === 'size_mismatch'))
      const findings = misfits.map(([hint, requests]) => ({
        message: `Nothing fits the slot_hint ${hint}: ${requests.length} of ${requests.length} responses were size_mismatch.`,
        requests,
      }))
      return { looked_at: hinted.size, findings }
    },
  },
})

/** Rules about fills for `svc doctor`, which looks at a journal that goes on. */
export const fillCheckRules = ruleSet('journal', {
  'fill-expired': {
    severity: 'warning',
    fix: 'Mount placement.render.frame_url as soon as the response arrives; do not keep fills, request one for each turn.',
    judge(observed) {
      const { fills, unused } = decidedFills({ ...observed, is_ended: true })
      const slots = unused.filter(({ status }) => status === 'expired').map(({ slot_id }) => slot_id)
      const message = `A fill expired before its frame was loaded, ${times(slots.length)}: ${some(slots)}.`
      return { looked_at: fills.length, findings: slots.length === 0 ? [] : [{ message }] }
    },
  },
  'fills-never-shown': {
    severity: 'warning',
    fix: 'Mount placement.render.frame_url in an iframe; a creative drawn by hand needs beacons of its own.',
    judge(observed) {
      const { fills, unused } = decidedFills(observed)
      const [ready = 0, missed = 0] = [fills, unused].map(
        (list) => list.filter(({ status }) => status === 'ready').length,
      )
      const subject = ready === 1 ? 'The only fill was not' : `None of ${ready} fills was`
      const message = `${subject} followed by a frame or a beacon.`
      return { looked_at: ready, findings: ready > 0 && missed === ready ? [{ message }] : [] }
    },
  },
})

/** Returns fills that were decided early enough to have been shown by now, and those that had neither frame nor beacon. */
function decidedFills(observed: Observed): { fills: Observed['placements']; unused: Observed['placements'] } {
  const { exchanges, placements, beacons, now_ms } = observed
  const used = new Set([...loadedFrames(exchanges).keys(), ...beacons.map(({ slot_id }) => slot_id)])
  const until_ms = completeUntil(observed)
  const fills = placements.filter(({ fill, decided_at_ms }) => fill === true && (decided_at_ms ?? now_ms) <= until_ms)
  return { fills, unused: fills.filter(({ slot_id }) => !used.has(slot_id)) }
}
