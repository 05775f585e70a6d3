/** How far a turn's ad has come: six milestones, each with the time at which it was really told. */
import type { RendererEvent } from '../../renderer/host/renderer.ts'
import { el, unseen } from '../elements.ts'
import type { Entry, TurnRecord } from './record.ts'
import { asides, seconds } from './wording.ts'

/** `ended`: a no-fill. `failed`: blocked or broken before it came so far. */
type State = 'ahead' | 'waiting' | 'reached' | 'ended' | 'failed'

interface Milestone {
  name: string
  state: State
  entry: Entry | undefined
}

export interface Journey {
  readonly element: HTMLElement
  show(turn: TurnRecord): void
}

export function createJourney(): Journey {
  const list = el('ol', { class: 'journey' })
  const news = el('p', { class: 'unseen', role: 'status' })
  const element = el('div', {}, list, news)
  return {
    element,
    show(turn) {
      const milestones = milestonesOf(turn)
      list.replaceChildren(
        ...milestones.map(({ name, state, entry }) => {
          const time = entry === undefined ? '' : seconds(entry.at - turn.began_at)
          const parts = [el('span', { class: 'pin' }), el('b', {}, name), el('time', {}, time), unseen(state)]
          return el('li', { 'data-state': state }, ...parts)
        }),
      )
      const text = milestones.some(isNews) ? `Turn ${turn.number}: ${shortState(turn)}` : ''
      if (news.textContent !== text) news.textContent = text
    },
  }
}

/** The newest milestone in a word. */
export function shortState(turn: TurnRecord): string {
  return milestonesOf(turn).findLast(({ state }) => state !== 'ahead')?.name ?? ''
}

/** A request alone is no news. */
function isNews({ name, state }: Milestone): boolean {
  return state !== 'ahead' && name !== 'Request'
}

function milestonesOf(turn: TurnRecord): Milestone[] {
  const find = (kind: Entry['kind']) => turn.entries.find((entry) => entry.kind === kind)
  const counted = (event: string) => turn.entries.find((entry) => isCounted(entry, event))
  const path = [
    step('Request', find('request')),
    decisionStep(find('decision'), find('pending')),
    step('Frame', find('frame')),
    step('Rendered', find('rendered')),
    step('Viewable', counted('visible')),
    step('Click', counted('click')),
  ]
  const last = path.findLastIndex(({ state }) => state === 'reached')
  for (const milestone of path.slice(0, last)) milestone.state = 'reached'
  const end = turn.entries.find(isEnd)
  const next = path[last + 1]
  if (end !== undefined && next !== undefined && next.name !== 'Click' && next.state !== 'ended') {
    Object.assign(next, { name: end.kind === 'blocked' ? 'Blocked' : 'Failed', state: 'failed', entry: end })
  }
  return path
}

function step(name: string, entry: Entry | undefined): Milestone {
  return { name, entry, state: entry === undefined ? 'ahead' : 'reached' }
}

function decisionStep(decision: Entry | undefined, pending: Entry | undefined): Milestone {
  if (decision !== undefined)
    return isFill(decision) ? step('Fill', decision) : { ...step('No-fill', decision), state: 'ended' }
  return pending === undefined ? step('Decision', undefined) : { name: 'Pending', state: 'waiting', entry: pending }
}

function isEnd({ kind, page }: Entry): boolean {
  const { code = '' } = (page?.event ?? {}) as Partial<RendererEvent<'error'>>
  return kind === 'blocked' || (kind === 'error' && !asides.has(code))
}

function isFill({ sandbox, page }: Entry): boolean {
  const told = page?.event as { fill?: boolean } | undefined
  return sandbox?.event.data.fill === true || told?.fill === true
}

/** A beacon that the sandbox has accepted. */
function isCounted({ kind, sandbox }: Entry, event: string): boolean {
  return kind === 'beacon' && sandbox?.event.type === 'beacon.accepted' && sandbox.event.data.event === event
}
