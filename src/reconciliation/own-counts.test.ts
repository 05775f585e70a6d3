import { describe, expect, test } from 'vitest'
import { formatToken } from '#contract/ids.ts'
import { separatedText } from '#contract/separated.ts'
import { parseColumnMap } from './columns.ts'
import { OwnFileError, parseOwnFile } from './own-file.ts'
import { readOwnReport } from './reconciliation.ts'

function read(text: string, ...map: string[]) {
  const { counts, columns } = readOwnReport(parseOwnFile(text), parseColumnMap(map))!
  return {
    key: counts.key,
    metrics: counts.metrics,
    rows: counts.rows.map(({ line, key, counts }) => [line, key, counts]),
    columns: Object.fromEntries(columns.map(({ column, field }) => [column, field])),
  }
}

function failure(text: string, ...map: string[]): [message: string, hint: string] {
  try {
    read(text, ...map)
  } catch (error) {
    if (error instanceof OwnFileError) return [[error.message, ...error.rows].join('\n  '), error.hint]
    throw error
  }
  throw new Error('it was read')
}

describe('a file is read', () => {
  test.each([
    ['as RFC 4180', '"slot ""id""",clicks\r\n"a,b",1\r\n"two\nlines",2\r\n', [2, 'a,b'], [3, 'two\nlines']],
    ['with line feeds and no end', 'slot "id",clicks\na,1\n\nb,2', [2, 'a'], [4, 'b']],
    ['with semicolons', 'slot "id";clicks\na;1\nb;2\n', [2, 'a'], [3, 'b']],
    ['with tabs', 'slot "id"\tclicks\na"\t1\nb\t2\n', [2, 'a"'], [3, 'b']],
    ['as JSON lines', '{"slot \\"id\\"":"a","clicks":1}\n\n{"clicks":2,"slot \\"id\\"":"b"}\n', [1, 'a'], [3, 'b']],
  ])('%s', (_name, text, one, two) => {
    expect(read(text, 'slot "id"=slot_id').rows).toEqual([
      [...one, { click: 1 }],
      [...two, { click: 2 }],
    ])
  })

  test('as svc writes it, with apostrophes before formulas', () => {
    const rows = [new Map<string, unknown>(Object.entries({ session_id: '=1+1', clicks: 2 }))]
    for (const format of ['csv', 'tsv'] as const) {
      const text = separatedText({ names: ['session_id', 'clicks'], rows }, format, (cell) => cell)
      expect(read(text).rows).toEqual([[2, '=1+1', { click: 2 }]])
    }
  })

  test('is empty without a row', () => {
    for (const text of ['', '\n', 'slot_id,clicks\n']) expect(readOwnReport(parseOwnFile(text), new Map())).toBeNull()
  })

  test('is refused by line where its form is damaged', () => {
    expect(failure('slot_id,clicks\na,1\nb\nc,1,2\n')[0]).toBe(
      '2 rows cannot be read:\n  line 3: it has 1 cells, and the header 2\n  line 4: it has 3 cells, and the header 2',
    )
    expect(failure('slot_id,clicks\na,"1\n')[0]).toContain('line 2: a quote is not closed')
    expect(failure('slot_id,clicks\n"a"b,1\n')[0]).toContain('line 2: text follows the closing quote')
    expect(failure('{"slot_id":"a"}\n{"slot_id":\n7\n')[0]).toContain('line 2: it is not JSON')
    expect(failure('[{"slot_id":"a"}]')).toEqual(['It is one JSON document.', expect.stringContaining("jq -c '.[]'")])
    expect(failure('clicks,clicks\n1,1\n')[0]).toBe('Two columns are named clicks.')
  })

  test('names at most ten lines', () => {
    const rows = Array.from({ length: 14 }, (_, index) => `s${index},x`)
    const [message] = failure(['slot_id,clicks', ...rows].join('\n'))
    expect(message.split('\n')).toHaveLength(12)
    expect(message).toContain('14 rows cannot be read:\n  line 2: clicks is x: it must be a whole number from 0')
    expect(message).toContain('and 4 more')
  })
})

describe('columns are found', () => {
  test('by usual names, in any case', () => {
    expect(read('Date,Impressions,Viewable Impressions,Clicks,CTR\n2026-01-31,10,5,1,0.1\n')).toEqual({
      key: 'day',
      metrics: ['rendered_impression', 'viewable_impression', 'click'],
      rows: [[2, '2026-01-31', { rendered_impression: 10, viewable_impression: 5, click: 1 }]],
      columns: {
        Date: 'day',
        Impressions: 'rendered_impression',
        'Viewable Impressions': 'viewable_impression',
        Clicks: 'click',
      },
    })
  })

  test('of events, each a row, with or without a count', () => {
    const text =
      'slotId,event,timestamp\na,rendered,2026-01-31T12:00:00Z\na,on_view,1769860800\nb,heartbeat,1769860800000\n'
    expect(read(text).rows).toEqual([
      [2, 'a', { rendered_impression: 1 }],
      [3, 'a', { viewable_impression: 1 }],
    ])
    expect(readOwnReport(parseOwnFile(text), new Map())!.counts.other_events).toEqual([{ event: 'heartbeat', rows: 1 }])
    expect(read('day,event,count\n2026-01-31,click,"1,204"\n').rows).toEqual([[2, '2026-01-31', { click: 1_204 }]])
    expect(failure('slot_id,event\na,purchase\n')[0]).toBe('No event of it is a metric: purchase.')
  })

  test('of an asset token, which becomes its slot', () => {
    const token = formatToken('ast', 7, 'x'.repeat(43))
    expect(read(`asset_token,clicks\n${token},1\n`)).toMatchObject({
      key: 'slot_id',
      rows: [[2, 'slot_00000000007', { click: 1 }]],
    })
    const [message] = failure(`asset_token,clicks\n${token}x,1\n`)
    expect(message).toContain('line 2: asset_token is no asset token')
    expect(message).not.toContain('xxx')
    expect(failure(`slot_id,clicks\na,${token}\n`)[0]).not.toContain('xxx')
  })

  test('by --map, which goes before the names', () => {
    const text = 'slot_id,Ad views,views,chat\na,1,9,s1\n'
    expect(read(text, 'Ad views=viewable_impression').rows).toEqual([[2, 'a', { viewable_impression: 1 }]])
    expect(read(text, 'chat=session_id')).toMatchObject({
      key: 'session_id',
      rows: [[2, 's1', { viewable_impression: 9 }]],
    })
  })

  test('or the file is refused, with what to write', () => {
    expect(failure('who,clicks\na,1\n')).toEqual([
      'No column of it is a slot, an asset token, a session or a day.',
      expect.stringContaining('--map who=slot_id. Its columns are: who, clicks.'),
    ])
    expect(failure('slot_id,colour\na,1\n')[0]).toBe('No column of it counts anything.')
    expect(failure('slot_id,views,viewed\na,1,1\n')).toEqual([
      'The columns views and viewed both could be viewable_impression.',
      'Choose one: --map views=viewable_impression',
    ])
    expect(failure('slot_id,clicks\na,1\n', 'klicks=click')[1]).toContain('Did you mean clicks?')
    expect(failure('slot_id,clicks\na,1\n', 'clicks=klick')[1]).toContain('Did you mean --map clicks=click?')
    expect(failure('slot_id,Taps\na,1\n', 'click=Taps')[1]).toContain('Your column comes first: --map Taps=click.')
    expect(failure('slot_id,clicks\na,1\n', 'clicks')[0]).toBe('--map cannot read clicks.')
  })
})

describe('a value', () => {
  test.each([
    ['', 0],
    ['0', 0],
    ['12', 12],
    ['1.0', 1],
    ['1,204', 1_204],
    ['true', 1],
    ['No', 0],
  ])('%j is a count', (cell, count) => {
    expect(read(`slot_id,clicks\na,"${cell}"\n`).rows).toEqual([[2, 'a', { click: count }]])
  })

  test.each(['-1', '1.5', 'x', 'constructor', '1e3', '12,34', '99999999999999999999'])('%j is none', (cell) => {
    expect(failure(`slot_id,clicks\na,"${cell}"\n`)[0]).toContain('line 2: clicks is')
  })

  test.each([
    ['2026-01-31', '2026-01-31'],
    ['20260131', '2026-01-31'],
    ['2026-01-31T23:30:00-02:00', '2026-02-01'],
    ['2026-01-31 23:30:00', '2026-01-31'],
    ['1769860800', '2026-01-31'],
    ['1769860800000', '2026-01-31'],
  ])('%j is a day', (cell, day) => {
    expect(read(`day,clicks\n${cell},1\n`).rows).toEqual([[2, day, { click: 1 }]])
  })

  test.each(['2026-02-30', '31/01/2026', 'Total', ''])('%j is no day', (cell) => {
    expect(failure(`day,clicks\n${cell},1\n`)[0]).toContain('line 2: day is')
  })
})
