import { describe, expect, test } from 'vitest'
import { acceptMeanings } from '#contract/error-codes.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { type Cause, causes, describeCause, describeChange } from './causes.ts'
import type { DayOrder } from './cells/calendar.ts'
import { refuseFarDays } from './compared-span.ts'
import { countByDay } from './days.ts'
import { parseOwnFile } from './own-file.ts'
import { readOwnReport } from './own-report.ts'
import {
  defaultMode,
  describeClocks,
  describeMissing,
  describeModes,
  describeNothing,
  explainedText,
  listCauses,
  nameCause,
  type Reconciliation,
  reconcile,
} from './reconciliation.ts'
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
    slot_id: `slot_${slot_id}`,
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

/** Reads a file; in one of slots each row begins with what follows `slot_`. */
function readCounts(text: string) {
  const whole = text.startsWith('slot,') ? text.replace(/\n(?=.)/g, '\nslot_') : text
  return readOwnReport(parseOwnFile(whole))!.counts
}

function compare(
  text: string,
  turns: readonly Turn[],
  scope: Partial<Parameters<typeof reconcile>[2]> = {},
): Reconciliation {
  const counts = readCounts(text)
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
  return differences.map((each) => [
    each.slot_id?.replace('slot_', '') ?? each.day ?? each.session_id,
    each.metric,
    each.difference,
    nameCause(each),
  ])
}

/** The cause of a view that the file counts and the sandbox does not. */
function explainView(more: Partial<Turn>, own = 'slot,views\na,1\n'): string {
  const { differences } = compare(own, [turn('a', more)])
  expect(differences).toHaveLength(1)
  return nameCause(differences[0]!)
}

test('a day or a time that is years from all turns is refused', () => {
  const refuse = (text: string, turns = [turn('a')]) => refuseFarDays(readCounts(text), turns)
  for (const day of ['2026-01-10', '2021-03-01', '2030-12-31']) refuse(`day,views\n${day},1\n`)
  refuse('day,views\n2569-01-10,1\n', [])
  refuse('slot,views\nb,1\n')
  for (const day of ['2569-01-10', '1448-06-07', '2010-10-26', '2032-01-10'])
    expect(() => refuse(`day,views\n2026-01-10,1\n${day},0\n`)).toThrow(
      expect.objectContaining({ rows: [`line 3: ${day} is more than 5 years from any turn of the sandbox`] }),
    )
  expect(() => refuse('slot,views,time\na,1,2569-01-10 12:00\n')).toThrow('One row cannot be read')
})

test('days that are read in the wrong order are never equal', () => {
  const compared = (order: DayOrder, count: number) => {
    const file = parseOwnFile(`day,impressions\n01/10/2026,${count}\n`)
    const { counts } = readOwnReport(file, { map: [], decimal: null, order })!
    return reconcile(counts, [turn('a')], everything, 0).ok
  }
  expect([compared('month_first', 1), compared('day_first', 1), compared('day_first', 0)]).toEqual([true, false, false])
})

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
    expect(explainView({ fill: false, no_fill_reason: 'no_demand', beacons: [] })).toBe('no_fill_counted no_demand')
    expect(explainView({ fill: null, decided_at_ms: null, beacons: [] })).toBe('not_decided')
  })

  test('was not shown, or sent nothing', () => {
    expect(explainView({ is_framed: false, beacons: [] })).toBe('frame_not_loaded')
    expect(explainView({ beacons: [] })).toBe('beacon_never_sent')
  })

  test('was rendered without a view, or viewed below the threshold', () => {
    expect(explainView({ beacons: [rendered] })).toBe('not_viewed')
    expect(explainView({ beacons: [rendered, beacon('viewable_impression', 'BELOW_THRESHOLD')] })).toBe(
      'counting_method BELOW_THRESHOLD',
    )
  })

  test('was counted by its render where the time of the file shows it', () => {
    const at = (ms: number) => `slot,event,time\na,view,${noon + 2_000 + ms}\n`
    expect(explainView({ beacons: [rendered] }, at(10))).toBe('counting_method')
    expect(explainView({ beacons: [rendered] }, at(1_500))).toBe('not_viewed')
  })

  test('has a beacon that does not count, or waits for its render', () => {
    expect(explainView({ beacons: [rendered, beacon('viewable_impression', 'VISIBILITY_UNMEASURED')] })).toBe(
      'does_not_count VISIBILITY_UNMEASURED',
    )
    const waiting = beacon('viewable_impression', 'AWAITING_RENDER')
    expect(explainView({ beacons: [waiting] })).toBe('beacon_never_sent AWAITING_RENDER')
    const refused = beacon('rendered_impression', 'consent_superseded')
    expect(explainView({ beacons: [refused, waiting] })).toBe('beacon_refused consent_superseded')
  })

  test('has a beacon that was refused: late, early, after expiry, by a wrong clock', () => {
    const refused = (reason: TurnBeacon['reason_code'], occurred_at_ms: number) =>
      explainView({
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
    expect(explainView({ is_framed: false, beacons: [] }, at(-5_000))).toBe('early')
    expect(explainView({ is_framed: false, beacons: [] }, at(700_000))).toBe('after_expiry')
    expect(explainView({ is_framed: false, beacons: [] }, at(60_000))).toBe('frame_not_loaded')
  })

  test('is completed sooner than it can play', () => {
    const beacons = [rendered, beacon('completed_view', 'COMPLETED_TOO_FAST')]
    expect(explainView({ beacons }, 'slot,completes\na,1\n')).toBe('early COMPLETED_TOO_FAST')
  })

  test('is of the other traffic, where one alone is compared', () => {
    const turns = [turn('a'), turn('b', { mode: 'live' })]
    const file = 'slot,views\na,1\nb,1\n'
    expect(explained(compare(file, turns, { mode: 'live' }))).toEqual([['a', 'viewable_impression', 1, 'test_traffic']])
    expect(explained(compare(file, turns, { mode: 'test' }))).toEqual([['b', 'viewable_impression', 1, 'live_traffic']])
    expect(compare(file, turns).ok).toBe(true)
  })
})

describe('the traffic that is compared by default', () => {
  const live = { mode: 'live' } as const
  const turns = [turn('a'), turn('b'), turn('c', { ...live, session_id: 's2' }), turn('d', { ...live, beacons: [] })]
  const table: [file: string, mode: string, sentence: string][] = [
    [
      'slot,views\na,1\nb,1\n',
      'test',
      'Only test traffic is compared. Your file names 0 live and 2 test turns of the sandbox.',
    ],
    [
      'slot,views\nc,1\n',
      'live',
      'Only live traffic is compared. Your file names 1 live and 0 test turns of the sandbox.',
    ],
    [
      'slot,views\na,1\nb,1\nc,1\n',
      'test',
      'Only test traffic is compared. Your file names 1 live and 2 test turns of the sandbox.',
    ],
    [
      'slot,views\na,1\nc,1\n',
      'all',
      'Live and test traffic are compared. Your file names 1 live and 1 test turn of the sandbox. Production counts no test traffic.',
    ],
    [
      'slot,views\nx,1\n',
      'all',
      'Live and test traffic are compared. Your file names 0 live and 0 test turns of the sandbox.',
    ],
    [
      'session,views\ns2,1\n',
      'live',
      'Only live traffic is compared. Your file names 1 live and 0 test turns of the sandbox.',
    ],
    [
      'day,views\n2026-01-10,3\n',
      'all',
      'Live and test traffic are compared. The sandbox has 2 live and 2 test turns in what is compared. Production counts no test traffic.',
    ],
  ]
  const mixed = (file: string) =>
    file.includes('b,1\nc,1') ? ['live_traffic'] : file.includes('a,1\nc,1') ? ['not_recorded'] : []
  test.each(table)('%j: %s', (file, mode, sentence) => {
    const usual = defaultMode(readCounts(file), turns)
    // The days around a day are looked into, for its time zone.
    const before = turn('before', { created_at_ms: noon - 24 * hour, beacons: [] })
    const result = compare(file, file.startsWith('day') ? [...turns, before] : turns, { mode: usual })
    expect([usual, describeModes(result)]).toEqual([mode, sentence])
    if (!file.includes('x,1')) expect(result.differences.map(({ cause }) => cause)).toEqual(mixed(file))
  })
})

test('a turn that is counted twice is doubled, whether its beacon came twice or not', () => {
  const repeated = turn('b', { beacons: [...turn('b').beacons, beacon('viewable_impression', 'DUPLICATE')] })
  expect(explained(compare('slot,views\na,2\nb,1\nb,1\n', [turn('a'), repeated]))).toEqual([
    ['a', 'viewable_impression', 1, 'doubled'],
    ['b', 'viewable_impression', 1, 'doubled DUPLICATE'],
  ])
})

test('a turn that only the sandbox counts is not counted in the file', () => {
  const result = compare('slot,impressions,views\na,1,0\n', [turn('a'), turn('b')])
  expect(explained(result)).toEqual([
    ['a', 'viewable_impression', -1, 'not_recorded'],
    ['b', 'rendered_impression', -1, 'not_recorded'],
    ['b', 'viewable_impression', -1, 'not_recorded'],
  ])
})

test('a metric without a column is not ok where a column that counts was not read', () => {
  const missing = (file: string) => {
    const result = compare(file, [turn('a')])
    return [result.ok, result.totals.every(({ is_within }) => is_within), describeMissing(result, readCounts(file))]
  }
  const none = 'No column was found for viewable_impression, which counts here.'
  expect(missing('slot,impressions,views,reach\na,1,1,7\n')).toEqual([true, true, null])
  expect(missing('slot,impressions,requests,rate\na,1,9,0.5\n')).toEqual([true, true, none])
  expect(missing('slot,event\na,impression\n')).toEqual([
    ...[true, true],
    'No event was found for viewable_impression, which counts here.',
  ])
  expect(missing('slot,event\na,impression\na,play_started\na,request\n')[0]).toBe(true)
  expect(missing('slot,event\na,impression\na,ad_seen_long\n')).toEqual([
    ...[false, true],
    'Not all was compared: no event was found for viewable_impression, which counts here, and rows with the event ad_seen_long were not read. Name each event as its metric, and leave out the rows of others.',
  ])
  expect(missing('slot,impressions,Seen\na,1,1\n')).toEqual([
    ...[false, true],
    'Not all was compared: no column was found for viewable_impression, which counts here, and Seen was not read. Choose its column.',
  ])
})

test('an unread column may hold a metric whatever stands in its cells for 1 and 0', () => {
  const turns = [turn('a'), turn('b'), turn('c', { beacons: [beacon('rendered_impression')] })]
  const doubted = (column: string, ...cells: string[]) => {
    const rows = cells.map((cell, index) => `${'abc'[index]},1,${cell}`)
    const { ok, doubtful_columns } = compare(csv(`slot,impressions,${column}`, ...rows), turns)
    expect(ok).toBe(doubtful_columns.length === 0)
    return doubtful_columns
  }
  for (const [column, ...cells] of [
    ['Campaign', 'Spring', 'Autumn', '2026'],
    ['Notes', '', '', ''],
    ['CTR', '0.5', '0.25', '-'],
    ['At', '2026-01-10', '2026-01-10', ''],
    ['is_test', 'true', 'true', 'true'],
    ['Request ID', '1', '2', '3'],
    ['Revenue', '1', '0', 'NULL'],
  ] as const satisfies string[][])
    expect(doubted(column, ...cells), column).toEqual([])
  for (const cells of ['1 1 0', '1 1 NULL', '1 1 -', '1 1 n/a', 'Y Y N', 'true true false', 'NULL NULL NULL', '1 ? 0'])
    expect(doubted('VImp', ...cells.split(' ')), cells).toEqual(['VImp'])
  expect(doubted('In view', '', '', '')).toEqual(['In view'])
  expect(doubted('In view', 'seen', 'seen', 'not')).toEqual(['In view'])
  const json = (seen: string) => `{"slot":"slot_a","impressions":1,"seen":${seen}}`
  expect(compare(`${json('true')}\n${json('null')}\n`, turns).doubtful_columns).toEqual(['seen'])
  // A column that holds every metric that counts here is not asked for.
  expect(compare(csv('slot,impressions,views,VImp', 'a,1,1,Y', 'b,1,1,N', 'c,1,0,N'), turns).ok).toBe(true)
})

test('nothing that is compared is not ok, and says why', () => {
  const judged = (file: string, turns: readonly Turn[], scope: Partial<Parameters<typeof reconcile>[2]> = {}) => {
    const result = compare(file, turns, scope)
    const nothing = describeNothing(readCounts(file), result, { file: 'own.csv', is_empty: turns.length === 0 })
    return [result.ok, nothing?.message ?? null]
  }
  const turns = [turn('a')]
  const clicks = [turn('a', { beacons: [] })]
  expect(judged('slot,event\na,impression\na,view\n', turns)).toEqual([true, null])
  expect(judged('slot,event,count\na,click,0\n', clicks)).toEqual([true, null])
  expect(judged('slot,event,count\na,view,0\n', turns)).toEqual([false, null])
  expect(judged('slot,metric\na,\n', turns)).toEqual([
    false,
    'Nothing was compared: no row of own.csv has a count, or an event that is a metric.',
  ])
  // It is as true of a sandbox without a turn: nothing was looked at.
  expect(judged('slot,metric\na,\n', [])[0]).toBe(false)
  expect(judged('slot,clicks\na,0\n', [])).toEqual([
    false,
    'Nothing was compared: own.csv counts 0, and the sandbox has no turn.',
  ])
  expect(judged('slot,clicks\na,0\n', clicks, { mode: 'live' })).toEqual([
    false,
    'Nothing was compared: own.csv counts 0, and the sandbox has no live turn of that time.',
  ])
  expect(judged('slot,time,clicks\na,2026-01-10,1\n', clicks, { since_ms: noon + hour })).toEqual([
    false,
    'Nothing was compared: no row of own.csv is inside the span, and nothing was counted there.',
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

  test('have possible causes: the likeliest is exact, the same in all sessions if it can be', () => {
    const all = compare(csv('session,views', 's1,2', 's2,2'), turns)
    expect(explained(all)).toEqual([
      ['s1', 'viewable_impression', 1, 'possibly no_fill_counted no_demand'],
      ['s2', 'viewable_impression', 1, 'possibly no_fill_counted no_demand'],
    ])
    expect(all.differences.map(listCauses)).toEqual([
      'possibly no_fill_counted no_demand, possibly not_viewed (1 turn)',
      'possibly no_fill_counted no_demand',
    ])
    expect(all.causes).toMatchObject([{ cause: 'no_fill_counted', is_possible: true, difference: 2, count: 2 }])
    const one = compare(csv('session,views', 's1,2', 's2,1'), turns)
    expect(one.differences.map(listCauses)).toEqual([
      'possibly not_viewed, possibly no_fill_counted no_demand (1 turn)',
    ])
    expect(explained(compare(csv('session,views', 's1,2'), [turn('a')]))).toEqual([
      ['s1', 'viewable_impression', 1, 'possibly doubled'],
    ])
  })

  test('rank their causes by what each explains: ads that were never shown explain no view where the renders agree', () => {
    const unshown = { beacons: [], is_framed: false }
    const played = [
      ...['a', 'b'].map((slot) => turn(slot)),
      ...['c', 'd', 'e'].map((slot) => turn(slot, { beacons: [rendered] })),
      ...['f', 'g'].map((slot) => turn(slot, unshown)),
    ]
    const listed = (...file: string[]) => compare(csv(...(file as [string])), played).differences.map(listCauses)
    expect(listed('session,views', 's1,4')).toEqual(['possibly frame_not_loaded, possibly not_viewed (3 turns)'])
    expect(listed('session,impressions,views', 's1,7,4')).toEqual([
      'possibly frame_not_loaded',
      'possibly frame_not_loaded, possibly not_viewed (3 turns)',
    ])
    expect(listed('session,impressions,views', 's1,5,4')).toEqual([
      'unexplained, possibly not_viewed (3 turns), possibly frame_not_loaded (2 turns)',
    ])
    // Though nothing else is known of it.
    const others = played.filter(({ slot_id }) => !['slot_c', 'slot_d', 'slot_e'].includes(slot_id))
    expect(compare(csv('session,impressions,views', 's1,2,4'), others).differences.map(listCauses)).toEqual([
      'unexplained, possibly frame_not_loaded (2 turns)',
    ])
    // Of five too many, three are more than two.
    const more = [
      ...played,
      ...['h', 'i', 'j', 'k'].map((slot) => turn(slot, { fill: false, no_fill_reason: 'no_demand', ...unshown })),
    ]
    expect(compare(csv('session,views', 's1,7'), more).differences.map(listCauses)).toEqual([
      'unexplained, possibly no_fill_counted no_demand (4 turns), possibly not_viewed (3 turns)',
    ])
  })

  test('are explained by no cause that fits fewer than half of the sums in which it is possible', () => {
    const unviewed = ['a', 'b', 'b', 'c', 'c'].map((session_id, at) =>
      turn(`${session_id}${at}`, { session_id, beacons: [rendered] }),
    )
    const named = (...counts: string[]) =>
      explained(compare(csv('session,views', ...counts), unviewed)).map(([, , , by]) => by)
    expect(named('a,1', 'b,2', 'c,1')).toEqual(['possibly not_viewed', 'possibly not_viewed', 'unexplained'])
    expect(named('a,1', 'b,1', 'c,1')).toEqual(['unexplained', 'unexplained', 'unexplained'])
  })

  test('with more than one cause explains say so; one that is unknown here was never requested', () => {
    const result = compare(csv('session,views', 's1,4', 's2,0', 's3,4'), turns)
    expect(explained(result)).toEqual([
      ['s1', 'viewable_impression', 3, 'unexplained'],
      ['s2', 'viewable_impression', -1, 'possibly not_recorded'],
      ['s3', 'viewable_impression', 4, 'never_requested'],
    ])
    // One turn of three is no cause worth a name.
    expect(listCauses(result.differences[0]!)).toBe('unexplained')
    expect(describeChange(result.causes[0]!, 'session_id')).not.toContain('slot_id')
    expect(explained(compare(csv('session,views', 's2,1'), turns.slice(0, 1)))).toEqual([
      ['s2', 'viewable_impression', 1, 'never_requested'],
      ['s1', 'viewable_impression', -1, 'not_recorded'],
    ])
  })

  test('of clicks have no cause without a beacon of a click', () => {
    const refused = beacon('click', 'beacon_stale')
    const clicked = [...turns, turn('f', { session_id: 's3', beacons: [rendered, refused] })]
    expect(explained(compare(csv('session,clicks', 's1,1', 's2,1', 's3,1'), clicked))).toEqual([
      ['s1', 'click', 1, 'unexplained'],
      ['s2', 'click', 1, 'unexplained'],
      ['s3', 'click', 1, 'possibly late beacon_stale'],
    ])
    expect(explained(compare(csv('day,clicks', '2026-01-10,2'), turns))).toEqual([
      ['2026-01-10', 'click', 2, 'unexplained'],
    ])
  })
})

test('no text about a cause advises a flag or a command, which a page does not have', () => {
  const codes = [
    null,
    ...tableNames(acceptMeanings),
    ...tableNames(noFillReasons),
    'beacon_stale',
    'asset_token_expired',
  ]
  for (const cause of tableNames(causes) satisfies readonly Cause[]) {
    for (const reason_code of codes) {
      const texts = [describeCause({ cause, reason_code, is_possible: true }), describeChange({ cause, reason_code })]
      expect(texts.join(' ')).not.toMatch(/(^|\s)--?[a-z]|\bsvc /)
    }
  }
})

describe('days of one kind of traffic', () => {
  const turns = [turn('a'), turn('b'), turn('c'), turn('d', { mode: 'live' })]
  const causesOf = (views: number, file = 'day,views') =>
    compare(csv(file, `2026-01-10,${views}`), turns).differences.map(listCauses)

  test('that lack others, or all, are not recorded', () => {
    expect([causesOf(4), causesOf(2), causesOf(0)]).toEqual([[], ['possibly not_recorded'], ['possibly not_recorded']])
  })

  test('lack exactly the turns of the other kind', () => {
    expect(causesOf(1)).toEqual(['possibly test_traffic, possibly not_recorded (3 turns)'])
    expect(causesOf(3)).toEqual(['possibly live_traffic, possibly not_recorded (1 turn)'])
  })
})

test('days lack one kind of traffic only where their other counts do not have it', () => {
  const onDay = (day: number, mode: Turn['mode']) => {
    const received_at_ms = Date.UTC(2026, 0, day, 12)
    const beacons = (['rendered_impression', 'viewable_impression'] as const).map((metric) =>
      beacon(metric, 'OK', { received_at_ms }),
    )
    return turn(`${day}${mode}`, { created_at_ms: received_at_ms, mode, beacons })
  }
  const turns = [9, 10, 11].flatMap((day) => [
    onDay(day, 'live'),
    onDay(day, 'test'),
    { ...onDay(day, 'test'), slot_id: `slot_${day}c` },
  ])
  const named = (...rows: string[]) => [
    ...new Set(compare(csv('day,impressions,views', ...rows), turns).differences.map(nameCause)),
  ]
  const [both, without] = ['3,3', '2,2']
  expect(named(`2026-01-09,${both}`, `2026-01-10,${both}`, `2026-01-11,${both}`)).toEqual([])
  // One view is lost on one day; its renders, and the other days, have the live turns.
  expect(named(`2026-01-09,${both}`, '2026-01-10,3,2', `2026-01-11,${both}`)).toEqual(['possibly not_recorded'])
  expect(named(`2026-01-09,${without}`, `2026-01-10,${without}`, `2026-01-11,${without}`)).toEqual([
    'possibly live_traffic',
  ])
  expect(named(`2026-01-09,${without}`, '2026-01-10,2,1', `2026-01-11,${without}`)).toEqual([
    'possibly live_traffic',
    'possibly not_recorded',
  ])
})

test('clocks and zones are given as far as they are known', () => {
  const clocks = (clock_offset_ms: number, day_shift_ms = 0, to = day_shift_ms) =>
    describeClocks({ clock_offset_ms, day_shift_ms, day_shift_range_ms: { from: day_shift_ms, to }, causes: [] })
  expect(clocks(0)).toEqual([])
  expect(clocks(90_500)).toEqual(['The times of your file are 1m 30s ahead of those of the sandbox.'])
  expect(clocks(hour - 500)[0]).toBe(
    'The times of your file are about 1h ahead of those of the sandbox: they are those of another time zone.',
  )
  expect(clocks(-5 * hour - 869)[0]).toContain('about 5h behind')
  expect(clocks(0, hour)[0]).toContain('possibly those of UTC+01:00,')
  expect(clocks(0, -8 * hour, -hour)[0]).toContain('possibly those of a zone between UTC-08:00 and UTC-01:00,')
})

describe('sums of days', () => {
  const viewedAt = (received_at_ms: number, views: number) =>
    Array.from({ length: views }, (_, view) =>
      turn(`${received_at_ms}-${view}`, {
        created_at_ms: received_at_ms - 5_000,
        decided_at_ms: received_at_ms - 5_000,
        beacons: [beacon('viewable_impression', 'OK', { received_at_ms, occurred_at_ms: received_at_ms })],
      }),
    )
  /** Views of eleven days, another number each hour. */
  const dice = createDice(5)
  const turns = Array.from({ length: 11 * 24 }, (_, index) => index).flatMap((index) =>
    viewedAt(Date.UTC(2026, 0, 1) + index * hour + dice.below(hour), dice.below(12)),
  )
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
    const counts = readCounts(csv('slot,views', 'a,2', 'b,1', 'x,1', 'd,0'))
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
    expect(explainedText(result.causes[0]!)).toMatch(/^\+\d+( -\d+)?$|^-\d+$/)
    expect(result.day_shift_range_ms).toEqual({ from: hours * hour, to: hours * hour })
  })

  test.each([
    ['+02:00', '+01:00'],
    ['-04:00', '-05:00'],
    ['+05:30', '+05:30'],
    ['+09', '+09'],
  ])('of midnights at %s, and %s later, are those of that zone', (summer, winter) => {
    const offsetMs = (offset: string) =>
      Date.parse(`2026-01-01T00:00Z`) - Date.parse(`2026-01-01T00:00${offset.length > 3 ? offset : `${offset}:00`}`)
    const start = (day: string) => `${day} 00:00:00${day > '2026-01-05' ? winter : summer}`
    const change = Date.parse('2026-01-05T12:00Z')
    const dayOf = (time_ms: number) =>
      new Date(time_ms + offsetMs(time_ms < change ? summer : winter)).toISOString().slice(0, 10)
    const days = Map.groupBy(turns, ({ beacons }) => dayOf(beacons[0]!.received_at_ms))
    const inside = [...days].filter(([day]) => day >= '2026-01-02' && day <= '2026-01-10')
    const rows = inside.map(([day, found]) => `${start(day)},${found.length}`)
    expect(compare(csv('day,views', ...rows), turns)).toMatchObject({ ok: true, day_shift_ms: 0, differences: [] })
    expect(compare(csv('day,views', ...rows.toSpliced(6, 1)), turns).differences).toMatchObject([
      { day: '2026-01-08', cause: 'not_recorded' },
    ])
    const first = inside[0]![1].length
    const more = compare(csv('day,views', `${start('2026-01-02')},${first + 1}`, ...rows.slice(1)), turns)
    expect(more.differences).toMatchObject([{ day: '2026-01-02', difference: 1 }])
    expect(more.days).toMatchObject({ first: '2026-01-02', last: '2026-01-10' })
    expect(more.days?.zone.split(' and ')).toHaveLength(summer === winter ? 1 : 2)
  })

  test('of times with Z or an offset are in no other zone; those without may be', () => {
    const seen = [Date.UTC(2026, 0, 10, 0, 0, 24), Date.UTC(2026, 0, 10, 15), Date.UTC(2026, 0, 9, 12)].flatMap((at) =>
      viewedAt(at, 1),
    )
    const causesOf = (zone: string) =>
      new Set(
        compare(
          csv(
            'time,event',
            ...['09T12:00:00', '09T23:59:55', '10T15:00:03'].map((time) => `2026-01-${time}${zone},view`),
          ),
          seen,
        ).causes.map(({ cause }) => cause),
      )
    expect(causesOf('')).toContain('time_zone')
    expect([...causesOf('.000Z'), ...causesOf('+00:00')]).not.toContain('time_zone')
    // A midnight of UTC may be the label of another day.
    const labels = report(2 * hour).replace(/(?<=-\d\d),/g, 'T00:00:00Z,')
    expect(compare(labels, turns).causes).toMatchObject([{ cause: 'time_zone' }])
  })

  test('that are named a day late or early have that as a possible cause, and no other day', () => {
    const shifted = (file: string, views: readonly [day: number, views: number][]) =>
      compare(
        csv('day,views', ...file.split(' ')),
        views.flatMap(([day, count]) => viewedAt(Date.UTC(2026, 0, day, 12, 30), count)),
      )
    const none = { day_shift_ms: 0 }
    const happened = [
      [9, 4],
      [10, 2],
      [11, 5],
    ] as const satisfies [number, number][]
    expect(shifted('2026-01-09,4 2026-01-10,2 2026-01-11,5', [...happened])).toMatchObject({ ...none, ok: true })
    expect(shifted('2026-01-10,4 2026-01-11,9 2026-01-12,6', [...happened])).toMatchObject(none)
    expect(shifted('2026-01-12,0 2026-01-13,0', [...happened])).toMatchObject({ ...none, causes: [] })
    // Something happened on the day of the file that may be what it counts.
    expect(
      shifted('2026-01-11,3', [
        [10, 3],
        [11, 2],
      ]),
    ).toMatchObject(none)
    expect(
      shifted('2026-01-11,4', [
        [10, 3],
        [11, 1],
      ]),
    ).toMatchObject(none)
    expect(shifted('2026-01-11,2', [[10, 3]])).toMatchObject(none)

    const late = shifted('2026-01-10,4 2026-01-11,2 2026-01-12,5', [...happened])
    expect(late).toMatchObject({ ok: false, day_shift_ms: 24 * hour })
    expect(new Set(late.causes.map(nameCause))).toEqual(new Set(['possibly time_zone']))
    expect(describeClocks(late)[0]).toContain('named a day late')
    expect(shifted('2026-01-08,4 2026-01-09,2 2026-01-10,5', [...happened]).day_shift_ms).toBe(-24 * hour)
    const alone = shifted('2026-01-11,3', [[10, 3]])
    expect(alone).toMatchObject({
      ok: false,
      day_shift_ms: 24 * hour,
      causes: [{ cause: 'time_zone', is_possible: true }],
    })
    expect(
      describeClocks(
        shifted('2026-01-10,3 2026-01-11,3', [
          [11, 3],
          [12, 3],
        ]),
      )[0],
    ).toContain('named a day early')
  })

  test.each([
    ['one more', '2026-01-10,4 2026-01-11,3 2026-01-12,5', 24 * hour, 'unexplained', '1 of the 11'],
    ['one fewer', '2026-01-10,4 2026-01-11,2 2026-01-12,4', 24 * hour, 'possibly not_recorded', '1 of the 11'],
    ['one more, and early', '2026-01-08,4 2026-01-09,2 2026-01-10,6', -24 * hour, 'unexplained', '1 of the 10'],
  ])('that are named a day late or early, with %s, have both causes', (_, file, day_shift_ms, other, rest) => {
    const views = [9, 9, 9, 9, 10, 10, 11, 11, 11, 11, 11].flatMap((day, index) =>
      viewedAt(Date.UTC(2026, 0, day, 12, 30, index), 1),
    )
    const result = compare(csv('day,views', ...file.split(' ')), views)
    expect(result).toMatchObject({ ok: false, day_shift_ms })
    expect(result.causes.map(nameCause)).toEqual(['possibly time_zone', other])
    expect(describeClocks(result)[0]).toMatch(/named a day (late|early): .* It does not explain/)
    expect(describeClocks(result)[0]).toContain(rest)
  })

  test('of a shifted report name what is missing beside the shift', () => {
    const result = compare(
      report(2 * hour, (day, views) => (day === '2026-01-05' ? views - 3 : views)),
      turns,
    )
    expect(result.day_shift_ms).toBe(2 * hour)
    expect(explained(result).filter(([, , , cause]) => cause !== 'possibly time_zone')).toEqual([
      ['2026-01-05', 'viewable_impression', -3, 'possibly not_recorded'],
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
