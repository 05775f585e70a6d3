/** How far the ad of a turn got. */
import type { TurnEntry, TurnRecord } from './record.ts'
import { isFill, notices } from './wording.ts'

/** `ended`: a no-fill. `failed`: blocked or broken before it got that far. */
export interface Milestone {
  name: string
  state: 'ahead' | 'waiting' | 'reached' | 'ended' | 'failed'
  entry: TurnEntry | undefined
}

/** Returns the six milestones of a turn's ad, reached so far. */
export function listMilestones(turn: TurnRecord): Milestone[] {
  const step = (name: string, test: (entry: TurnEntry) => boolean): Milestone => {
    const entry = turn.entries.find(test)
    return { name, entry, state: entry === undefined ? 'ahead' : 'reached' }
  }
  const decision = step('Decision', ({ kind }) => kind === 'decision')
  const path = [
    step('Request', ({ kind }) => kind === 'request'),
    decision,
    step('Frame', ({ kind }) => kind === 'frame'),
    step('Rendered', ({ kind }) => kind === 'rendered'),
    step('Viewable', (entry) => isAccepted(entry, 'visible')),
    step('Click', (entry) => isAccepted(entry, 'click')),
  ]
  const pending = turn.entries.find(({ kind }) => kind === 'pending')
  if (decision.entry !== undefined) {
    Object.assign(decision, isFill(decision.entry) ? { name: 'Fill' } : { name: 'No-fill', state: 'ended' })
  } else if (pending !== undefined) Object.assign(decision, { name: 'Pending', state: 'waiting', entry: pending })

  const last = path.findLastIndex(({ state }) => state === 'reached')
  for (const milestone of path.slice(0, last)) milestone.state = 'reached'
  const end = turn.entries.find(({ kind, page }) => {
    return kind === 'blocked' || (page?.event.type === 'error' && !notices.has(page.event.code))
  })
  const next = path[last + 1]
  if (end !== undefined && next !== undefined && next.name !== 'Click' && next.state !== 'ended') {
    Object.assign(next, { name: end.kind === 'blocked' ? 'Blocked' : 'Failed', state: 'failed', entry: end })
  }
  return path
}

/** Whether it is an accepted beacon of this event. */
function isAccepted({ kind, sandbox }: TurnEntry, event: string): boolean {
  return kind === 'beacon' && sandbox?.event.type === 'beacon.accepted' && sandbox.event.data.event === event
}
