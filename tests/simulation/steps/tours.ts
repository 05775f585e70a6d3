/**
 * Histories that do everything once, on a quiet network: requests that must be refused, every kind of view, every reason for
 * no fill, caps, consent that changes and expires, expiry, rates, and ends of the process. They are not drawn: a fault of a
 * rule is noticed at once, and a seed is left for those that need a rare schedule.
 */
import { atOnce } from '../virtual/network.ts'
import { type Action, demands, type History, type Step, trespasses, views } from './steps.ts'

type Of<Kind extends Action['kind']> = Extract<Action, { kind: Kind }>

const minute = 60_000

/** Ends a session's decisions, its consent and its tokens. */
const later = (by_ms: number): Of<'clock'> => ({ kind: 'clock', move: 'advance', by_ms })

const place = (terms: Partial<Of<'place'>>): Of<'place'> => ({
  ...{
    kind: 'place',
    project: 'proj_demo',
    session: 0,
    format: 'banner',
    consent: null,
    slots: 1,
    forcesNoFill: false,
  },
  ...{ demand: null, session_cap: null, interval: null, rivals: 0, isLate: false, wait_ms: 5_000, calls_back: false },
  ...{ activation: null, ...terms },
})

const turn = (terms: Partial<Of<'turn'>> = {}): Of<'turn'> => ({
  ...{ kind: 'turn', project: 'proj_demo', session: 1, format: 'banner', consent: true, events: ['render', 'visible'] },
  ...{ view: 'good', isHasty: false, disturbed: 9, ...terms },
})

const consent = (terms: Partial<Of<'consent'>>): Of<'consent'> => ({
  ...{
    kind: 'consent',
    project: 'proj_demo',
    session: 0,
    decision: 'personalized',
    expires_in_ms: null,
    expects: null,
  },
  ...{ rival: null, ...terms },
})

const beacon = (terms: Partial<Of<'beacon'>> = {}): Of<'beacon'> => ({
  ...{
    kind: 'beacon',
    slot: 0,
    event: 'heartbeat',
    occurred_in_ms: 0,
    view: 'good',
    repeats: null,
    changes: 'nothing',
  },
  ...{ activation: null, ...terms },
})

const settings = (terms: Partial<Of<'settings'>>): Of<'settings'> => ({
  ...{ kind: 'settings', project: 'proj_demo', latency_ms: null, rate: null, view_ms: null, hasRival: false, ...terms },
})

const full = (commit: number): Of<'commit_fault'> => ({ kind: 'commit_fault', fault: { commit, kind: 'full' } })

const actions: Readonly<Record<string, readonly Action[]>> = {
  trespasses: trespasses.map((way) => ({ kind: 'trespass', way, project: 'proj_demo', session: 0, isAtOnce: false })),
  'two origins at once': Array.from({ length: 4 }, () => ({
    ...{ kind: 'trespass', way: 'beacon_token_from_two_origins', project: 'proj_demo', session: 0, isAtOnce: true },
  })),
  decisions: [
    ...(Object.keys(demands) as (keyof typeof demands)[]).map((demand) => place({ demand, consent: true })),
    ...[
      place({ forcesNoFill: true }),
      place({ wait_ms: 60_000 }),
      place({ format: 'clip' }),
      place({ format: 'native' }),
    ],
    ...[place({ session: 1, session_cap: 1 }), place({ session: 1, session_cap: 1 })],
    place({ session: 2, session_cap: 1, rivals: 2, isLate: true }),
    ...[settings({ latency_ms: 0 }), place({ session: 2, project: 'proj_other', session_cap: 1, rivals: 2 })],
    ...[place({ session: 1, project: 'proj_other', interval: 2, rivals: 1 })],
    ...[place({ session: 1, project: 'proj_other', interval: 2 }), place({ project: 'proj_strict' })],
  ],
  verdicts: [
    ...views.map((view) => turn({ view })),
    ...[turn({ format: 'clip', events: ['render', 'play_completed'] }), turn({ events: ['render', 'play_completed'] })],
    ...[turn({ events: ['render', 'visible', 'visible', 'render'] }), turn({ events: ['visible', 'click'] })],
    turn(),
    beacon({ event: 'click' }),
    settings({ view_ms: 5_000, hasRival: true }),
    ...Array.from({ length: 5 }, () => settings({ hasRival: true })),
    ...[turn({ format: 'clip', events: ['render'] }), beacon({ event: 'play_completed' })],
    ...[beacon({ repeats: 0 }), beacon({ repeats: 0 }), beacon({ repeats: 1, changes: 'event' })],
    ...[beacon({ changes: 'token' }), beacon({ changes: 'project' })],
    ...[beacon({ occurred_in_ms: 90_000 }), beacon({ occurred_in_ms: -400_000 })],
    ...[later(6 * minute), beacon({ occurred_in_ms: -310_000 })],
  ],
  consents: [
    ...[turn({ session: 0 }), consent({ decision: 'withdrawn' }), beacon(), turn({ session: 0, consent: null })],
    ...[consent({ expires_in_ms: 10 * minute }), turn({ session: 0, consent: null }), consent({ expects: 'old' })],
    ...[later(11 * minute), beacon(), turn({ session: 0, consent: null })],
    ...[
      consent({}),
      turn({ session: 0, consent: null }),
      consent({ expires_in_ms: minute }),
      later(2 * minute),
      beacon(),
    ],
    ...[consent({}), turn({ session: 0, consent: null }), consent({ decision: 'basic' }), beacon()],
    ...[turn({ session: 0, consent: null }), later(36 * minute), beacon()],
  ],
  'consents at once': [0, 1, 2].flatMap((session) => [
    ...[
      consent({ session, rival: 'consent' }),
      turn({ session }),
      consent({ session, rival: 'place', decision: 'denied' }),
    ],
    ...[turn({ session }), consent({ session, rival: 'beacon', decision: 'denied' })],
    ...[turn({ session }), consent({ session, rival: 'beacon', decision: 'withdrawn' })],
  ]),
  rates: [
    { kind: 'burst', project: 'proj_other', count: 12, rate: '2/s' },
    { kind: 'burst', project: 'proj_demo', count: 12, rate: '1/s' },
  ],
  states: [
    ...[
      turn(),
      { kind: 'save', name: 0 } as const,
      turn({ session: 0 }),
      consent({}),
      { kind: 'restore', name: 0 } as const,
    ],
    ...[consent({ decision: 'denied' }), turn(), { kind: 'export' } as const, { kind: 'reset' } as const, turn()],
    ...[{ kind: 'import', file: 0 } as const, beacon(), turn({ session: 0 })],
  ],
  'full disk': [1, 2, 3].flatMap((commit) => [
    ...[turn(), full(commit), turn({ isHasty: true }), full(1), consent({ session: 1 }), turn(), full(1), beacon()],
  ]),
  ends: [
    ...[
      settings({ latency_ms: 3_000 }),
      place({ wait_ms: 0 }),
      { kind: 'crash' } as const,
      { kind: 'idle', ms: 5_000 } as const,
    ],
    ...[settings({ latency_ms: 0 }), turn(), { kind: 'checkpoint' } as const, turn()],
    ...[{ kind: 'power_loss', isInCheckpoint: false } as const, { kind: 'idle', ms: 100 } as const, turn()],
    ...[{ kind: 'restart' } as const, turn(), { kind: 'power_loss', isInCheckpoint: true } as const, turn()],
  ],
}

/** The tours by name, each with the dice that its steps have. */
export const tours: readonly ({ name: string; seed: number } & History)[] = Object.entries(actions).map(
  ([name, all], tour) => ({
    ...{ name, seed: tour + 1, isInMemory: false },
    steps: all.map(
      (action, index): Step => ({ ...action, seed: 1_000 * (tour + 1) + index, travel: atOnce, turns: null }),
    ),
  }),
)
