/** The scenarios of `svc trigger`: situations that an integration meets, as data with one function each. */

import { type Format, readFormat } from '#contract/facts/formats.ts'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import { type Fill, playFill, readFill, seen, type Turn, viewedMs } from './turn.ts'

export interface TriggerScenario {
  name: string
  /** A summary of its steps and result, in a few words. */
  what: string
  /** The one format that it plays; null for any. */
  format: Format | null
  /** Whether it needs the control plane of a sandbox. */
  needsSandbox?: true
  play(turn: Turn, format: Format): Promise<void>
}

/** Further in the past than a beacon may be, and further ahead. */
const staleMs = 600_000
/** Reports an ad as drawn and, a clip, as playing. */
async function show(turn: Turn, fill: Fill): Promise<void> {
  await turn.beacon(fill, 'render', 0)
  if (readFormat(fill.format).plays) await turn.beacon(fill, 'play_started', 0)
}

/** The shortest time limit for loading the frame of a fill. */
const shortestMs = 1

export const triggerScenarios: readonly TriggerScenario[] = [
  whole('banner', 'a banner, viewed and clicked: billable'),
  whole('clip', 'a clip, played to its end and clicked: billable'),
  whole('native', 'a native ad, viewed and clicked: billable'),
  {
    name: 'no_fill',
    what: 'a no-fill, forced by test_outcome',
    format: null,
    play: async (turn) => void (await turn.place(null, { body: { test_outcome: 'no_fill' }, expected: 'test_forced' })),
  },
  noFill('below_floor', 'no offer reaches the floor: a no-fill', 'below_floor', { overrides: { bidfloor: 1_000 } }),
  noFill('too_small', 'no creative fits the slot: a no-fill', 'size_mismatch', {
    slot_hint: { max_width: 20, max_height: 20 },
  }),
  noFill('consent_denied', 'the user has denied consent: a no-fill', 'consent_not_granted', {
    consent: undefined,
    isDenied: true,
  }),
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
      const fill = decided.ok ? readFill(decided.data) : null
      const result = decided.ok ? (fill === null ? decided.data.status : 'fill') : decided.reason
      turn.report('decision', decided, result, { expected: 'fill', slot_id, fill })
      if (fill !== null) await playFill(turn, fill)
    },
  },
  beacons(
    'consent_withdrawn',
    'consent is withdrawn while the ad is shown: its beacons are refused',
    async (turn, fill) => {
      await show(turn, fill)
      const body = { client_id: turn.client_id, session_id: turn.session_id, decision: 'withdrawn' }
      const called = await turn.call('consent.set', { body })
      turn.report('withdraw', called, called.ok ? 'withdrawn' : called.reason, { expected: 'withdrawn', fill })
      await turn.beacon(fill, 'visible', viewedMs, { measurements: seen(viewedMs), expected: 'consent_not_granted' })
      await turn.frame(fill, 'consent_not_granted')
    },
  ),
  beacons('consent_revised', 'consent changes while the ad is shown: its beacons are refused', async (turn, fill) => {
    await show(turn, fill)
    const purposes = { semantic_targeting: false, prompt_shared: true }
    const body = { client_id: turn.client_id, session_id: turn.session_id, decision: 'granted', purposes }
    const called = await turn.call('consent.set', { body })
    turn.report('revise', called, called.ok ? 'revised' : called.reason, { expected: 'revised', fill })
    await turn.beacon(fill, 'visible', viewedMs, { measurements: seen(viewedMs), expected: 'consent_superseded' })
  }),
  beacons('duplicate', 'a beacon is sent twice: the second is a duplicate', async (turn, fill) => {
    const same = { with: { beacon_id: `${fill.slot_id}:again` } }
    await turn.beacon(fill, 'render', 0, same)
    await turn.beacon(fill, 'render', 0, { ...same, expected: 'DUPLICATE' })
  }),
  beacons('too_short', 'an ad viewed too briefly: not billable', async (turn, fill) => {
    await show(turn, fill)
    await turn.beacon(fill, 'visible', 400, { measurements: seen(400), expected: 'BELOW_THRESHOLD' })
  }),
  beacons('hidden', 'an ad shown in a hidden tab: not billable', async (turn, fill) => {
    await show(turn, fill)
    const measurements = { ...seen(viewedMs), page_visible: false }
    await turn.beacon(fill, 'visible', viewedMs, { measurements, expected: 'PAGE_HIDDEN' })
  }),
  beacons('unmeasured', 'a visible beacon without measurements: not billable', async (turn, fill) => {
    await show(turn, fill)
    await turn.beacon(fill, 'visible', viewedMs, { expected: 'VISIBILITY_UNMEASURED' })
  }),
  beacons('unrendered', 'a visible beacon without its render: not billable', (turn, fill) =>
    turn.beacon(fill, 'visible', viewedMs, { measurements: seen(viewedMs), expected: 'AWAITING_RENDER' }),
  ),
  {
    ...beacons('too_fast', 'a clip that ends sooner than it can play: not billable', async (turn, fill) => {
      const measurements = { position_ms: fill.duration_ms, duration_ms: fill.duration_ms }
      await turn.beacon(fill, 'render', 0)
      await turn.beacon(fill, 'play_started', 0)
      await turn.beacon(fill, 'play_completed', 1_000, { measurements, expected: 'COMPLETED_TOO_FAST' })
    }),
    format: 'clip',
  },
  refused('stale', 'a beacon from ten minutes ago', 'beacon_stale', { after_ms: -staleMs }),
  refused('future', 'a beacon from ten minutes ahead', 'beacon_in_future', {
    after_ms: staleMs,
  }),
  refused('rejected', 'a beacon with an unknown field', 'field_unknown', { with: { colour: 'red' } }),
  refused('bad_token', 'a beacon with a wrong asset token', 'asset_token_invalid', {
    with: { asset_token: 'ast_nonsense' },
  }),
  refused('wrong_slot', 'a beacon that names another slot', 'slot_mismatch', { with: { slot_id: 'slot_00000000000' } }),
  refused('wrong_event', 'an event that the format does not have', 'event_not_supported_for_format', {
    event: (format) => (readFormat(format).plays ? null : 'play_started'),
  }),
  beacons('conflict', 'a beacon_id reused for another beacon: refused', async (turn, fill) => {
    const same = { with: { beacon_id: `${fill.slot_id}:same` } }
    await turn.beacon(fill, 'render', 0, same)
    await turn.beacon(fill, 'click', 500, { ...same, expected: 'beacon_id_conflict' })
  }),
  {
    name: 'expired',
    what: 'an ad whose frame is loaded too late: refused',
    format: null,
    needsSandbox: true,
    async play(turn, format) {
      const params = { client_id: turn.client_id ?? '' }
      const before = await turn.call('projects.show', { params })
      const setLimit = async (frame_load_within_ms: number) => {
        const called = await turn.call('projects.update', { params, body: { frame_load_within_ms } })
        turn.report('time limit', called, called.ok ? 'set' : called.reason, { expected: 'set' })
      }
      try {
        await setLimit(shortestMs)
        const fill = await turn.place(format)
        if (fill === null) return
        const by_ms = 2 * shortestMs
        const moved = await turn.call('clock.advance', { body: { by_ms } })
        turn.report('clock', moved, moved.ok ? `${by_ms} ms on` : moved.reason, { expected: `${by_ms} ms on`, fill })
        await turn.frame(fill, 'asset_token_expired')
      } finally {
        if (before.ok) await setLimit(before.data.settings.frame_load_within_ms)
      }
    },
  },
  fault('fault', 503, 'injected_fault', 'the first request gets a 503, the second a fill'),
  fault('rate_limited', 429, 'rate_limited', 'the first request gets a 429 with Retry-After, the second a fill'),
]

function whole(name: Format, what: string): TriggerScenario {
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

/** A scenario whose first request meets a fault rule of this session only. */
function fault(name: string, status: number, expected: string, what: string): TriggerScenario {
  return {
    name,
    what,
    format: null,
    needsSandbox: true,
    async play(turn, format) {
      const body = { path: '/v1/placements', session_id: turn.session_id, status, times: 1 }
      const added = await turn.call('faults.add', { body })
      turn.report('fault', added, added.ok ? 'added' : added.reason, { expected: 'added' })
      try {
        await turn.place(format, { expected })
      } finally {
        if (added.ok) await turn.call('faults.remove', { params: { fault_id: added.data.fault_id } })
      }
      const fill = await turn.place(format)
      if (fill !== null) await playFill(turn, fill)
    },
  }
}

/** A scenario about one beacon that is refused. */
function refused(
  name: string,
  what: string,
  expected: string,
  sent: { after_ms?: number; with?: object; event?: (format: Format) => BeaconEvent | null },
): TriggerScenario {
  return beacons(name, `${what}: refused`, async (turn, fill) => {
    const event = sent.event === undefined ? 'render' : sent.event(fill.format)
    // A clip has every event.
    if (event !== null) await turn.beacon(fill, event, sent.after_ms ?? 0, { expected, with: sent.with ?? {} })
  })
}

/** A placement without an ad, because of the request itself. */
function noFill(
  name: string,
  what: string,
  expected: string,
  { isDenied = false, ...body }: { isDenied?: boolean; overrides?: object; [field: string]: unknown },
): TriggerScenario {
  return {
    name,
    what,
    format: null,
    async play(turn, format) {
      if (isDenied) {
        const denial = { client_id: turn.client_id, session_id: turn.session_id, decision: 'denied' }
        const called = await turn.call('consent.set', { body: denial })
        turn.report('deny', called, called.ok ? 'denied' : called.reason, { expected: 'denied' })
      }
      await turn.place(format, {
        body: { ...body, overrides: { allowed_formats: [format], ...body.overrides } },
        expected,
      })
    },
  }
}

/** A scenario about the beacons of a fill that is not billed. */
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
