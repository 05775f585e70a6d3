/** Draws the steps of a history, before it runs. */
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import type { Travel } from '../virtual/network.ts'
import {
  type Action,
  type Demand,
  demands,
  type Event,
  type History,
  type Project,
  projects,
  type Step,
  trespasses,
  views,
} from './steps.ts'

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
  [11, trespass],
  [3, burst],
  [3, socket],
  [2, follow],
  [5, settings],
  [2, fault],
  [1, () => ({ kind: 'clear_faults' })],
  [8, clock],
  [1, (dice) => ({ kind: 'computer_clock', by_ms: dice.pick([-hour, -5_000, -1, 1, 5_000, hour]) })],
  [3, (dice) => ({ kind: 'save', name: dice.below(2) })],
  [4, (dice) => ({ kind: 'restore', name: dice.below(2) })],
  [0.5, (dice) => ({ kind: 'forget', name: dice.below(2) })],
  [1, () => ({ kind: 'reset' })],
  [1, () => ({ kind: 'export' })],
  [1, (dice) => ({ kind: 'import', file: dice.below(3) })],
  [4, (dice) => ({ kind: 'idle', ms: dice.pick([1, 20, 100, 1_000, 5_000]) })],
  [2, () => ({ kind: 'crash' })],
  [1.5, (dice) => ({ kind: 'power_loss', isInCheckpoint: dice.chance(0.3) })],
  [1.5, () => ({ kind: 'checkpoint' })],
  [3, commitFault],
  [1, () => ({ kind: 'restart' })],
]
const total = table.reduce((sum, [weight]) => sum + weight, 0)

/** Steps of the shortest and the longest history. */
const [fewest, most] = [8, 36]

/** Returns the history of a seed. */
export function drawHistory(seed: number): History {
  const dice = createDice(seed)
  const isInMemory = dice.chance(0.08)
  const count = fewest + dice.below(most - fewest + 1)
  // Faults of a network belong to some histories: without them, more can be said of the responses.
  const isFaulty = dice.chance(0.5)
  const steps: Step[] = Array.from({ length: count }, () => {
    const action = drawAction(dice)
    const travel = drawTravel(dice, isFaulty)
    const turns = dice.chance(0.55) ? null : dice.below(12)
    return { ...action, seed: dice.below(0xffff_ffff), travel, turns }
  })
  return { steps, isInMemory }
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
    view: drawView(dice),
    isHasty: dice.chance(0.4),
    disturbed: dice.below(5),
  }
}

function drawView(dice: Dice) {
  return dice.chance(0.5) ? 'good' : dice.pick(views)
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
    demand: dice.chance(0.25) ? dice.pick(Object.keys(demands) as Demand[]) : null,
    session_cap: dice.chance(0.25) ? 1 + dice.below(2) : null,
    interval: dice.chance(0.08) ? 1 + dice.below(3) : null,
    rivals: dice.chance(0.3) ? 1 + dice.below(2) : 0,
    isLate: dice.chance(0.15),
    wait_ms: dice.pick([0, 0, 200, 5_000, 60_000]),
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
    rival: dice.chance(0.4) ? null : dice.pick(['consent', 'place', 'beacon']),
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
    occurred_in_ms: dice.chance(0.7) ? -dice.below(5_000) : dice.pick([-400_000, -400_000, -minute, 30_000, 90_000]),
    view: drawView(dice),
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
    rate: dice.chance(0.2) ? dice.pick(['2/s', '5/s', '1/min', '100/s']) : null,
    view_ms: dice.chance(0.4) ? dice.pick([500, 1_000, 5_000]) : null,
    hasRival: dice.chance(0.4),
  }
}

function trespass(dice: Dice): Action {
  return {
    kind: 'trespass',
    way: dice.pick(trespasses),
    project: drawProject(dice),
    session: dice.below(3),
    isAtOnce: dice.chance(0.5),
  }
}

function burst(dice: Dice): Action {
  return {
    kind: 'burst',
    project: dice.pick(projects),
    count: 2 + dice.below(12),
    rate: dice.chance(0.5) ? dice.pick(['1/s', '2/s', '5/s']) : null,
  }
}

function follow(dice: Dice): Action {
  return {
    kind: 'follow',
    from: dice.pick([0, 0.5, 1]),
    type: dice.pick(['beacon.*', 'placement.decided', null] as const),
    stays_ms: dice.pick([50, 500, 5_000]),
  }
}

function socket(dice: Dice): Action {
  return { kind: 'socket', slot: dice.below(3), leaves_ms: dice.chance(0.3) ? dice.below(500) : null }
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
