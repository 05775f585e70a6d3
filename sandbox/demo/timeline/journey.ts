/** How far a turn's ad has come: six milestones, each with the time at which it was really told. */
import { el, unseen } from '../elements.ts'
import type { Entry, TurnRecord } from './record.ts'
import { seconds } from './wording.ts'

interface Milestone {
  name: string
  entry: Entry | undefined
  /** The way ends here: no fill, or the ad is gone before it came so far. */
  isEnd: boolean
}

export interface Journey {
  readonly element: HTMLElement
  show(turn: TurnRecord): void
}

export function createJourney(): Journey {
  const list = el('ol', { class: 'journey' })
  const news = el('p', { class: 'unseen', role: 'status' })
  const element = el('div', {}, list, news)
  let announced = ''
  return {
    element,
    show(turn) {
      const milestones = milestonesOf(turn)
      const reached = milestones.findLastIndex(({ entry }) => entry !== undefined)
      list.replaceChildren(
        ...milestones.map(({ name, entry, isEnd }, index) => {
          const state = isEnd ? 'ended' : entry !== undefined || index < reached ? 'reached' : 'ahead'
          const time = entry === undefined ? '' : seconds(entry.at - turn.began_at)
          return el(
            'li',
            { 'data-state': state },
            el('span', { class: 'pin' }),
            el('b', {}, name),
            el('time', {}, time),
            unseen(state),
          )
        }),
      )
      const last = milestones[reached]
      const text = last === undefined || reached === 0 ? '' : `Turn ${turn.number}: ${last.name}`
      if (text !== announced) news.textContent = text
      announced = text
    },
  }
}

/** The newest milestone in a few words, for where there is no room. */
export function shortState(turn: TurnRecord): string {
  const milestones = milestonesOf(turn)
  const ended = milestones.find(({ isEnd }) => isEnd)
  return ended?.name ?? milestones.findLast(({ entry }) => entry !== undefined)?.name ?? ''
}

export function milestonesOf(turn: TurnRecord): Milestone[] {
  const find = (test: (entry: Entry) => boolean) => turn.entries.find(test)
  const decision = find(({ kind }) => kind === 'decision')
  const failure = find(({ kind }) => kind === 'blocked' || kind === 'error')
  const isNoFill = decision !== undefined && !isFill(decision)
  const isPending = decision !== undefined && isNoFill && isStillPending(decision)
  const rendered = find(({ kind }) => kind === 'rendered')
  const decided = isPending ? 'Pending' : isNoFill ? 'No-fill' : decision === undefined ? 'Decision' : 'Fill'
  const path: Milestone[] = [
    { name: 'Request', entry: find(({ kind }) => kind === 'request'), isEnd: false },
    { name: decided, entry: decision, isEnd: isNoFill && !isPending },
    { name: 'Frame', entry: find(({ kind }) => kind === 'frame'), isEnd: false },
    { name: 'Rendered', entry: rendered, isEnd: false },
    { name: 'Viewable', entry: find((entry) => isCounted(entry, 'visible')), isEnd: false },
    { name: 'Click', entry: find((entry) => isCounted(entry, 'click')), isEnd: false },
  ]
  const open = path.find(({ entry, name }) => entry === undefined && name !== 'Click')
  if (failure !== undefined && open !== undefined && !isNoFill) {
    open.entry = failure
    open.isEnd = true
    open.name = failure.kind === 'blocked' ? 'Blocked' : 'Failed'
  }
  return path
}

function isFill({ sandbox, page }: Entry): boolean {
  const told = page?.event as { fill?: boolean } | undefined
  return sandbox?.event.data.fill === true || told?.fill === true
}

function isStillPending({ sandbox, page }: Entry): boolean {
  return sandbox === null && (page?.event as { status?: string } | undefined)?.status === 'pending'
}

/** A beacon that the sandbox has accepted. */
function isCounted({ kind, sandbox }: Entry, event: string): boolean {
  return kind === 'beacon' && sandbox?.event.type === 'beacon.accepted' && sandbox.event.data.event === event
}
