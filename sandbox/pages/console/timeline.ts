/** The way of one ad as times: request, decision, frame, paint, viewable. */
import { listEvents, type Slot } from './slots.ts'

/** The part of the way up to a milestone. Milliseconds since the request. */
export interface Step {
  name: 'Decision' | 'Frame' | 'Paint' | 'Viewable'
  from_ms: number
  /** null while it is not reached. */
  to_ms: number | null
  /** Whether the page is waiting for it: it is the next one, and the slot has not ended. */
  isWaiting: boolean
}

/** Returns the steps of a slot, or an empty list when its request is unknown. */
export function readSteps(slot: Slot): Step[] {
  const { requested, milestones } = readTimes(slot)
  if (requested === null) return []
  let from_ms = 0
  let isNext = slot.state.outcome === 'pending' || slot.state.outcome === 'fill'
  return milestones.map(([name, at_ms]) => {
    const to_ms = at_ms === null ? null : Math.max(from_ms, at_ms - requested)
    const step: Step = { name, from_ms, to_ms, isWaiting: to_ms === null && isNext }
    if (to_ms === null) isNext = false
    else from_ms = to_ms
    return step
  })
}

interface Times {
  requested: number | null
  milestones: (readonly [Step['name'], number | null])[]
}

/** Longer waits are no waits: the page's clock was corrected between the two. */
const maxWaitMs = 60_000

/**
 * The page's own times say what its user waited for. They count where they fit those of the sandbox: the page knows the clock of
 * the service only once it has had a response.
 */
function readTimes(slot: Slot): Times {
  const { sandbox } = slot
  const first = (type: 'turn:started' | 'decision' | 'rendered' | 'visible'): number | null =>
    listEvents(slot, type)[0]?.at_ms ?? null
  const started = first('turn:started')
  const requested = sandbox?.requested_at_ms ?? null
  const decided = first('decision')
  const sent = sandbox?.decided_at_ms ?? null
  return {
    requested: isWait(started, requested) ? started : (requested ?? started),
    milestones: [
      ['Decision', isWait(sent, decided) ? decided : (sent ?? decided)],
      ...(sandbox === null ? [] : [['Frame', sandbox.frame_loaded_at_ms] as const]),
      ['Paint', first('rendered')],
      ['Viewable', first('visible')],
    ],
  }
}

function isWait(from_ms: number | null, to_ms: number | null): boolean {
  return from_ms !== null && to_ms !== null && to_ms >= from_ms && to_ms - from_ms < maxWaitMs
}
