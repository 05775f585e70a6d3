import { expect, test } from 'vitest'
import { printedRows } from './separated.ts'

const all = { fields: null, isIso: true } as const

test('a header and a line for each row, with dotted names, dates, and lists as JSON', () => {
  const rows = [
    { slot_id: 'slot_1', created_at_ms: 0, fill: true, price: { cpm: -2.5, currency: 'USD' }, sizes: [1, 2] },
    { slot_id: 'slot_2', created_at_ms: 1_000, fill: null, price: {}, extra: 'later' },
  ]
  expect(printedRows(rows, 'csv', all)).toBe(
    [
      'slot_id,created_at,fill,price.cpm,price.currency,sizes,extra',
      'slot_1,1970-01-01T00:00:00.000Z,true,-2.5,USD,"[1,2]",',
      'slot_2,1970-01-01T00:00:01.000Z,,,,,later',
      '',
    ].join('\r\n'),
  )
  expect(printedRows(rows, 'tsv', { fields: ['created_at_ms', 'slot_id'], isIso: false })).toBe(
    'created_at_ms\tslot_id\n0\tslot_1\n1000\tslot_2\n',
  )
  expect(printedRows([], 'csv', all)).toBe('')
})

test('texts are one line each, quoted, and never a formula', () => {
  const innocent = ['a; b', '1-1', 'x=1', 'a@b.test', 'text/html;q=0.8', "it's"]
  const rows = innocent.map((text) => ({ text }))
  expect(printedRows(rows, 'csv', all)).toBe(['text', ...innocent, ''].join('\r\n'))
  const hostile = ['=1+1', '+1', '-1', '@cmd', '\t=1', 'a "b", c', 'a\r\nb', '\u001b[2J', '＝1', ';=1', 'a;@x']
  const lines = printedRows(
    hostile.map((text) => ({ text })),
    'csv',
    all,
  ).split('\r\n')
  expect(lines).toEqual([
    'text',
    "'=1+1",
    "'+1",
    "'-1",
    "'@cmd",
    "' =1",
    '"a ""b"", c"',
    'a b',
    '\\u001b[2J',
    "'＝1",
    "';'=1",
    "a;'@x",
    '',
  ])
  expect(printedRows([{ a: 'x\ty', b: -1 }], 'tsv', all)).toBe('a\tb\nx y\t-1\n')
})

test('csv has the separator and the mark that a spreadsheet needs', () => {
  const rows = [{ a: 'x;y', b: 'x,y' }]
  const form = (delimiter: string, bom = false) => printedRows(rows, 'csv', { ...all, form: { delimiter, bom } })
  expect([form(';'), form('\t'), form(',', true)]).toEqual([
    'a;b\r\n"x;y";x,y\r\n',
    'a\tb\r\nx;y\tx,y\r\n',
    '\ufeffa,b\r\nx;y,"x,y"\r\n',
  ])
})

test('a field that no row has is an error with those that there are', () => {
  expect(() => printedRows([{ a: 1, b: 2 }], 'csv', { fields: ['c'], isIso: true })).toThrow(
    expect.objectContaining({ message: 'There is no field c.', hint: 'The fields are: a, b' }),
  )
})
