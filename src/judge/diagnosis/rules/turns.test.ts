/** What each rule about turns finds, and what it must not: the same beacons are right in one page and wrong in another. */
import { describe, expect, test } from 'vitest'
import type { JournaledExchange } from '#diagnosis/exchange.ts'
import type { Mount } from '../facts/mounts.ts'
import type { PageSeen } from '../facts/page.ts'
import type { Observed } from '../rule.ts'
import { turnRules } from './turns.ts'

const noon = 1_769_860_800_000
let requests = 0

function exchange(
  path: string,
  slot_id: string,
  second: number,
  more: Partial<JournaledExchange> = {},
): JournaledExchange {
  return {
    request_id: `req_${++requests}`,
    at_ms: noon + second * 1_000,
    method: path.startsWith('/v1/render/') ? 'GET' : 'POST',
    path,
    status: 200,
    reason_code: null,
    duration_ms: 1,
    key: null,
    key_id: null,
    client_id: 'proj_demo',
    session_id: 's1',
    slot_id,
    request_headers: {},
    response_headers: {},
    request_body: null,
    response_body: null,
    ...more,
  }
}

const ask = (slot_id: string, second: number, topic = 'coffee', session_id = 's1') =>
  exchange('/v1/placements', slot_id, second, { session_id, request_body: { session_id, prompt: { topic } } })

interface Sent {
  turn?: string
  mount?: string
  session_id?: string
  reason_code?: string
  measurements?: object
}

function beacon(slot_id: string, event: string, second: number, sent: Sent = {}): JournaledExchange {
  const { turn, mount = `ri_${slot_id}`, session_id = 's1', reason_code = 'OK', measurements } = sent
  return exchange('/v1/beacons', slot_id, second, {
    session_id,
    request_body: {
      beacon_id: `${mount}:${event}:${second}`,
      event,
      render_instance_id: mount,
      occurred_at_ms: noon + second * 1_000,
      measurements: {
        visible_ratio: 1,
        page_visible: true,
        ...(event === 'visible' && { visible_ms: 1_000 }),
        ...measurements,
      },
      ...(turn === undefined ? {} : { metadata: { turn_id: turn } }),
    },
    response_body: { reason_code },
  })
}

/** An ad that was seen. */
const shown = (slot_id: string, second: number, sent: Sent = {}) => [
  exchange('/v1/render/ast_1', slot_id, second),
  beacon(slot_id, 'render', second, sent),
  beacon(slot_id, 'visible', second + 2, sent),
]

const journal = (
  list: readonly (JournaledExchange | JournaledExchange[])[],
  page: Partial<PageSeen> | null = null,
): Observed => ({
  exchanges: list.flat(),
  callbacks: [],
  placements: [],
  own_requests: 0,
  beacons: [],
  projects: [],
  now_ms: noon + 600_000,
  client_id: 'proj_demo',
  command_name: 'svc',
  is_ended: true,
  is_whole: true,
  page: page as PageSeen | null,
})

function messages(id: keyof typeof turnRules, observed: Observed): string[] {
  const { sample_size, findings } = turnRules[id].judge(observed)
  expect(sample_size).toBeGreaterThan(0)
  return findings.map(({ message }) => message)
}

const all = (observed: Observed) =>
  (Object.keys(turnRules) as (keyof typeof turnRules)[]).flatMap((id) =>
    turnRules[id].judge(observed).findings.map(({ message }) => message),
  )

describe('nothing is found when', () => {
  test('each message has its ad, and a turn is mounted again as the same instance', () => {
    const observed = journal([
      ask('slot_1', 0),
      ...shown('slot_1', 0, { turn: 'm1' }),
      exchange('/v1/render/ast_1', 'slot_1', 8),
      beacon('slot_1', 'heartbeat', 10, { turn: 'm1' }),
      exchange('/v1/render/ast_1', 'slot_1', 14),
      ask('slot_2', 5),
      ...shown('slot_2', 5, { turn: 'm2' }),
    ])
    expect(all(observed)).toEqual([])
  })

  test('two sessions have a turn of the same name, at the same time', () => {
    const observed = journal([
      ...shown('slot_1', 0, { turn: 'm1' }),
      ...shown('slot_2', 1, { turn: 'm1', session_id: 's2' }),
    ])
    expect(all(observed)).toEqual([])
  })

  test('a beacon is retried', () => {
    const visible = beacon('slot_1', 'visible', 2, { turn: 'm1' })
    const observed = journal([...shown('slot_1', 0, { turn: 'm1' }), { ...visible, request_id: 'req_again' }])
    expect(all(observed)).toEqual([])
  })
})

describe('turn-asked-again', () => {
  test('names the turn and its placements, and cites the first beacon of each', () => {
    const observed = journal([shown('slot_1', 0, { turn: 'm1' }), shown('slot_2', 60, { turn: 'm1' })])
    const { findings } = turnRules['turn-asked-again'].judge(observed)
    expect(findings.map(({ message, requests = [] }) => [message, requests.map(({ slot_id }) => slot_id)])).toEqual([
      ['Turn "m1" has 2 placements: slot_1, slot_2.', ['slot_1', 'slot_2']],
    ])
  })
})

describe('counted-twice', () => {
  test('by two mounts of one placement, of which the service counts one', () => {
    const second = { mount: 'ri_b', reason_code: 'ALREADY_COUNTED' }
    const observed = journal([shown('slot_1', 0), shown('slot_1', 9, second)])
    expect(messages('counted-twice', observed)).toEqual([
      'The view of slot_1 was reported by 2 mounts; one of them counts.',
    ])
  })

  test('by the placements of one turn; a view that does not count is none', () => {
    const counted = [shown('slot_1', 0, { turn: 'm1' }), shown('slot_2', 60, { turn: 'm1' })]
    const below = shown('slot_3', 90, { turn: 'm1', reason_code: 'BELOW_THRESHOLD' })
    expect(messages('counted-twice', journal([...counted, below]))).toEqual([
      'The view of turn "m1" counts 2 times, once for each of slot_1, slot_2.',
    ])
    expect(messages('counted-twice', journal([counted[0]!, below]))).toEqual([])
  })

  test('the verdict of now counts, not that of the response', () => {
    const early = shown('slot_2', 60, { turn: 'm1', reason_code: 'AWAITING_RENDER' })
    const observed = journal([...shown('slot_1', 0, { turn: 'm1' }), ...early])
    const item = { slot_id: 'slot_2', client_id: 'proj_demo', session_id: 's1', reason_code: 'OK' }
    const beacons = [{ ...item, beacon_id: 'ri_slot_2:visible:62' }] as unknown as Observed['beacons']
    expect(messages('counted-twice', observed)).toEqual([])
    expect(messages('counted-twice', { ...observed, beacons })).toHaveLength(1)
  })
})

describe('lost-on-remount, in a journal', () => {
  const row = (number: number, topic?: string) => {
    const [slot_id, second] = [`slot_${number}`, number * 20]
    return [ask(slot_id, second, topic), beacon(slot_id, 'render', second)]
  }
  const end = [beacon('slot_9', 'render', 100), beacon('slot_9', 'heartbeat', 120)]

  test('two ads that were gone unseen, each followed by the same request', () => {
    const observed = journal([row(1), row(2), row(3), shown('slot_3', 61), end])
    expect(messages('lost-on-remount', observed)).toEqual([
      '2 ads rendered, were gone before they had been seen, and were followed by the same request in the same session: slot_1, slot_2.',
    ])
  })

  test.each([
    ['one of them', [row(1), row(2, 'travel'), end]],
    ['followed by requests for other things', [row(1, 'coffee'), row(2, 'travel'), row(3, 'health'), end]],
    ['that were seen', [row(1), shown('slot_1', 21), row(2), shown('slot_2', 41), row(3), shown('slot_3', 61), end]],
    [
      'still there: they send heartbeats',
      [row(1), row(2), row(3), [1, 2, 3].map((at) => beacon(`slot_${at}`, 'heartbeat', 119)), end],
    ],
    [
      'of a page that was hidden since',
      [row(1), row(2), row(3).map((each) => hidden(each)), end.map((each) => hidden(each))],
    ],
  ])('not ads %s', (_, list) => {
    expect(messages('lost-on-remount', journal(list))).toEqual([])
  })

  function hidden(each: JournaledExchange): JournaledExchange {
    return each.path === '/v1/beacons'
      ? { ...each, request_body: { ...(each.request_body as object), measurements: { page_visible: false } } }
      : each
  }
})

const mount = (slot_id: string, from: number, until: number, more: Partial<Mount> = {}): Mount => ({
  slot_id,
  element: `frame of ${slot_id}`,
  target: `target of ${slot_id}`,
  is_drawn: true,
  text: 'How do I make better espresso at home?',
  from_ms: from * 1_000,
  until_ms: until * 1_000,
  copies: 1,
  rivals: [],
  width: 300,
  height: 250,
  hidden_by: null,
  clipped_by: null,
  covered_by: null,
  seen_share: 1,
  sought_ms: 0,
  shared_id: null,
  in_view_ms: 2_000,
  label: 'Sponsored',
  colors: 9,
  ...more,
})

describe('no rule advises what the page does already', () => {
  const generated = `turn_${'1234567890'.repeat(3)}`
  const twice = (turn?: string) => [
    shown('slot_1', 0, { ...(turn && { turn }) }),
    shown('slot_1', 9, { ...(turn && { turn }), mount: 'ri_b', reason_code: 'ALREADY_COUNTED' }),
  ]
  const replaced = (...turns: string[]) =>
    journal(
      turns.flatMap((turn, at) => [ask(`slot_${at}`, 9 * at), shown(`slot_${at}`, 9 * at, { turn })]),
      { renderer_errors: [], mounts: turns.map((_, at) => mount(`slot_${at}`, 9 * at, 9 * at + 5)) },
    )

  test.each([
    ['counted-twice', 'an id that render.js made', journal(twice(generated)), /Give startTurn the id of the message/],
    ['counted-twice', 'its own turnId', journal(twice('m1')), /^Mount a placement once: do not pass its response/],
    ['lost-on-remount', 'ids that render.js made', replaced(generated, `${generated}0`), /^Give startTurn the id of/],
    ['lost-on-remount', 'several ids of its own', replaced('a', 'b'), /the same turnId each time .* had "a", "b"\.$/],
  ] as const)('%s, of turns with %s', (id, _ids, observed, fix) => {
    const [finding] = turnRules[id].judge(observed).findings
    expect(finding?.fix ?? turnRules[id].fix).toMatch(fix)
  })
})

describe('lost-on-remount, in a page', () => {
  const seen = [ask('slot_1', 0), shown('slot_1', 0), ask('slot_2', 9), shown('slot_2', 9)]
  const found = (...mounts: Mount[]) => messages('lost-on-remount', journal(seen, { mounts, renderer_errors: [] }))

  test('placements one after the other beside the same text, in new elements', () => {
    expect(found(mount('slot_1', 0, 5), mount('slot_2', 9, 12))).toEqual([
      '2 placements were shown for one message, one after the other, each in a new element beside the same text: slot_1, slot_2.',
    ])
  })

  test.each([
    ['the same placement again', [mount('slot_1', 0, 5), mount('slot_1', 9, 12, { target: 'new' })]],
    ['two messages with the same text at once', [mount('slot_1', 0, 12), mount('slot_2', 9, 12)]],
    ['another message', [mount('slot_1', 0, 5), mount('slot_2', 9, 12, { text: 'And how do I grind it?' })]],
    [
      'a slot that shows the ads of all messages',
      [mount('slot_1', 0, 5), mount('slot_2', 9, 12, { target: 'target of slot_1' })],
    ],
    ['ads without a text beside them', [mount('slot_1', 0, 5, { text: null }), mount('slot_2', 9, 12, { text: null })]],
  ])('not %s', (_, mounts) => {
    expect(found(...mounts)).toEqual([])
  })

  test('not placements of one turn: that it asked again is the mistake', () => {
    const same = [shown('slot_1', 0, { turn: 'm1' }), shown('slot_2', 9, { turn: 'm1' })]
    const mounts = [mount('slot_1', 0, 5), mount('slot_2', 9, 12)]
    expect(messages('lost-on-remount', journal(same, { mounts, renderer_errors: [] }))).toEqual([])
    expect(messages('turn-asked-again', journal(same, { mounts, renderer_errors: [] }))).toHaveLength(1)
  })
})

describe('two-in-one-slot', () => {
  test('two placements of one turn, both seen while both were there', () => {
    const both = journal([shown('slot_1', 0, { turn: 'm1' }), shown('slot_2', 1, { turn: 'm1' })])
    expect(messages('two-in-one-slot', both)).toEqual(['slot_1 and slot_2 of turn "m1" were in view at the same time.'])
    const inTurn = journal([shown('slot_1', 0, { turn: 'm1' }), shown('slot_2', 9, { turn: 'm1' })])
    expect(messages('two-in-one-slot', inTurn)).toEqual([])
  })

  test('heartbeats show it too; one of an ad out of view does not', () => {
    const beats = (visible_ratio: number) =>
      journal([
        ...shown('slot_1', 0, { turn: 'm1' }),
        beacon('slot_1', 'heartbeat', 30, { turn: 'm1', measurements: { visible_ratio } }),
        ...shown('slot_2', 20, { turn: 'm1' }),
        beacon('slot_2', 'heartbeat', 40, { turn: 'm1' }),
      ])
    expect(messages('two-in-one-slot', beats(1))).toHaveLength(1)
    expect(messages('two-in-one-slot', beats(0.1))).toEqual([])
  })

  test('in a page, two placements in one element; each pair is named once', () => {
    const seen = [ask('slot_1', 0), shown('slot_1', 0), ask('slot_2', 1), shown('slot_2', 1)]
    const mounts = [mount('slot_1', 0, 5, { rivals: ['slot_2'] }), mount('slot_2', 1, 5, { rivals: ['slot_1'] })]
    expect(messages('two-in-one-slot', journal(seen, { mounts, renderer_errors: [] }))).toEqual([
      'slot_1 and slot_2 were in view at the same time in one element of the page.',
    ])
  })
})
