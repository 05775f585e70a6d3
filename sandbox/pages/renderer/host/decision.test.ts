import { expect, test } from 'vitest'
import { readDecision } from './decision.ts'

const render = {
  strategy: 'hosted_frame',
  frame_url: 'http://127.0.0.1:4010/v1/render/ast_1_x',
  media_type: 'image',
  width: 300,
  height: 250,
  label_text: 'Sponsored',
  sponsor_name: 'Larkfield Coffee',
}
const placement = { asset_token: 'ast_1_x', render }

test('a fill, a no-fill, a pending and an expired decision are distinguished', () => {
  expect(readDecision({ status: 'ready', placement, decision: { fill: true } })).toEqual({ kind: 'filled', placement })
  expect(
    readDecision({ status: 'ready', placement: null, decision: { fill: false, no_fill_reason: 'no_demand' } }),
  ).toEqual({ kind: 'no_fill', no_fill_reason: 'no_demand' })
  expect(readDecision({ slot_id: 'slot_1', status: 'pending', placement: null, decision: null })).toEqual({
    kind: 'pending',
    slot_id: 'slot_1',
  })
  expect(readDecision({ status: 'expired', placement: null, decision: null })).toEqual({ kind: 'expired' })
})

test.each([
  [null, ['object: null']],
  ['<html>', ['string: <html>']],
  [{}, []],
  [{ status: 'unheard_of', placement: null, decision: null }, ['status', 'placement', 'decision']],
  [{ placement: { render } }, ['placement.render']],
])('%j is unreadable and says what came', (response, got) => {
  expect(readDecision(response)).toEqual({ kind: 'unreadable', got })
})

test('a response in a field of another is unreadable, and that field is named', () => {
  expect(readDecision({ data: { placement } })).toEqual({ kind: 'unreadable', got: ['data'], wrapped_in: 'data' })
})

test.each([
  { frame_url: 'javascript:alert(1)' },
  { frame_url: '/v1/render/ast_1_x' },
  { strategy: 'inline_html' },
  { label_text: ' ' },
  { sponsor_name: undefined },
  { width: 0 },
  { height: 1e9 },
  { media_type: 'audio' },
])('a placement with %j cannot be rendered', (wrong) => {
  expect(readDecision({ placement: { ...placement, render: { ...render, ...wrong } } }).kind).toBe('unreadable')
})
