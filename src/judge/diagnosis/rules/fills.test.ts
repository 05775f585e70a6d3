/** What the rule about unused fills says of how far they got. */
import { expect, test } from 'vitest'
import type { Observed } from '../rule.ts'
import { fillRules } from './fills.ts'

const slot_ids = ['slot_1', 'slot_2', 'slot_3']

/** The notes of a page that got some fills, loaded the frames of some and reported the rendering of some. */
function judge(filled: number, framed: number, rendered: number) {
  const some = (count: number) => slot_ids.slice(0, count)
  const observed = {
    exchanges: some(framed).map((slot_id) => ({
      ...{ slot_id, method: 'GET', path: '/v1/render/ast_1', status: 200, at_ms: 2, request_headers: {} },
    })),
    placements: some(filled).map((slot_id) => ({ slot_id, fill: true, decided_at_ms: 1 })),
    beacons: some(rendered).map((slot_id) => ({ slot_id, event: 'render', verdict: 'accepted' })),
    callbacks: [],
    ...{ is_whole: false, is_ended: true, now_ms: 1_000_000, page: null },
  }
  return fillRules['fill-unused'].judge(observed as unknown as Observed).notes
}

test.each([
  [1, 1, 1, 'Of 1 fill, 1 had the frame loaded and 1 a render reported.'],
  [1, 1, 0, 'Of 1 fill, 1 had the frame loaded and 0 a render reported.'],
  [1, 0, 1, 'Of 1 fill, 0 had the frame loaded and 1 a render reported.'],
  [1, 0, 0, 'Of 1 fill, 0 had the frame loaded and 0 a render reported.'],
  [3, 2, 1, 'Of 3 fills, 2 had the frame loaded and 1 a render reported.'],
])(
  'of %i fills, with %i frames loaded and %i renders reported, none is said to be shown',
  (filled, framed, rendered, text) => {
    expect(judge(filled, framed, rendered)).toEqual([text])
  },
)

test('without a fill there is nothing to say', () => expect(judge(0, 0, 0)).toEqual([]))
