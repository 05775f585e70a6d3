/** Fills: whether they are shown, in time, once, and fit. */
import { type Exchange, groupBy, member, some, times } from '../exchange.ts'
import { isFrame, usedSlots, wastedFills } from '../frames.ts'
import { isPlacementRequest, noFillReasonOf } from '../no-fills.ts'
import { type Rule, settledAt } from '../rule.ts'
import { mountsOf } from './beacons.ts'

export const fillUnused: Rule = {
  title: 'a fill is shown',
  severity: 'warning',
  costs: 'The ad was won and never shown: nothing is paid, and the fill counts against your show rate.',
  fix: 'Mount placement.render.frame_url as soon as the answer is there; do not ask where there is no slot to show it.',
  needs: 'a fill',
  judge(observed) {
    const { exchanges, placements, beacons } = observed
    const used = usedSlots(exchanges, beacons)
    const settled = settledAt(observed)
    const fills = placements.filter(({ fill, decided_at_ms }) => fill === true && (decided_at_ms ?? 0) <= settled)
    const unused = fills.filter(({ slot_id }) => !used.has(slot_id))
    const expired = wastedFills(placements, used).length
    const slots = new Set(unused.map(({ slot_id }) => slot_id))
    return {
      looked_at: fills.length,
      findings:
        unused.length === 0
          ? []
          : [
              {
                seen: `${unused.length} of ${fills.length} fills had neither a frame nor a beacon${expired > 0 ? `, ${expired} until they expired` : ''}: ${some([...slots])}.`,
                requests: exchanges.filter(({ slot_id, method }) => method === 'POST' && slots.has(slot_id ?? '')),
              },
            ],
      notes: fills.length === 0 ? [] : [`${fills.length - unused.length} of ${fills.length} fills were shown.`],
    }
  },
}

export const expiredAd: Rule = {
  title: 'frames are loaded while their decision lives',
  severity: 'error',
  costs: 'The person sees an empty slot, and nothing is paid.',
  fix: 'Load the frame_url of the newest answer, unchanged, within constraints.max_render_delay_ms of its decision.',
  needs: 'a frame',
  judge({ exchanges }) {
    const frames = exchanges.filter(isFrame)
    const refused = frames.filter(({ status }) => status >= 400 && status !== 403)
    const slots = some(refused.map(({ slot_id }) => slot_id ?? 'an unknown token'))
    return {
      looked_at: frames.length,
      findings:
        refused.length === 0
          ? []
          : [
              {
                seen: `A frame was refused ${times(refused.length)} with ${refused.at(-1)!.status}: ${slots}.`,
                requests: refused,
              },
            ],
    }
  },
}

export const shownTwice: Rule = {
  title: 'each placement is shown once',
  severity: 'error',
  costs: 'A placement is one impression: the second is not paid, and looks like fraud to the buyer.',
  fix: 'Mount each placement in one slot; give each turn its own, and make remounts of the framework harmless with a turnId.',
  needs: 'a frame that was loaded',
  judge({ exchanges }) {
    const frames = exchanges.filter((exchange) => isFrame(exchange) && exchange.status === 200)
    const loads = groupBy(frames, ({ slot_id }) => slot_id)
    const mounts = mountsOf(exchanges)
    const slots = [...new Set([...loads.keys(), ...mounts.keys()])]
    const twice = slots
      .map((slot_id) => ({ slot_id, loads: loads.get(slot_id) ?? [], mounts: mounts.get(slot_id) ?? [] }))
      .filter(({ loads, mounts }) => loads.length > 1 || mounts.length > 1)
    return {
      looked_at: frames.length,
      findings: twice.map(({ slot_id, loads, mounts }) => ({
        seen: `The frame of ${slot_id} was loaded ${times(loads.length)}, and told as rendered by ${mounts.length} mounts.`,
        requests: [...loads, ...mounts],
      })),
    }
  },
}

export const slotHintMisfit: Rule = {
  title: 'slot hints leave room for a creative',
  severity: 'warning',
  costs: 'This slot never fills: every request of it is a no-fill.',
  fix: 'Send the real size of the slot in CSS pixels, or leave slot_hint out; banners begin at 300 × 250 and 320 × 50.',
  needs: 'a placement with slot_hint',
  judge({ exchanges }) {
    const hinted = groupBy(exchanges, (exchange) => {
      const hint = member(exchange.detail?.request_body, 'slot_hint')
      return isPlacementRequest(exchange) && exchange.status === 200 && hint !== undefined ? JSON.stringify(hint) : null
    })
    const misfits = [...hinted].filter(([, group]) => group.every(isTooSmall))
    return {
      looked_at: hinted.size,
      findings: misfits.map(([hint, group]) => ({
        seen: `Nothing fits the slot_hint ${hint}: ${group.length} of ${group.length} answers were size_mismatch.`,
        requests: group,
      })),
    }
  },
}

function isTooSmall(exchange: Exchange): boolean {
  return noFillReasonOf(exchange) === 'size_mismatch'
}
