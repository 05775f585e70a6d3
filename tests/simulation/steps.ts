/**
 * The steps of a history: what clients, operators and the computer do, in this order. They are drawn before the history
 * runs and name what they are about by position, so that a history can be repeated with any of them left out.
 */
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import type { CommitFault } from './virtual/disk.ts'
import type { Travel } from './virtual/network.ts'

export const projects = ['proj_demo', 'proj_strict', 'proj_other'] as const
export type Project = (typeof projects)[number]

export type Event = 'render' | 'visible' | 'click' | 'heartbeat' | 'play_started' | 'play_completed'

export type Action =
  | {
      kind: 'consent'
      project: Project
      session: number
      decision: 'granted' | 'denied' | 'withdrawn' | 'personalized' | 'basic'
      expires_in_ms: number | null
      /** The revision that the client expects: the one it knows, or one before. */
      expects: 'known' | 'old' | null
      /** What another client of the session sends at the same time. */
      rival: 'consent' | 'place' | null
    }
  | {
      kind: 'place'
      project: Project
      session: number
      format: 'banner' | 'clip' | 'native'
      consent: boolean | null
      slots: number
      forcesNoFill: boolean
      session_cap: number | null
      wait_ms: number
      calls_back: boolean
      /** The activation whose token is sent; null: the secret key. */
      activation: number | null
    }
  | {
      /** A whole turn of an integration: a placement, its frame, and beacons in this order or all at once. */
      kind: 'turn'
      project: Project
      session: number
      format: 'banner' | 'clip' | 'native'
      consent: boolean | null
      events: Event[]
      isHasty: boolean
      /** The request that travels as the step says; the others arrive at once. */
      disturbed: number
    }
  | { kind: 'poll'; slot: number; wait_ms: number }
  | { kind: 'frame'; slot: number }
  | {
      kind: 'beacon'
      slot: number
      event: Event
      /** Of the time it is sent. */
      occurred_in_ms: number
      isViewable: boolean
      /** A beacon that was sent before, by position; null: a new one. */
      repeats: number | null
      changes: 'nothing' | 'event' | 'token' | 'project'
      activation: number | null
    }
  | { kind: 'activate'; project: Project }
  | { kind: 'burst'; project: Project; count: number }
  | { kind: 'settings'; project: Project; latency_ms: number | null; rate: string | null }
  | { kind: 'fault'; effect: 'error' | 'drop' | 'reset' | 'truncate' | 'delay'; served: boolean; times: number }
  | { kind: 'clear_faults' }
  | { kind: 'clock'; move: 'advance' | 'back' | 'freeze' | 'resume' | 'system'; by_ms: number }
  | { kind: 'computer_clock'; by_ms: number }
  | { kind: 'save' | 'restore' | 'forget'; name: number }
  | { kind: 'reset' }
  | { kind: 'export' }
  | { kind: 'import'; file: number }
  | { kind: 'idle'; ms: number }
  | { kind: 'crash' }
  | { kind: 'commit_fault'; fault: CommitFault }
  | { kind: 'restart' }

export type Step = Action & {
  /** Of the dice of this step. */
  seed: number
  travel: Travel
  /** Tasks that run before the next step begins; null: until the step has its response. */
  turns: number | null
}

const minute = 60_000
const hour = 60 * minute

/** The steps that are drawn, each with how often. */
const table: [weight: number, draw: (dice: Dice) => Action][] = [
  [20, turn],
  [12, place],
  [9, consent],
  [22, beacon],
  [5, (dice) => ({ kind: 'frame', slot: drawSlot(dice) })],
  [6, (dice) => ({ kind: 'poll', slot: drawSlot(dice), wait_ms: dice.pick([0, 50, 1_000, 5_000]) })],
  [3, (dice) => ({ kind: 'activate', project: dice.pick(projects) })],
  [2, (dice) => ({ kind: 'burst', project: dice.pick(projects), count: 2 + dice.below(12) })],
  [5, settings],
  [2, fault],
  [1, () => ({ kind: 'clear_faults' })],
  [8, clock],
  [1, (dice) => ({ kind: 'computer_clock', by_ms: dice.pick([-hour, -5_000, -1, 1, 5_000, hour]) })],
  [3, (dice) => ({ kind: 'save', name: dice.below(2) })],
  [3, (dice) => ({ kind: 'restore', name: dice.below(2) })],
  [0.5, (dice) => ({ kind: 'forget', name: dice.below(2) })],
  [1, () => ({ kind: 'reset' })],
  [1, () => ({ kind: 'export' })],
  [1, (dice) => ({ kind: 'import', file: dice.below(3) })],
  [4, (dice) => ({ kind: 'idle', ms: dice.pick([1, 20, 100, 1_000, 5_000]) })],
  [3, () => ({ kind: 'crash' })],
  [3, commitFault],
  [1, () => ({ kind: 'restart' })],
]
const total = table.reduce((sum, [weight]) => sum + weight, 0)

/** Steps of the shortest and the longest history. */
const [fewest, most] = [8, 36]

/** Returns the steps of a seed. */
export function drawSteps(seed: number): Step[] {
  const dice = createDice(seed)
  const count = fewest + dice.below(most - fewest + 1)
  // Faults of a network belong to some histories: without them, more can be said of the responses.
  const isFaulty = dice.chance(0.5)
  return Array.from({ length: count }, () => {
    const action = drawAction(dice)
    const travel = drawTravel(dice, isFaulty)
    const turns = dice.chance(0.55) ? null : dice.below(12)
    return { ...action, seed: dice.below(0xffff_ffff), travel, turns }
  })
}

function drawAction(dice: Dice): Action {
  let rest = dice.roll() * total
  for (const [weight, draw] of table) {
    rest -= weight
    if (rest < 0) return draw(dice)
  }
  return { kind: 'idle', ms: 1 }
}

function drawTravel(dice: Dice, isFaulty: boolean): Travel {
  const travel: Travel = {
    there_ms: dice.chance(0.5) ? 0 : dice.below(30),
    back_ms: dice.below(5),
    again_ms: null,
    loses: null,
    leaves_ms: null,
  }
  if (!isFaulty) return travel
  const roll = dice.roll()
  if (roll < 0.05) travel.loses = dice.pick(['request', 'response'])
  else if (roll < 0.1) travel.again_ms = dice.below(40)
  else if (roll < 0.13) travel.leaves_ms = dice.below(20)
  return travel
}

const events: readonly Event[] = ['render', 'visible', 'render', 'visible', 'click', 'heartbeat', 'play_completed']

function turn(dice: Dice): Action {
  return {
    kind: 'turn',
    ...drawTerms(dice),
    events: dice.chance(0.5)
      ? ['render', 'visible']
      : Array.from({ length: 1 + dice.below(5) }, () => dice.pick(events)),
    isHasty: dice.chance(0.4),
    disturbed: dice.below(5),
  }
}

function drawTerms(dice: Dice) {
  const project = drawProject(dice)
  const needsConsent = project === 'proj_strict'
  return {
    project,
    session: dice.below(3),
    format: dice.pick(['banner', 'clip', 'native'] as const),
    consent: dice.chance(needsConsent ? 0.2 : 0.6) ? null : dice.chance(0.8),
  }
}

function place(dice: Dice): Action {
  return {
    kind: 'place',
    ...drawTerms(dice),
    slots: dice.chance(0.8) ? 1 : 1 + dice.below(3),
    forcesNoFill: dice.chance(0.08),
    session_cap: dice.chance(0.15) ? 1 + dice.below(3) : null,
    wait_ms: dice.pick([0, 0, 200, 5_000]),
    calls_back: dice.chance(0.15),
    activation: dice.chance(0.15) ? dice.below(10) : null,
  }
}

/** Most often one of the newest, so that several steps are about the same. */
function drawSlot(dice: Dice): number {
  return dice.chance(0.6) ? dice.below(2) : dice.below(100)
}

/** Most turns are about one project: sessions and slots meet. */
function drawProject(dice: Dice): Project {
  return dice.pick([...projects, 'proj_demo', 'proj_demo', 'proj_strict'])
}

function consent(dice: Dice): Action {
  return {
    kind: 'consent',
    project: drawProject(dice),
    session: dice.below(3),
    decision: dice.pick(['granted', 'denied', 'withdrawn', 'personalized', 'personalized', 'basic']),
    expires_in_ms: dice.chance(0.2) ? dice.pick([minute, 10 * minute, hour]) : null,
    expects: dice.chance(0.7) ? null : dice.pick(['known', 'old']),
    rival: dice.chance(0.5) ? null : dice.pick(['consent', 'place']),
  }
}

function beacon(dice: Dice): Action {
  return {
    kind: 'beacon',
    slot: drawSlot(dice),
    event: dice.pick([
      'render',
      'render',
      'visible',
      'visible',
      'click',
      'heartbeat',
      'play_started',
      'play_completed',
    ]),
    occurred_in_ms: dice.chance(0.8) ? -dice.below(5_000) : dice.pick([-400_000, -minute, 30_000, 90_000]),
    isViewable: dice.chance(0.75),
    repeats: dice.chance(0.3) ? dice.below(20) : null,
    changes: dice.chance(0.85) ? 'nothing' : dice.pick(['event', 'token', 'project']),
    activation: dice.chance(0.2) ? dice.below(10) : null,
  }
}

function settings(dice: Dice): Action {
  return {
    kind: 'settings',
    project: drawProject(dice),
    latency_ms: dice.chance(0.7) ? dice.pick([0, 0, 30, 400, 3_000]) : null,
    rate: dice.chance(0.3) ? dice.pick(['2/s', '5/s', '1/min', '100/s']) : null,
  }
}

function fault(dice: Dice): Action {
  return {
    kind: 'fault',
    effect: dice.pick(['error', 'drop', 'reset', 'truncate', 'delay']),
    served: dice.chance(0.5),
    times: 1 + dice.below(3),
  }
}

function clock(dice: Dice): Action {
  const move = dice.pick(['advance', 'advance', 'advance', 'back', 'freeze', 'resume', 'resume', 'system'] as const)
  return {
    kind: 'clock',
    move,
    by_ms: dice.pick([1_000, 30_000, 4 * minute, 11 * minute, 31 * minute, 31 * minute, 24.5 * hour]),
  }
}

function commitFault(dice: Dice): Action {
  const kind = dice.pick(['full', 'full', 'crash_before', 'crash_after'] as const)
  return { kind: 'commit_fault', fault: { commit: 1 + dice.below(3), kind } }
}
