import stringWidth from 'string-width'
import { describe, expect, test } from 'vitest'
import type { RequestDetail } from '#contract/resources/requests.ts'
import { plainStyle } from '#text/terminal.ts'
import { beaconLine, beaconSource, columnHead } from './beacons.ts'
import { lastMinute, rate } from './counts.ts'
import type { TailBeacon } from './feed.ts'
import {
  findCursor,
  maxItems,
  noFilter,
  reduce,
  selectedItem,
  startState,
  type TailAction,
  type TailState,
} from './model.ts'
import { screenLines } from './TailScreen.tsx'

const start_ms = 1_769_860_800_000

function beacon(seq: number, fields: Partial<TailBeacon> = {}): TailBeacon {
  return {
    seq,
    beacon_id: `beacon_${seq}`,
    slot_id: 'slot_00000000001',
    client_id: 'proj_demo',
    session_id: 's1',
    format: 'banner',
    event: 'render',
    verdict: 'accepted',
    reason_code: 'OK',
    would_bill: false,
    metric: null,
    occurred_at_ms: start_ms,
    received_at_ms: start_ms,
    metadata: null,
    ...fields,
  }
}

function arrive(beacons: readonly TailBeacon[], at_ms = start_ms, is_live = true): TailAction {
  return { type: 'arrive', arrivals: beacons.map((item) => ({ item, is_live })), now_ms: at_ms }
}

function stateAfter(...actions: TailAction[]): TailState {
  return actions.reduce(reduce, startState(beaconSource, noFilter, start_ms))
}

function range(from: number, to: number): TailBeacon[] {
  return Array.from({ length: to - from + 1 }, (_, index) => beacon(from + index))
}

describe('the screen', () => {
  test('in a low window leaves out the counts, not the beacons', () => {
    const state = stateAfter(arrive(range(1, 9)))
    const linesIn = (rows: number) => {
      const { head, body } = screenLines(state, 'http://a.test', { columns: 80, rows }, plainStyle)
      return { head: head.length, beacons: body.length, rows: head.length + body.length + 1 }
    }
    expect(linesIn(7)).toEqual({ head: 2, beacons: 4, rows: 7 })
    expect(linesIn(12)).toEqual({ head: 2, beacons: 9, rows: 12 })
    expect(linesIn(13)).toEqual({ head: 8, beacons: 4, rows: 13 })
    expect(linesIn(5)).toEqual({ head: 2, beacons: 2, rows: 5 })
  })
})

describe('the cursor', () => {
  test('follows the newest beacon until it is moved, and then stays on its beacon', () => {
    const moved = stateAfter(arrive(range(1, 3)), { type: 'move', by: -1 })
    expect(selectedItem(moved)?.seq).toBe(2)
    expect(selectedItem(reduce(moved, arrive(range(4, 9))))?.seq).toBe(2)
  })

  test('follows again at the end', () => {
    const back = stateAfter(
      arrive(range(1, 3)),
      { type: 'move', by: -maxItems },
      { type: 'move', by: 1 },
      { type: 'move', by: 5 },
    )
    expect(back.selected_seq).toBeNull()
    expect(selectedItem(reduce(back, arrive(range(4, 4))))?.seq).toBe(4)
  })

  test('moves to the oldest beacon when its own is gone', () => {
    const state = stateAfter(arrive(range(1, 2)), { type: 'move', by: -maxItems }, arrive(range(3, maxItems + 3)))
    expect(findCursor(state)).toBe(0)
    expect(selectedItem(state)?.seq).toBe(4)
  })

  test('has no beacon in an empty list', () => {
    expect(selectedItem(stateAfter({ type: 'move', by: -1 }))).toBeNull()
    expect(stateAfter({ type: 'details' }).screen).toEqual({ name: 'list' })
  })
})

test('only the newest beacons are kept, however many arrive', () => {
  let state = stateAfter(arrive(range(1, 3 * maxItems)))
  expect([state.items.length, state.shown.length, state.items[0]?.seq]).toEqual([maxItems, maxItems, 2 * maxItems + 1])
  state = reduce(reduce(state, { type: 'pause' }), arrive(range(3 * maxItems + 1, 5 * maxItems)))
  expect(state.held).toHaveLength(maxItems)
  state = reduce(state, { type: 'pause' })
  expect([state.items.length, state.items.at(-1)?.seq]).toEqual([maxItems, 5 * maxItems])
  expect(state.counts.total).toBe(5 * maxItems)
})

test('hidden beacons are dropped with the others that are no longer kept', () => {
  const clicks = range(1, 10).map((item) => ({ ...item, event: 'click' as const }))
  const state = stateAfter(arrive(clicks), { type: 'search', text: 'CLICK' }, arrive(range(11, maxItems + 4)))
  expect(state.shown.map(({ seq }) => seq)).toEqual([5, 6, 7, 8, 9, 10])
})

test('a pause holds the list, not the counts', () => {
  const paused = stateAfter(arrive(range(1, 1)), { type: 'pause' }, arrive(range(2, 3)))
  expect([paused.shown.length, paused.held?.length, paused.counts.total]).toEqual([1, 2, 3])
  expect(reduce(paused, { type: 'pause' }).shown).toHaveLength(3)
})

describe('the filter', () => {
  const mixed = [
    beacon(1),
    beacon(2, { event: 'click', verdict: 'rejected', reason_code: 'beacon_stale', format: 'clip' }),
    beacon(3, { verdict: 'duplicate', session_id: 'Särah' }),
  ]
  const seqs = (...actions: TailAction[]) => stateAfter(arrive(mixed), ...actions).shown.map(({ seq }) => seq)

  test('is chosen field by field, and the choices wrap around', () => {
    const verdict: TailAction = { type: 'show', screen: { name: 'filter', field: 'verdict' } }
    expect(seqs(verdict, { type: 'choose', by: -1 })).toEqual([2])
    expect(seqs(verdict, { type: 'choose', by: 2 })).toEqual([3])
    expect(seqs(verdict, { type: 'choose', by: -1 }, { type: 'choose', by: 1 })).toEqual([1, 2, 3])
  })

  test('searches in everything that a line shows, and a cancelled search is undone', () => {
    expect(seqs({ type: 'search', text: 'STALE' })).toEqual([2])
    expect(seqs({ type: 'search', text: 'särah' })).toEqual([3])
    const searching: TailAction = { type: 'show', screen: { name: 'search', before: '' } }
    expect(seqs(searching, { type: 'search', text: 'stale' }, { type: 'cancel_search' })).toEqual([1, 2, 3])
  })
})

describe('counts', () => {
  test('are by event and verdict', () => {
    const { counts } = stateAfter(
      arrive([beacon(1), beacon(2, { would_bill: true }), beacon(3, { event: null, verdict: 'rejected' })]),
    )
    expect(counts).toMatchObject({
      total: 3,
      by_group: { render: 2 },
      tallies: { rejected: 1, 'would bill': 1, duplicate: 0 },
    })
  })

  test('a rate is the mean of five whole seconds, without beacons from before the connection', () => {
    const state = stateAfter(
      arrive(range(1, 100), start_ms, false),
      arrive(range(101, 110)),
      arrive([], start_ms + 1_000),
    )
    expect(rate(state.counts, start_ms)).toBe(0)
    expect(rate(state.counts, start_ms + 1_000)).toBe(2)
    expect(rate(state.counts, start_ms + 1_000, 'click')).toBe(0)
    expect(rate(state.counts, start_ms + 6_000)).toBe(0)
  })

  test('the last minute has one number a second and drops older ones', () => {
    const state = stateAfter(arrive(range(1, 2)), arrive(range(3, 3), start_ms + 59_000), arrive([], start_ms + 60_000))
    expect(lastMinute(state.counts, start_ms + 60_000)).toEqual([2, ...Array(58).fill(0), 1])
    expect(reduce(state, arrive(range(4, 4), start_ms + 61_000)).counts.seconds).toHaveLength(2)
  })

  test('clear removes beacons and counts', () => {
    const state = stateAfter(arrive(range(1, 5)), { type: 'clear' })
    expect(state).toMatchObject({ items: [], shown: [], counts: { total: 0 } })
  })
})

test('the details of another slot than the shown one are ignored', () => {
  const open = stateAfter(arrive(range(1, 1)), { type: 'details' })
  expect(open.screen).toMatchObject({ name: 'details', slot: { status: 'loading' } })
  const failed = { status: 'failed', reason: 'no' } as const
  expect(reduce(open, { type: 'slot', slot_id: 'slot_other', slot: failed })).toBe(open)
  expect(reduce(open, { type: 'slot', slot_id: 'slot_00000000001', slot: failed }).screen).toMatchObject({
    slot: failed,
  })
})

test('the columns of a line stay aligned when an identifier has wide characters', () => {
  const head = columnHead(120, plainStyle)
  for (const session_id of ['s1', '会話の番号', 'e\u0301🙂', '会'.repeat(20)]) {
    const line = beaconLine(beacon(1, { session_id }), 120, plainStyle, false)
    const before = line.slice(0, line.indexOf('✓'))
    expect(stringWidth(before), line).toBe(head.indexOf('verdict'))
  }
})

test('the details are as wide as the terminal is now, not as it was at the start', () => {
  const hint =
    'Use the asset token of the decision, which the frame reads from its own address, and never an older one.'
  const response_body = JSON.stringify({
    hint,
    fields: [{ path: 'metadata.colour', message: 'is not a field of the contract', expected: 'no such field' }],
  })
  const detail = {
    request_id: 'req_00000000001',
    at_ms: start_ms,
    method: 'POST',
    path: '/v1/beacons',
    status: 400,
    request_headers: {},
    request_body: JSON.stringify({ asset_token: 'ast_'.repeat(40), metadata: { colour: 'x'.repeat(120) } }),
    response_headers: {},
    response_body,
  } as unknown as RequestDetail
  const state = stateAfter(
    arrive([beacon(1, { verdict: 'rejected', reason_code: 'field_unknown', slot_id: null })]),
    { type: 'details' },
    { type: 'request', seq: 1, request: { status: 'loaded', detail } },
  )
  const atStart = { ...plainStyle, columns: 80 }
  for (const columns of [50, 79, 119]) {
    const { body } = screenLines(state, 'http://127.0.0.1:4010', { columns, rows: 100 }, atStart)
    expect(body.filter((line) => stringWidth(line) > columns)).toEqual([])
    expect(body.join(' ').replace(/\s+/g, ' ')).toContain(hint)
    expect(body.join('').replace(/\s+/g, '')).toContain('ast_'.repeat(40))
    const widest = Math.max(...body.map((line) => stringWidth(line)))
    expect(widest).toBe(columns)
  }
})
