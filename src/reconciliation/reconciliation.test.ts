import { describe, expect, test } from 'vitest'
import type { Metric } from '#contract/resources/beacons.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { parseColumnMap } from './columns.ts'
import { countByDay } from './days.ts'
import { parseOwnFile } from './own-file.ts'
import { type Reconciliation, readOwnReport, reconcile } from './reconciliation.ts'
import type { Turn, TurnBeacon } from './turns.ts'

const noon = Date.UTC(2026, 0, 10, 12)
const hour = 3_600_000
const everything = { mode: 'all', since_ms: null, until_ms: null } as const

const metricEvents = {
  rendered_impression: 'render',
  viewable_impression: 'visible',
  click: 'click',
  completed_view: 'completion',
} as const satisfies Record<Metric, TurnBeacon['event']>

/** A beacon of a metric: one that counts, unless its reason says otherwise. */
function beacon(
  metric: Metric,
  reason_code: TurnBeacon['reason_code'] = 'OK',
  more: Partial<TurnBeacon> = {},
): TurnBeacon {
  const isRefused =
    reason_code.startsWith('beacon_') || reason_code.includes('asset_token') || reason_code.includes('consent')
  return {
    event: metricEvents[metric],
    verdict: reason_code === 'DUPLICATE' ? 'duplicate' : isRefused ? 'rejected' : 'accepted',
    reason_code,
    metric: reason_code === 'OK' ? metric : null,
    occurred_at_ms: noon + 2_000,
    received_at_ms: noon + 2_000,
    ...more,
  }
}

/** A fill that was rendered and viewed at noon. */
function turn(slot_id: string, more: Partial<Turn> = {}): Turn {
  return {
    slot_id,
    session_id: 's1',
    mode: 'test',
    fill: true,
    no_fill_reason: null,
    created_at_ms: noon,
    decided_at_ms: noon,
    is_framed: true,
    beacons: [
      beacon('rendered_impression', 'OK', { occurred_at_ms: noon, received_at_ms: noon }),
      beacon('viewable_impression'),
    ],
    ...more,
  }
}

function compare(
  text: string,
  turns: readonly Turn[],
  scope: Partial<Parameters<typeof reconcile>[2]> = {},
): Reconciliation {
  const { counts } = readOwnReport(parseOwnFile(text), parseColumnMap([]))!
  const result = reconcile(counts, turns, { ...everything, ...scope }, 0)
  for (const { metric, difference } of result.totals) {
    const sum = (parts: readonly { metric: Metric; difference: number }[]) =>
      parts.filter((part) => part.metric === metric).reduce((total, part) => total + part.difference, 0)
    expect([sum(result.causes), sum(result.differences)], metric).toEqual([difference, difference])
  }
  return result
}

const csv = (head: string, ...rows: string[]) => [head, ...rows, ''].join('\n')

function explained({ differences }: Reconciliation) {
  return differences.map(({ slot_id, session_id, day, metric, difference, cause, reason_code }) => [
    slot_id ?? day ?? session_id,
    metric,
    difference,
    reason_code === null ? cause : `${cause} ${reason_code}`,
  ])
}

/** The cause of a view that the file counts and the sandbox does not. */
function causeOfView(more: Partial<Turn>, own = 'slot,views\na,1\n'): string {
  const { differences } = compare(own, [turn('a', more)])
  expect(differences).toHaveLength(1)
  const { cause, reason_code } = differences[0]!
  return reason_code === null ? cause : `${cause} ${reason_code}`
}

test('equal counts have no difference', () => {
  const result = compare(csv('slot,impressions,views', 'a,1,1', 'b,1,0'), [
    turn('a'),
    turn('b', { beacons: [beacon('rendered_impression')] }),
  ])
  expect(result).toMatchObject({ ok: true, causes: [], differences: [] })
  expect(result.totals).toEqual([
    {
      metric: 'rendered_impression',
      own: 2,
      accepted: 2,
      difference: 0,
      percent: 0,
      deviation_percent: 0,
      is_within: true,
    },
    {
      metric: 'viewable_impression',
      own: 1,
      accepted: 1,
      difference: 0,
      percent: 0,
      deviation_percent: 0,
      is_within: true,
    },
  ])
})

describe('a turn that only the file counts', () => {
  const rendered = beacon('rendered_impression')

  test('was never requested, had no ad, or is not decided', () => {
    expect(explained(compare('slot,views\nb,1\n', []))).toEqual([['b', 'viewable_impression', 1, 'never_requested']])
    expect(causeOfView({ fill: false, no_fill_reason: 'no_demand', beacons: [] })).toBe('no_fill_counted no_demand')
    expect(causeOfView({ fill: null, decided_at_ms: null, beacons: [] })).toBe('not_decided')
  })

  test('was not shown, or sent nothing', () => {
    expect(causeOfView({ is_framed: false, beacons: [] })).toBe('frame_not_loaded')
    expect(causeOfView({ beacons: [] })).toBe('beacon_never_sent')
  })

  test('was counted when it began to render, or below the threshold', () => {
    expect(causeOfView({ beacons: [rendered] })).toBe('counting_method')
    expect(causeOfView({ beacons: [rendered, beacon('viewable_impression', 'BELOW_THRESHOLD')] })).toBe(
      'counting_method BELOW_THRESHOLD',
    )
  })

  test('was viewed long after its render, by the time of the file: its beacon was lost', () => {
    const at = (ms: number) => `slot,event,time\na,view,${noon + 2_000 + ms}\n`
    expect(causeOfView({ beacons: [rendered] }, at(10))).toBe('counting_method')
    expect(causeOfView({ beacons: [rendered] }, at(1_500))).toBe('beacon_never_sent')
  })

  test('has a beacon that does not count, or waits for its render', () => {
    expect(causeOfView({ beacons: [rendered, beacon('viewable_impression', 'VISIBILITY_UNMEASURED')] })).toBe(
      'does_not_count VISIBILITY_UNMEASURED',
    )
    const waiting = beacon('viewable_impression', 'AWAITING_RENDER')
    expect(causeOfView({ beacons: [waiting] })).toBe('beacon_never_sent AWAITING_RENDER')
    const refused = beacon('rendered_impression', 'consent_superseded')
    expect(causeOfView({ beacons: [refused, waiting] })).toBe('beacon_refused consent_superseded')
  })

  test('has a beacon that was refused: late, early, after expiry, by a wrong clock', () => {
    const refused = (reason: TurnBeacon['reason_code'], occurred_at_ms: number) =>
      causeOfView({
        created_at_ms: noon - 5_000,
        beacons: [rendered, beacon('viewable_impression', reason, { occurred_at_ms })],
      })
    expect(refused('beacon_stale', noon + 1_000)).toBe('late beacon_stale')
    expect(refused('beacon_stale', noon - 10 * 60_000)).toBe('clock_skew beacon_stale')
    expect(refused('beacon_before_decision', noon - 3_000)).toBe('early beacon_before_decision')
    expect(refused('beacon_before_decision', noon - 60_000)).toBe('clock_skew beacon_before_decision')
    expect(refused('beacon_in_future', noon + 120_000)).toBe('clock_skew beacon_in_future')
    expect(refused('asset_token_expired', noon)).toBe('after_expiry asset_token_expired')
    expect(refused('consent_not_granted', noon)).toBe('beacon_refused consent_not_granted')
  })

  test('was counted before its decision or after it expired, by the time of the file', () => {
    const at = (ms: number) => `slot,event,time\na,render,${noon + ms}\n`
    expect(causeOfView({ is_framed: false, beacons: [] }, at(-5_000))).toBe('early')
    expect(causeOfView({ is_framed: false, beacons: [] }, at(700_000))).toBe('after_expiry')
    expect(causeOfView({ is_framed: false, beacons: [] }, at(60_000))).toBe('frame_not_loaded')
  })

  test('is completed sooner than it can play', () => {
    const beacons = [rendered, beacon('completed_view', 'COMPLETED_TOO_FAST')]
    expect(causeOfView({ beacons }, 'slot,completes\na,1\n')).toBe('early COMPLETED_TOO_FAST')
  })

  test('is test traffic where live traffic is compared', () => {
    const result = compare('slot,views\na,1\nb,1\n', [turn('a'), turn('b', { mode: 'live' })], { mode: 'live' })
    expect(explained(result)).toEqual([['a', 'viewable_impression', 1, 'test_traffic']])
  })
})

test('a turn that is counted twice is doubled, whether its beacon came twice or not', () => {
  const repeated = turn('b', { beacons: [...turn('b').beacons, beacon('viewable_impression', 'DUPLICATE')] })
  expect(explained(compare('slot,views\na,2\nb,1\nb,1\n', [turn('a'), repeated]))).toEqual([
    ['a', 'viewable_impression', 1, 'doubled'],
    ['b', 'viewable_impression', 1, 'doubled DUPLICATE'],
  ])
})

test('a turn that only the sandbox counts is missing in the file, or counted by a stricter method', () => {
  const result = compare('slot,impressions,views\na,1,0\n', [turn('a'), turn('b')])
  expect(explained(result)).toEqual([
    ['a', 'viewable_impression', -1, 'counting_method'],
    ['b', 'rendered_impression', -1, 'not_recorded'],
    ['b', 'viewable_impression', -1, 'not_recorded'],
  ])
})

test('too many and too few do not cancel out', () => {
  const result = compare('slot,views\na,2\n', [turn('a'), turn('b')])
  expect(result.totals).toMatchObject([{ difference: 0, percent: 0, deviation_percent: 100, is_within: false }])
  expect(result.ok).toBe(false)
})

describe('a span', () => {
  const span = { since_ms: noon - hour, until_ms: noon + hour }
  const at = (slot: string, ms: number) => {
    const times = { occurred_at_ms: noon + ms, received_at_ms: noon + ms }
    return turn(slot, {
      created_at_ms: noon + ms,
      decided_at_ms: noon + ms,
      beacons: [beacon('rendered_impression', 'OK', times)],
    })
  }
  const row = (slot: string, ms: number) => `${slot},render,${new Date(noon + ms).toISOString()}`

  test('leaves out rows and turns outside, and rows without a time by the time of their turn', () => {
    const turns = [at('a', 0), at('b', 2 * hour)]
    for (const text of [
      csv('slot,event,time', row('a', 0), row('b', 2 * hour)),
      csv('slot,impressions', 'a,1', 'b,1'),
    ]) {
      expect(compare(text, turns, span)).toMatchObject({ ok: true, rows_outside: 1, totals: [{ own: 1, accepted: 1 }] })
    }
  })

  test('shows another time zone at its ends, and a wrong clock', () => {
    const times = [-90, -30, -10, 30, 90].map((minutes) => minutes * 60_000)
    const turns = times.map((ms, index) => at(`t${index}`, ms))
    const shifted = (offset: number) =>
      compare(csv('slot,event,time', ...times.map((ms, index) => row(`t${index}`, ms + offset))), turns, span)
    expect(explained(shifted(0))).toEqual([])
    const zone = shifted(hour)
    expect(explained(zone)).toEqual([
      ['t0', 'rendered_impression', 1, 'time_zone'],
      ['t3', 'rendered_impression', -1, 'time_zone'],
    ])
    expect(zone.clock_offset_ms).toBe(hour)
    expect(explained(shifted(-37 * 60_000))).toEqual([
      ['t1', 'rendered_impression', -1, 'clock_skew'],
      ['t4', 'rendered_impression', 1, 'clock_skew'],
    ])
  })
})

describe('sums of sessions', () => {
  const rendered = beacon('rendered_impression')
  const turns = [
    turn('a', { session_id: 's1' }),
    turn('b', { session_id: 's1', beacons: [rendered] }),
    turn('c', { session_id: 's1', fill: false, no_fill_reason: 'no_demand', beacons: [] }),
    turn('d', { session_id: 's2', fill: false, no_fill_reason: 'no_demand', beacons: [] }),
    turn('e', { session_id: 's2' }),
  ]

  test('are explained by the turns that do not count for one reason, the same in all sessions if it can be', () => {
    expect(explained(compare(csv('session,views', 's1,2', 's2,2'), turns))).toEqual([
      ['c', 'viewable_impression', 1, 'no_fill_counted no_demand'],
      ['d', 'viewable_impression', 1, 'no_fill_counted no_demand'],
    ])
    expect(explained(compare(csv('session,views', 's1,2', 's2,1'), turns)).map(([, , , cause]) => cause)).toEqual([
      'counting_method',
    ])
    expect(explained(compare(csv('session,views', 's1,3', 's2,0', 's3,4'), turns))).toEqual([
      ['b', 'viewable_impression', 1, 'counting_method'],
      ['c', 'viewable_impression', 1, 'no_fill_counted no_demand'],
      ['s2', 'viewable_impression', -1, 'not_recorded'],
      ['s3', 'viewable_impression', 4, 'never_requested'],
    ])
  })

  test('that nothing explains say so', () => {
    const result = compare(csv('session,views', 's1,1', 's2,9'), turns)
    expect(explained(result)).toEqual([
      ['d', 'viewable_impression', 1, 'no_fill_counted no_demand'],
      ['s2', 'viewable_impression', 7, 'unexplained'],
    ])
  })
})

describe('sums of days', () => {
  /** Views of eleven days, another number each hour. */
  const dice = createDice(5)
  const turns = Array.from({ length: 11 * 24 }, (_, index) => index).flatMap((index) => {
    const received_at_ms = Date.UTC(2026, 0, 1) + index * hour + dice.below(hour)
    const views = dice.below(12)
    return Array.from({ length: views }, (_, view) =>
      turn(`${index}-${view}`, {
        created_at_ms: received_at_ms - 5_000,
        decided_at_ms: received_at_ms - 5_000,
        beacons: [beacon('viewable_impression', 'OK', { received_at_ms, occurred_at_ms: received_at_ms })],
      }),
    )
  })
  /** What a report in a time zone says of all days but the first and the last. */
  function report(offset_ms: number, change: (day: string, views: number) => number = (_, views) => views): string {
    const days = Map.groupBy(turns, ({ beacons }) =>
      new Date(beacons[0]!.received_at_ms + offset_ms).toISOString().slice(0, 10),
    )
    const rows = [...days].filter(([day]) => day >= '2026-01-02' && day <= '2026-01-10')
    return csv('day,views', ...rows.map(([day, found]) => `${day},${change(day, found.length)}`))
  }

  test('in UTC have no difference', () => {
    expect(compare(report(0), turns)).toMatchObject({ ok: true, day_shift_ms: 0, differences: [] })
  })

  test('are shown by day: counted by both, by one alone', () => {
    const { counts } = readOwnReport(parseOwnFile(csv('slot,views', 'a,2', 'b,1', 'x,1')), new Map())!
    const at = (slot: string, day: number, more: Partial<Turn> = {}) => {
      const received_at_ms = Date.UTC(2026, 0, day, 12)
      const views = [beacon('viewable_impression', 'OK', { received_at_ms })]
      return turn(slot, { created_at_ms: received_at_ms, beacons: views, ...more })
    }
    const found = [at('a', 10), at('b', 11, { beacons: [] }), at('c', 11), at('d', 13)]
    const days = countByDay(reconcile(counts, found, everything, 0), found, counts, 'viewable_impression')
    const shown = days.map(({ start_ms, both, own_only, accepted_only }) => [
      new Date(start_ms).toISOString().slice(8, 10),
      ...[both, own_only, accepted_only],
    ])
    expect(shown).toEqual([
      ...['07', '08', '09'].map((day) => [day, 0, 0, 0]),
      ['10', 1, 1, 0],
      ['11', 0, 1, 1],
      ['12', 0, 0, 0],
      ['13', 0, 0, 1],
    ])
  })

  test.each([-8, -3, 1, 2, 5.5, 9, 12])('in a zone of %d hours are shifted, not missing', (hours) => {
    const result = compare(report(hours * hour), turns)
    expect(result).toMatchObject({ ok: false, day_shift_ms: hours * hour })
    expect(new Set(result.differences.map(({ cause }) => cause))).toEqual(new Set(['time_zone']))
    expect(result.causes).toHaveLength(1)
  })

  test('of a shifted report name what is missing beside the shift', () => {
    const result = compare(
      report(2 * hour, (day, views) => (day === '2026-01-05' ? views - 3 : views)),
      turns,
    )
    expect(result.day_shift_ms).toBe(2 * hour)
    expect(explained(result).filter(([, , , cause]) => cause !== 'time_zone')).toEqual([
      ['2026-01-05', 'viewable_impression', -3, 'not_recorded'],
    ])
  })

  test('that lose a few views everywhere are not shifted', () => {
    const result = compare(
      report(0, (_, views) => views - 2),
      turns,
    )
    expect(result).toMatchObject({ day_shift_ms: 0, causes: [{ cause: 'not_recorded', difference: -18 }] })
  })
})
