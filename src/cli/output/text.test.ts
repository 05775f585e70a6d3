import { expect, test } from 'vitest'
import { plainStyle, type Style } from './style.ts'
import { alignPairs, alignTable, cutText } from './text.ts'

const style = (columns?: number): Style => ({ ...plainStyle, columns })
const head = ['slot_id', 'why']
const rows = [['slot_0388zjvr001', 'Buys other topics; a topic counts only with semantic_targeting.']]

test('a table fits the terminal, and never cuts an identifier', () => {
  const lines = alignTable(head, rows, style(60))
  expect(lines.map((line) => line.length).every((length) => length <= 58)).toBe(true)
  expect(lines[1]).toContain('slot_0388zjvr001')
  expect(lines[1]?.endsWith('…')).toBe(true)
})

test('off a terminal nothing is cut', () => {
  expect(alignTable(head, rows, style())[1]).toContain(rows[0]![1])
})

test('wide characters and emoji take two columns, and are never cut in two', () => {
  const lines = alignTable(
    ['topic', 'count'],
    [
      ['茶と珈琲', 1],
      ['👩‍👩‍👧 tea', 20],
      ['plain', 300],
    ],
    style(),
  )
  expect(lines).toEqual(['topic     count', '茶と珈琲      1', '👩‍👩‍👧 tea       20', 'plain       300'])
  expect(
    alignPairs(
      [
        ['飲み物', '茶'],
        ['topic', 'tea'],
      ],
      style(),
    ),
  ).toEqual(['飲み物  茶', 'topic   tea'])
  expect([cutText('茶と珈琲', 6), cutText('茶と珈琲', 8), cutText('👩‍👩‍👧👩‍👩‍👧', 3)]).toEqual([
    '茶と…',
    '茶と珈琲',
    '👩‍👩‍👧…',
  ])
})
