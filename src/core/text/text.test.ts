import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { type Column, tableLines } from './table.ts'
import { chooseStyle, plainStyle, type Style } from './terminal.ts'
import { alignPairs, brokenLines, cutText, hangingLines, timeText } from './text.ts'

const style = (columns?: number): Style => ({ ...plainStyle, columns })
const columns: Column[] = [
  { name: 'slot', field: 'slot_id', kind: 'id' },
  { name: 'campaign', rank: 2 },
  { name: 'why', least: 20 },
]
const row = {
  slot_id: 'slot_0388zjvr001',
  campaign: 'cmp_larkfield_coffee',
  why: 'Buys other topics; a topic counts only with semantic_targeting.',
}

test('a table fits the terminal: columns are dropped by rank, an identifier is never cut', () => {
  const wide = tableLines(columns, [row], style(80))
  expect(wide.map((line) => line.length)).toEqual([43, 80])
  expect(wide[1]).toContain('cmp_larkfield_coffee  Buys other')
  const left_out: string[][] = []
  const narrow = tableLines(columns, [row], { ...style(50), view: { ...plainStyle.view, left_out } })
  expect(narrow).toEqual(['slot              why', 'slot_0388zjvr001  Buys other topics; a topic coun…'])
  expect(left_out).toEqual([['campaign']])
  expect(tableLines(columns, [row], style(20))[1]).toBe('slot_0388zjvr001  Buys ot…')
  const prose = tableLines([columns[0]!, { name: 'why', kind: 'prose' }], [row], style(50))
  expect(prose.slice(1)).toEqual([
    'slot_0388zjvr001  Buys other topics; a topic',
    '                  counts only with',
    '                  semantic_targeting.',
  ])
})

test('a text with a word that has no room beside its head begins below it, so that a path stays whole', () => {
  const path = '/home/someone/.local/state/svc/sandbox.db'
  const head = '  ✓ database           '
  expect(hangingLines(head, `${path} is intact, with 3 chains.`, 50)).toEqual([
    '  ✓ database',
    `    ${path} is`,
    '    intact, with 3 chains.',
  ])
  expect(hangingLines(head, 'The database is intact, with 3 chains.', 50)).toEqual([
    `${head}The database is intact,`,
    `${' '.repeat(head.length)}with 3 chains.`,
  ])
  expect(hangingLines(head, path, 80)).toEqual([head + path])
  expect(hangingLines(' '.repeat(20), path, 50)).toEqual([`    ${path}`])
})

test('off a terminal, and with --wide, nothing is cut or dropped', () => {
  const asked = { ...style(50), view: { ...plainStyle.view, wide: true } }
  for (const each of [style(), asked])
    expect(tableLines(columns, [row], each)[1]).toBe(`slot_0388zjvr001  cmp_larkfield_coffee  ${row.why}`)
})

test('times are short in terminal tables, full elsewhere, and as --time says', () => {
  const now_ms = Date.UTC(2026, 0, 31, 12, 5)
  const at = (columns: number | undefined, time: (typeof plainStyle)['view']['time'] = null) => ({
    ...plainStyle,
    columns,
    view: { ...plainStyle.view, now_ms, time },
  })
  const of = (epoch_ms: number, to = at(80)) => timeText(epoch_ms, to, true)
  expect(of(now_ms - 79_000)).toBe('12:03:41')
  expect(of(Date.UTC(2026, 0, 30, 12, 3))).toBe('Jan 30 12:03')
  expect(of(Date.UTC(2025, 0, 30))).toBe('2025-01-30')
  expect(of(now_ms - 79_000, at(undefined))).toBe('2026-01-31T12:03:41.000Z')
  expect([-79_000, -2, 7_200_000, 900_000_000].map((span) => of(now_ms + span, at(80, 'relative')))).toEqual([
    '1m ago',
    'now',
    'in 2h',
    'in 10d',
  ])
  expect(of(now_ms, at(80, 'ms'))).toBe(String(now_ms))
  expect(of(9e15)).toBe('9000000000000000')
})

test('wide characters and emoji take two columns, and are never cut in two', () => {
  const lines = tableLines(
    [{ name: 'topic' }, { name: 'count' }],
    [
      { topic: '茶と珈琲', count: 1 },
      { topic: '👩‍👩‍👧 tea', count: 20 },
      { topic: 'plain', count: 300 },
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

test('a coloured value continues below its first word, as a plain one does', () => {
  const colored = chooseStyle({ write: () => {}, is_terminal: true, columns: 50 }, 'always', {})
  const value = (color: Style) =>
    alignPairs([['outcome', `ready, ${color.yellow('no fill')}: size_mismatch. No creative fits slot_hint.`]], color)
  const plain = value(style(50))
  expect(plain).toEqual(['outcome  ready, no fill: size_mismatch. No', '         creative fits slot_hint.'])
  expect(value(colored).map(stripVTControlCharacters)).toEqual(plain)
})

test('a body that is broken at a width loses nothing', () => {
  expect(brokenLines('body: ', 'a  b 茶と珈琲', 11)).toEqual(['body: a  b ', '      茶と', '      珈琲'])
  expect(brokenLines('body: ', 'a  b 茶と珈琲', undefined)).toEqual(['body: a  b 茶と珈琲'])
  expect(brokenLines('', '', 10)).toEqual([''])
})
