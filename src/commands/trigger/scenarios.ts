/** The scenarios of `svc trigger`: what an integration meets, as data and one function each. */
import { fillOf, playFill, seen, type Turn, type TurnFormat, viewed_ms } from './turn.ts'

export interface TriggerScenario {
  name: string
  /** What it plays and what comes of it, in a few words. */
  what: string
  /** The one format that it plays; null for any. */
  format: TurnFormat | null
  /** Whether it needs the control plane of a sandbox. */
  needsSandbox?: true
  play(turn: Turn, format: TurnFormat): Promise<void>
}

/** Longer ago than a beacon may have happened. */
const stale_ms = 600_000

export const triggerScenarios: readonly TriggerScenario[] = [
  whole('banner', 'a banner: frame, render, visible, click; it bills'),
  whole('clip', 'a clip: the same, with playback to its end; it bills'),
  whole('native', 'a native ad: the same; it bills'),
  {
    name: 'no_fill',
    what: 'a placement without an ad; the turn goes on',
    format: null,
    play: async (turn) => void (await turn.place(null, { body: { test_outcome: 'no_fill' }, expected: 'test_forced' })),
  },
  {
    name: 'pending',
    what: 'a job whose slot is polled until it is decided, then shown',
    format: null,
    async play(turn, format) {
      const { session_id } = turn
      const body = { client_id: turn.client_id, session_id, job_type: 'chat', overrides: { allowed_formats: [format] } }
      const job = await turn.call('jobs.create', { body })
      const slot_id = job.data?.slot_ids[0] ?? null
      turn.report('job', job, job.ok ? 'created' : job.reason, { expected: 'created', slot_id })
      if (slot_id === null) return
      const decided = await turn.call('decisions.get', { params: { slot_id }, query: { wait_ms: 5_000 } })
      const fill = decided.ok ? fillOf(decided.data) : null
      const result = decided.ok ? (fill === null ? decided.data.status : 'fill') : decided.reason
      turn.report('decision', decided, result, { expected: 'fill', slot_id, fill })
      if (fill !== null) await playFill(turn, fill)
    },
  },
  beacons(
    'consent_withdrawn',
    'consent is withdrawn while the ad is shown: its beacons are refused',
    async (turn, fill) => {
      await turn.beacon(fill, 'render', 0)
      const body = { client_id: turn.client_id, session_id: turn.session_id, decision: 'withdrawn' }
      const called = await turn.call('consent.set', { body })
      turn.report('withdraw', called, called.ok ? 'withdrawn' : called.reason, { expected: 'withdrawn', fill })
      await turn.beacon(fill, 'visible', viewed_ms, { measurements: seen(viewed_ms), expected: 'consent_not_granted' })
      await turn.frame(fill, 'consent_not_granted')
    },
  ),
  beacons('duplicate', 'a beacon is sent twice: the second is a duplicate', async (turn, fill) => {
    const same = { with: { beacon_id: `${fill.slot_id}:again` } }
    await turn.beacon(fill, 'render', 0, same)
    await turn.beacon(fill, 'render', 0, { ...same, expected: 'DUPLICATE' })
  }),
  beacons('too_short', 'seen for too short a time: it counts for nothing', async (turn, fill) => {
    await turn.beacon(fill, 'render', 0)
    await turn.beacon(fill, 'visible', 400, { measurements: seen(400), expected: 'BELOW_THRESHOLD' })
  }),
  beacons('hidden', 'seen in a tab that was hidden', async (turn, fill) => {
    await turn.beacon(fill, 'render', 0)
    const measurements = { ...seen(viewed_ms), page_visible: false }
    await turn.beacon(fill, 'visible', viewed_ms, { measurements, expected: 'PAGE_HIDDEN' })
  }),
  beacons('unmeasured', 'a visible beacon without measurements', async (turn, fill) => {
    await turn.beacon(fill, 'render', 0)
    await turn.beacon(fill, 'visible', viewed_ms, { expected: 'VISIBILITY_UNMEASURED' })
  }),
  beacons('unrendered', 'a visible beacon whose render beacon never came', (turn, fill) =>
    turn.beacon(fill, 'visible', viewed_ms, { measurements: seen(viewed_ms), expected: 'AWAITING_RENDER' }),
  ),
  {
    ...beacons('too_fast', 'a clip that completes sooner than it can play', async (turn, fill) => {
      const measurements = { position_ms: fill.duration_ms, duration_ms: fill.duration_ms }
      await turn.beacon(fill, 'render', 0)
      await turn.beacon(fill, 'play_started', 0)
      await turn.beacon(fill, 'play_completed', 1_000, { measurements, expected: 'COMPLETED_TOO_FAST' })
    }),
    format: 'clip',
  },
  beacons('stale', 'a beacon from ten minutes ago: refused', (turn, fill) =>
    turn.beacon(fill, 'render', -stale_ms, { expected: 'beacon_stale' }),
  ),
  beacons('rejected', 'a beacon with a field that there is not: refused', (turn, fill) =>
    turn.beacon(fill, 'render', 0, { with: { colour: 'red' }, expected: 'field_unknown' }),
  ),
  beacons('bad_token', 'a beacon of an asset token that is none: refused', (turn, fill) =>
    turn.beacon(fill, 'render', 0, { with: { asset_token: 'ast_nonsense' }, expected: 'asset_token_invalid' }),
  ),
  {
    name: 'fault',
    what: 'the first request meets a 503, the second is answered',
    format: null,
    needsSandbox: true,
    async play(turn, format) {
      const { session_id } = turn
      const body = { path: '/v1/placements', session_id, status: 503, times: 1 }
      const added = await turn.call('faults.add', { body })
      turn.report('fault', added, added.ok ? 'added' : added.reason, { expected: 'added' })
      try {
        await turn.place(format, { expected: 'injected_fault' })
      } finally {
        if (added.ok) await turn.call('faults.remove', { params: { fault_id: added.data.fault_id } })
      }
      const fill = await turn.place(format)
      if (fill !== null) await playFill(turn, fill)
    },
  },
]

function whole(name: TurnFormat, what: string): TriggerScenario {
  return {
    name,
    what,
    format: name,
    async play(turn) {
      const fill = await turn.place(name)
      if (fill !== null) await playFill(turn, fill)
    },
  }
}

/** A scenario about the beacons of a fill of which nothing is billed. */
function beacons(
  name: string,
  what: string,
  send: (turn: Turn, fill: NonNullable<Awaited<ReturnType<Turn['place']>>>) => Promise<void>,
): TriggerScenario {
  return {
    name,
    what,
    format: null,
    async play(turn, format) {
      const fill = await turn.place(format)
      if (fill === null) return
      await turn.frame(fill)
      await send(turn, fill)
      await turn.verdict(fill, 'bills nothing')
    },
  }
}
