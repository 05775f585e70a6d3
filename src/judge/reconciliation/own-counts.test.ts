import { describe, expect, test } from 'vitest'
import { formatToken } from '#contract/ids.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { separatedText } from '#contract/separated.ts'
import { parseDayExample } from './cells/calendar.ts'
import { parseNumberExample } from './cells/numbers.ts'
import { suggestMetric } from './column-words.ts'
import { parseMap } from './columns.ts'
import { decodeOwnFile } from './file-bytes.ts'
import { parseOwnFile } from './own-file.ts'
import { OwnFileError } from './own-file-error.ts'
import { describeReading, type OwnReport, readOwnReport } from './own-report.ts'

interface Given {
  map?: readonly string[]
  numbers?: string
  dates?: string
}

function report(content: string | Uint8Array, { map = [], numbers = '', dates = '' }: Given = {}) {
  const { text, encoding } = decodeOwnFile(typeof content === 'string' ? new TextEncoder().encode(content) : content)
  const settings = {
    map: parseMap(map),
    decimal: parseNumberExample(numbers),
    order: parseDayExample(dates),
  }
  const found = readOwnReport(parseOwnFile(text, settings.map), settings)
  return found === null ? null : { ...found, encoding }
}

function read(content: string | Uint8Array, given: Given = {}) {
  const { counts, columns } = report(content, given)!
  return {
    key: counts.key,
    metrics: counts.metrics,
    rows: counts.rows.map(({ line, key, counts }) => [line, key, counts] as const),
    columns: Object.fromEntries(columns.map(({ column, field }) => [column, field])),
  }
}

function failure(content: string | Uint8Array, given: Given = {}): [message: string, hint: string] {
  try {
    report(content, given)
  } catch (error) {
    if (!(error instanceof OwnFileError)) throw error
    // The inspector shows it: it has no flags, and no command.
    expect(`${error.message} ${error.hint}`).not.toMatch(/(^|\s)--?[a-z]|\bsvc /)
    return [[error.message, ...error.rows].join('\n  '), error.command_hint]
  }
  throw new Error('it was read')
}

/** Returns the counts of each key, as `key 1 2`, and how the file was read, but for columns that were not. */
function summary(found: (OwnReport & { encoding: string }) | null): [counts: string[], notes: string[]] {
  const rows = found?.counts.rows ?? []
  const texts = rows.map(({ key, counts }) => [key, ...Object.values(counts)].join(' '))
  const notes = found === null ? [] : [...describeReading(found)]
  return [texts, notes.filter((note) => !/^Not read: (?!other lists)/.test(note))]
}

const [a, b, c] = ['slot_00000000001', 'slot_00000000002', 'slot_00000000003']
const latin = (text: string) => Buffer.from(text, 'latin1')
const utf16 = (text: string) => Buffer.from(text, 'utf16le')

describe('a file is read as programs write it', () => {
  const three = [`${a} 1`, `${b} 2`, `${c} 3`]
  const read1 = 'Read viewable_impression from Views.'
  const table: [name: string, content: string | Uint8Array, counts: string[], notes: string[]][] = [
    ['RFC 4180', `slot_id,Note,Views\r\n${a},"x, ""y""\nz",1\r\n"${b}",,"2"\r\n${c},,3\r\n`, three, [read1]],
    ['a spreadsheet, German', `slot_id;Views;Größe\r\n${a};1;x\r\n${b};2;\r\n${c};3;x\r\n`, three, [read1]],
    [
      'a spreadsheet, German, as "CSV"',
      latin(`slot_id;Views;Gr\u00f6\u00dfe\r\n${a};1;x\r\n${b};2;\r\n${c};3;x\r\n`),
      three,
      [read1, 'It is not UTF-8, and was read as Windows-1252.'],
    ],
    ['sep=', `sep=;\r\nslot_id;Views\r\n${a};1\r\n${b};2\r\n${c};3\r\n`, three, [read1, 'The header is in line 2.']],
    ['"sep=\t"', `"sep=\t"\nslot_id\tViews\n${a}\t1\n${b}\t2\n${c}\t3`, three, [read1, 'The header is in line 2.']],
    [
      'a spreadsheet, Unicode text',
      utf16(`\ufeffslot_id\tViews\tName\r\n${a}\t1\t"a, b"\r\n${b}\t2\t"say ""hi"""\r\n${c}\t3\tx\r\n`),
      three,
      [read1],
    ],
    ['UTF-16 without a mark', utf16(`slot_id,Views\n${a},1\n${b},2\n${c},3\n`), three, [read1]],
    ['tabs, a quote as a character', `slot_id\tName\tViews\n${a}\t"5\t1\n${b}\tx"y\t2\n${c}\t\t3\n`, three, [read1]],
    [
      'a terminal, with lines that are drawn',
      `┌──────────┬───────┐\n│ slot_id  │ Views │\n├──────────┼───────┤\n│ ${a} │ 1 │\n│ ${b} │ 2 │\n│ ${c} │ 3 │\n└──────────┴───────┘\n`,
      three,
      [read1, 'The header is in line 2.'],
    ],
    [
      'Tableau: tabs, and commas in days and counts',
      'Day of Date\tViews\nNovember 27, 2026\t1,204\nNovember 28, 2026\t1,310\nGrand Total\t2,514\n',
      ['2026-11-27 1204', '2026-11-28 1310'],
      [
        'Read day from Day of Date, viewable_impression from Views (thousands with a comma).',
        'Left out as a total: line 4 (Grand Total).',
      ],
    ],
    ['bars', `slot_id|Views\n${a}|1\n${b}|2\n${c}|3\n`, three, [read1]],
    [
      'a terminal, with a ruled line',
      ` slot_id          | views\n------------------+-------\n ${a} |     1\n ${b} |     2\n ${c} |     3\n(3 rows)\n`,
      three,
      ['Read viewable_impression from views.', 'Left out as a note: line 6 ((3 rows)).'],
    ],
    ['old Macs', `slot_id,Views\r${a},1\r${b},2\r${c},3\r`, three, [read1]],
    ['rows of separators, blanks', `slot_id,Views,Note\n${a},1,\n  \n,,\n${b},2\n${c},3,\n,,\n`, three, [read1]],
    ['a separator more than the header', `slot_id,Views\n${a},1,\n${b},2,\n${c},3,,\n`, three, [read1]],
    [
      'marks that are not seen',
      `\u200bslot_id,Views\u200b\n${a},\u00a01\u200b\n\u200e${b},2\n${c}\u2060,3\n`,
      three,
      [read1],
    ],
    ['two columns of one name', `slot_id,Views,Name,Name\n${a},1,x,y\n${b},2,,\n${c},3,,\n`, three, [read1]],
    [
      'an ad server',
      `Report Title,,\nDate/Time Generated,"4/12/26 11:13 AM",\nReport Time Zone,America/New_York,\n\nReport Fields\nslot_id,Views,Site\n${a},1,x\n${b},2,x\n${c},3,x\nGrand Total:,6,\n`,
      three,
      [read1, 'The header is in line 6.', 'Left out as a total: line 10 (Grand Total:).'],
    ],
    [
      'a BI tool, with totals of groups and a footer',
      `Campaign,slot_id,Views\nSpring,${a},1\nSpring,${b},2\nSpring Total,,3\nAutumn,${c},3\nTotal,,6\n\nExported by Ann on 28 November 2026\n`,
      three,
      [
        read1,
        'Left out as a total: line 4 (Spring Total), line 6 (Total).',
        'Left out as a note: line 8 (Exported by Ann on 28 November 2026).',
      ],
    ],
    [
      'two exports in one file',
      `slot_id,Views\n${a},1\nslot_id,Views\n${b},2\n${c},3\n`,
      three,
      [read1, 'Left out as the header again: line 3 (slot_id).'],
    ],
    [
      'JSON lines',
      `{"slot_id":"${a}","Views":1}\n\n{"Views":2,"slot_id":"${b}"}\n{"slot_id":"${c}","Views":"3"}\n`,
      three,
      [read1],
    ],
    [
      'a list of the API',
      JSON.stringify(
        { items: [a, b, c].map((slot_id, index) => ({ slot_id, Views: index + 1 })), next_cursor: null },
        null,
        2,
      ),
      three,
      [read1],
    ],
    [
      'one JSON array',
      JSON.stringify([a, b, c].map((slot_id, index) => ({ slot_id, Views: index + 1 }))),
      three,
      [read1],
    ],
    [
      'counts in an object of their own',
      JSON.stringify(
        [a, b, c].map((slot_id, index) => ({ keys: { slot_id }, counts: { viewable: index + 1, fills: 9 } })),
      ),
      three,
      ['Read slot_id from keys.slot_id, viewable_impression from counts.viewable.'],
    ],
    [
      'a list in a report, with its totals and another list',
      JSON.stringify({
        report: {
          filters: [{ field: 'site' }],
          totals: { Views: 6, Reach: 2 },
          rows: [a, b, c].map((slot_id, index) => ({ slot_id, Views: index + 1 })),
        },
      }),
      three,
      [read1, 'Left out as totals beside the rows: totals.', 'Not read: other lists (report.filters).'],
    ],
    [
      'one of a report API: counts as texts, totals as a list of one, in an array of one',
      JSON.stringify([
        {
          total: [{ metrics: { views: '6' } }],
          results: [a, b, c].map((slot_id, index) => ({ segments: { slot_id }, metrics: { views: `${index + 1}` } })),
          next_page_token: '',
          links: { next: null },
        },
      ]),
      three,
      [
        'Read slot_id from segments.slot_id, viewable_impression from metrics.views.',
        'Left out as totals beside the rows: total.',
      ],
    ],
    [
      'arrays below a header',
      JSON.stringify({
        values: [['My report'], [], ['slot_id', ' Views'], [a, 1], [b, '2'], [c, 3]],
      }),
      three,
      [read1],
    ],
    [
      'arrays, their names beside them, with a total',
      JSON.stringify({
        meta: [{ name: 'slot_id' }, { name: 'Views' }],
        data: [
          [a, 1],
          [b, 2],
          [c, 3],
        ],
        totals: ['', 6],
      }),
      three,
      [read1, 'Left out as totals beside the rows: totals.'],
    ],
    [
      'an object with a list for each column',
      JSON.stringify({ report: { slot_id: [a, b, c], Views: [1, '2', 3] }, totals: { Views: 6 } }),
      three,
      [read1, 'Left out as totals beside the rows: totals.'],
    ],
    [
      'columns by the number of the row',
      JSON.stringify({ slot_id: { 0: a, 1: b, 2: c }, Views: { 0: 1, 1: 2, 2: 3 } }),
      three,
      [read1],
    ],
    ['an array on each line', `["slot_id","Views"]\n["${a}",1]\n["${b}",2]\n["${c}",3]\n`, three, [read1]],
    [
      'one row, with a list in it',
      JSON.stringify({ slot_id: a, Views: 1, tags: [{ id: 1 }], beacons: [{ id: 2 }] }, null, 2),
      [`${a} 1`],
      [read1],
    ],
    [
      'a title in brackets',
      `[Views by slot],\nslot_id,Views\n${a},1\n${b},2\n${c},3\n`,
      three,
      [read1, 'The header is in line 2.'],
    ],
    [
      'formulas that keep texts',
      `="slot_id",="Views",Note\n="${a}",="1",="say ""x"""\n"=""${b}""","=""2""",\n${c},3,=SUM(B2:B3)\n`,
      three,
      [read1],
    ],
    [
      'placements by name, which are no slots',
      'Placement,Date,Views\nHomepage,2026-01-31,1\nSidebar,2026-01-31,2\n',
      ['2026-01-31 1', '2026-01-31 2'],
      ['Read day from Date, viewable_impression from Views.'],
    ],
  ]
  test.each(table)('%s', (_name, content, counts, notes) => {
    expect(summary(report(content))).toEqual([counts, notes])
  })

  test('each row has its line', () => {
    const lines = (content: string) => read(content).rows.map(([line]) => line)
    expect(lines(`"slot_id","Views"\r\n${a},"1"\r\n"${b}\n",2\r\n\r\n${c},3`)).toEqual([2, 3, 6])
    expect(lines(`\n\nslot_id;Views\n${a};1\n`)).toEqual([4])
    expect(lines(`{"slot_id":"${a}","views":1}\n\n{"slot_id":"${b}","views":1}`)).toEqual([1, 3])
  })

  test('as svc writes it, with apostrophes before formulas', () => {
    for (const session_id of ['=1+1', ';=1+1', '＝1', '@x', 'a;=b', "it's"]) {
      const rows = [new Map<string, unknown>(Object.entries({ session_id, clicks: 2 }))]
      for (const format of ['csv', 'tsv'] as const) {
        const text = separatedText({ names: ['session_id', 'clicks'], rows }, format, (cell) => cell)
        expect(text).not.toMatch(/(^|[\t,;])[=＝@]/m)
        expect(read(text).rows, session_id).toEqual([[2, session_id, { click: 2 }]])
      }
    }
  })

  test('is empty without a row', () => {
    for (const text of [
      '[]',
      '{"rows":[]}',
      '',
      '\n',
      '\n\n',
      'slot_id,clicks\n',
      'slot_id,clicks\nTotal,0\n',
      'sep=;',
    ]) {
      expect(report(text), text).toBeNull()
    }
  })
})

describe('what looks like a part of something longer, and is none, is read', () => {
  const rows = [a, b].map((slot_id) => ({ slot_id, views: 1 }))
  test.each([
    { rows, page: 1, total_pages: 1, total: 2, per_page: 50 },
    { rows, total: 7 },
    { rows, meta: { current_page: 1, last_page: 1, total_count: 2 }, truncated: false },
    { rows, page: 7, total_pages: 7, total_rows: 2 },
    { rows, continuationToken: null, isLast: true, more: false, incomplete_results: false },
    { rows, summary: { views: 2 }, unattributed: { views: 0 }, filters: { views: '> 5' }, budget: { clicks: 9 } },
  ])('%j', (document) => expect(read(JSON.stringify(document)).rows).toHaveLength(2))

  test.each([
    ['a summary above the header', `Views,Clicks\n2,0\n\nslot_id,Views\n${a},1\n${b},1\n`],
    ['a title with the words of a header', `Date: 2026-11-27,Views by slot\n\nslot_id,Views\n${a},1\n${b},1\n`],
    ['a note of several lines', `slot_id,Note,Views\n${a},"x,\ny,z",1\n${b},"1,2\n3",1\n`],
    ['a note in the cell of a row of events', `event,slot_id\nviews,${a}\nviews,${b}\nGenerated by Ann,\n`],
    ['a note in a column that is not read', `slot_id,Views,Note\n${a},1,\n${b},1,\n,,by Ann\n`],
    ['a note without a line end', `slot_id,Views\n${a},1\n${b},1\nEnd of slots`],
  ])('%s', (_, text) => expect(read(text).rows).toHaveLength(2))
})

describe('a file is refused', () => {
  const rows = [{ slot_id: a, views: 1 }]
  test.each<[beside: object, message: RegExp]>([
    [{ page: 1, total_pages: 7 }, /it has total_pages\.$/],
    [{ '@odata.nextLink': 'https://ads.example/?skip=1' }, /it has @odata\.nextLink\.$/],
    [{ truncated: true }, /it has truncated\.$/],
    [{ meta: { current_page: 1, last_page: 3 } }, /it has last_page\.$/],
    [{ pagination: { page: 1, pages: 2 } }, /it has pages\.$/],
    [{ continuationToken: 'x' }, /it has continuationToken\.$/],
    [{ LastEvaluatedKey: { id: 1 } }, /it has LastEvaluatedKey\.$/],
    [{ _scroll_id: 'x' }, /it has _scroll_id\.$/],
    [{ more: true }, /it has more\.$/],
    [{ isLast: false }, /it has isLast\.$/],
    [{ incomplete_results: true }, /it has incomplete_results\.$/],
    [{ rowCount: 2 }, /it has rowCount\.$/],
    [{ total: 40, limit: 1 }, /it has total\.$/],
    [{ totalResults: '2' }, /it has totalResults\.$/],
    [{ unattributed: { views: 12 } }, /^Its unattributed beside the rows has 12 of views\.$/],
  ])('with %j beside its rows', (beside, message) => {
    expect(failure(JSON.stringify({ rows, ...beside }))[0]).toMatch(message)
  })

  test.each<[name: string, content: string, message: RegExp]>([
    [
      'two tables',
      `slot_id,views\n${a},9\n\nslot_id,views,clicks\n${b},2,1\n`,
      /^It has two tables: their headers are in lines 1 and 4\.$/,
    ],
    [
      'two tables in Markdown',
      `| Date | Views |\n|---|---|\n| 2026-11-27 | 9 |\n\n| Date | Views | Clicks |\n|---|---|---|\n| 2026-11-28 | 2 | 1 |\n`,
      /^It has two tables: their headers are in lines 1 and 5\.$/,
    ],
    ['events without a slot below', `slot_id,event\n${a},render\n,render\n,click\n`, /line 3: slot_id is empty/],
    ['a count without a slot below', `slot_id,viewed\n${a},yes\n,yes\n`, /line 3: slot_id is empty/],
    ['events below, in the first column', `event,slot_id\nrender,${a}\nrender,\n`, /line 3: slot_id is empty/],
    [
      'an export that is there twice',
      `slot_id,views\n${a},1\n${b},0\nslot_id,views\n${a},1\n${b},0\n`,
      /^What stands below the header of line 4 is there once before\.$/,
    ],
    ['rows inside quotes', `slot_id\tName\tViews\n${a}\t"Autumn\t1\n${b}\tSale"\t2\nx\ty\t3\n`, /line 4: slot_id is x/],
    [
      'rows inside quotes, with commas',
      `Name,slot_id,Views\n"Autumn,${a},1\nSale",${b},2\n`,
      /line 2: a quoted cell of it holds a line break, and what looks like rows/,
    ],
    ['a last line that is cut off', `Date,Views\n11 Oct 2026,1\n12 Oc`, /line 3: it ends before Views/],
    [
      'a line break in the header',
      `slot_id,Viewable\nimpressions\n${a},1\n`,
      /line 2: .* write the header on one line$/,
    ],
    ['a slot that is cut off', `slot_id,Views\n${a},1\nslot_0`, /line 3: it ends before Views/],
  ])('for %s', (_, content, message) => expect(failure(content)[0]).toMatch(message))

  test.each<[content: string | Uint8Array, message: RegExp]>([
    [Buffer.from('PK\x03\x04\x14\0\x06\0', 'latin1'), /Excel workbook \(\.xlsx\)/],
    [Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), /Excel workbook \(\.xls\)/],
    [Buffer.from([0x1f, 0x8b, 8, 0]), /gzip/],
    [Buffer.from('PAR1', 'latin1'), /Parquet/],
    [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]), /^It is not text/],
    [Buffer.from([0x93, 0xfa, 0x95, 0x74, 0x2c, 0x8d, 0x91, 0x0a]), /^It is not text in UTF-8, UTF-16 or Windows-1252/],
    ['<html><table><tr><td>slot_id</td></tr></table>', /HTML or XML/],
    ['[{"slot_id": "slot_00000000001", "views": 1}', /It begins as a JSON array, and is not JSON/],
    ['[["slot_00000000001", 1]]', /^Its arrays have no header\.$/],
    ['{"data":{"rows":[["2026-01-31", 1]]}}', /^Its arrays have no header\.$/],
    ['{"demo":{"views":1,"clicks":0},"s1":{"views":2,"clicks":1}}', /^Its rows are objects by their keys\.$/],
    ['{"2026-01-30":{"views":2},"2026-01-31":{"views":1}}', /^Its rows are objects by their keys\.$/],
    ['{"metrics":{"views":1,"clicks":0}}', /^No column of it is a slot/],
    ['["slot_00000000001"]', /^It is a JSON array of neither/],
    [
      JSON.stringify({ web: [{ slot_id: a, views: 1 }], app: [{ slot_id: b, views: 1 }] }),
      /^It has several lists that may be the rows: web \(slot_id, views\); app \(slot_id, views\)/,
    ],
    [JSON.stringify({ results: [{ slot_id: a, views: 1 }], next: 'https://ads.example/?page=2' }), /it has next\.$/],
    [JSON.stringify({ data: [{ slot_id: a, views: 1 }], hasMore: true }), /it has hasMore\.$/],
    [
      JSON.stringify({ _links: { next: { href: '/rows?page=2' } }, rows: [{ slot_id: a, views: 1 }] }),
      /one page of a longer list: it has next\.$/,
    ],
    [
      JSON.stringify({ stats: { pageInfo: { hasNextPage: true }, edges: [{ node: { slot_id: a, views: 1 } }] } }),
      /it has hasNextPage\.$/,
    ],
    [
      JSON.stringify({ totals: { views: 3 }, rows: [{ slot_id: a, views: 1 }] }),
      /^Its totals are 3 of views, and the sum of its rows is 1: is the file whole\?/,
    ],
    [JSON.stringify({ items: [{ slot_id: a, views: 1 }], next_cursor: 'x' }), /one page of a longer list/],
    ['clicks,slot_id,clicks\n1,x,1\n', /^Two columns are named clicks\.$/],
  ])('%j', (content, message) => {
    expect(failure(content)[0]).toMatch(message)
  })

  test('by line where its form is damaged', () => {
    expect(failure(`slot_id,clicks,x\n${a},1\n${b}\n${c},1,2,3\n${a},1,1\n`)[0]).toBe(
      '2 rows cannot be read:\n  line 3: it ends before clicks\n  line 4: it has 4 cells, and the header 3: quote cells with the separator in them',
    )
    expect(failure(`slot_id,clicks\n${a},"1\n`)[0]).toContain('line 2: a quote is not closed')
    expect(failure(`slot_id,clicks\n"${a}"b,1\n`)[0]).toContain('line 2: text follows the closing quote')
    expect(failure('{"slot_id":"a"}\n{"slot_id":\n7\n')[0]).toContain('line 2: it is not JSON')
    const deep = `{"slot_id":"a"}\n{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`
    expect(failure(deep)[0]).toContain('line 2: it nests deeper than 64 levels')
  })

  test('with at most ten lines', () => {
    const rows = Array.from({ length: 14 }, () => `${a},x`)
    const [message] = failure(['slot_id,clicks', ...rows].join('\n'))
    expect(message.split('\n')).toHaveLength(12)
    expect(message).toContain('14 rows cannot be read:\n  line 2: clicks is x: it must be a whole number from 0')
    expect(message).toContain('and 4 more')
  })

  test('where a key is none', () => {
    const [message] = failure(`slot_id,clicks\n${a},1\nHomepage,2\n,3\n`)
    expect(message).toContain('line 3: slot_id is Homepage: it must be a slot such as slot_00000000007')
    expect(message).toContain('line 4: slot_id is empty')
    for (const rounded of ['1.23E+19', '1,23457e+18']) {
      expect(failure(`session;clicks\n${rounded};1\n`)[0]).toContain(
        `line 2: session is ${rounded}: a spreadsheet rounded it`,
      )
    }
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
    const text = `slotId,event,timestamp\n${a},rendered,2026-01-31T12:00:00Z\n${a},on_view,1769860800\n${b},heartbeat,1769860800000\n`
    expect(read(text).rows).toEqual([
      [2, a, { rendered_impression: 1 }],
      [3, a, { viewable_impression: 1 }],
    ])
    expect(summary(report(text))[1]).toContain('Not compared: 1 row with the event heartbeat, which is no metric.')
    expect(read('day,event,count\n2026-01-31,click,"1,204"\n').rows).toEqual([[2, '2026-01-31', { click: 1_204 }]])
    expect(failure(`slot_id,event\n${a},purchase\n`)[0]).toBe('No event of it is a metric: purchase.')
    expect(failure(JSON.stringify({ slot_id: a, event: [{ x: 1 }] }))[0]).toBe('No event of it is a metric: [{"x":1}].')
  })

  test('of events, by the choice of the user: several of one metric, and none', () => {
    const text = `slot_id,event\n${a},imp_v2\n${b},imp_v3\n${b},gross_seen\n${a},ping\n`
    const map = [
      'imp_v2=rendered_impression',
      'imp_v3=rendered_impression',
      'gross_seen=viewable_impression',
      'ping=none',
    ]
    expect(read(text, { map }).rows).toEqual([
      [2, a, { rendered_impression: 1 }],
      [3, b, { rendered_impression: 1 }],
      [4, b, { viewable_impression: 1 }],
    ])
    expect(summary(report(text, { map }))[1]).toEqual([
      'Read metric from event.',
      'Read as events: imp_v2 as rendered_impression, imp_v3 as rendered_impression, gross_seen as viewable_impression, ping as none.',
    ])
    // A usual name can be another metric, or none.
    expect(
      read(`day,event,count\n2026-01-31,view,3\n2026-01-31,click,4\n`, {
        map: ['view=rendered_impression', 'click=none'],
      }).rows,
    ).toEqual([[2, '2026-01-31', { rendered_impression: 3 }]])
    expect(failure(text, { map: ['imp_v4=click'] })).toEqual([
      'There is no column and no event imp_v4 in it.',
      expect.stringMatching(/^Did you mean imp_v\d\? .*; its events: imp_v2, imp_v3, gross_seen, ping$/),
    ])
    expect(failure(`slot_id,clicks\n${a},1\n`, { map: ['tap_v2=click'] })[0]).toBe('There is no column tap_v2 in it.')
  })

  test('of two events of one metric, where their user says so; else they are refused, as two columns are', () => {
    const text = `slot_id,event\n${a},render\n${a},loaded\n${b},Render\n`
    expect(read(text.replace('loaded', 'RENDER')).rows).toHaveLength(3)
    expect(read(text, { map: ['loaded=none'] }).rows).toHaveLength(2)
    expect(failure(text)).toEqual([
      'The events render and loaded both could be rendered_impression.',
      'Leave one out: --map loaded=none. If both count: --map render=rendered_impression --map loaded=rendered_impression',
    ])
    expect(failure(text, { map: ['render=rendered_impression'] })[0]).toContain('both could be')
    const both = ['render', 'loaded'].map((event) => `${event}=rendered_impression`)
    expect(read(text, { map: both }).rows).toHaveLength(3)
  })

  test('of events by day, where the count may be in a column that is not read: it is refused', () => {
    const text = (time: string) => `${time},event,Value\n2026-01-31,click,7\n`
    expect(read(text('timestamp')).rows).toEqual([[2, '2026-01-31', { click: 1 }]])
    expect(read('day,event,Name\n2026-01-31,click,x\n').rows).toEqual([[2, '2026-01-31', { click: 1 }]])
    expect(failure(text('day'))).toEqual([
      'Its rows are of events by day, and Value may be how many.',
      'Say what it is: --map Value=count, or Value=none where each row is one event',
    ])
    expect(read(text('day'), { map: ['Value=count'] }).rows[0]?.[2]).toEqual({ click: 7 })
    expect(read(text('day'), { map: ['Value=none'] }).rows[0]?.[2]).toEqual({ click: 1 })
    expect(read('date,event_name,event_count\n20260131,ad_click,7\n').rows[0]?.[2]).toEqual({ click: 7 })
    expect(read(`slot_id,event,time,value\n${a},click,2026-01-31,7\n`).rows[0]?.[2]).toEqual({ click: 1 })
    expect(failure(`slot_id,event,value\n${a},click,7\n`)[0]).toContain('value may be how many')
    expect(failure('day,event,value\n2026-01-31,click,7\n2026-01-31,revenue,1.25\n')[0]).toContain('may be how many')
  })

  test('of a metric in each row, whose value is its count', () => {
    for (const head of ['day,metric,value', 'Date,Measure Names,Measure Values', 'date,variable,value'])
      expect(read(`${head}\n2026-01-31,clicks,7\n2026-01-31,ctr,0.3\n`).rows).toEqual([[2, '2026-01-31', { click: 7 }]])
    const twice = (...map: string[]) => ['day,event,count\n2026-01-31,views,3\n2026-01-31,Views,3\n', { map }] as const
    expect(failure(...twice())[0]).toBe('The events views and Views both could be viewable_impression.')
    expect(read(...twice('Views=none')).rows).toHaveLength(1)
    expect(failure('day,Views,views\n2026-01-31,3,3\n')[0]).toContain('Views and views both could be')
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
    expect(failure(`slot_id,clicks\n${a},${token}\n`)[0]).not.toContain('xxx')
  })

  test('with a line break in its name, which is a blank', () => {
    const columns = { 'Date (UTC)': 'day', 'Viewable impressions': 'viewable_impression' }
    expect(read('"Date\n(UTC)","Viewable\nimpressions"\n2026-01-31,3\n')).toMatchObject({ columns })
  })

  test('by the choice of the user, which goes before the names', () => {
    const text = `slot_id,Ad views,views,chat\n${a},1,9,s1\n`
    expect(read(text, { map: ['Ad views=viewable_impression'] }).rows).toEqual([[2, a, { viewable_impression: 1 }]])
    expect(read(text, { map: ['chat=session_id'] })).toMatchObject({
      key: 'session_id',
      rows: [[2, 's1', { viewable_impression: 9 }]],
    })
    const before = `Ann's report\n\nWho;How often\ns1;2\n`
    expect(read(before, { map: ['Who=session_id', 'How often=click'] }).rows).toEqual([[4, 's1', { click: 2 }]])
  })

  test('or the file is refused, with what to write', () => {
    expect(failure('who,clicks\na,1\n')).toEqual([
      'No column of it is a slot, an asset token, a session or a day.',
      expect.stringContaining('--map "Chat ID=session_id". Its columns are: who, clicks.'),
    ])
    expect(failure(`slot_id,colour\n${a},red\n`)).toEqual([
      'No column of it counts anything.',
      expect.stringContaining('--map "Ad views=viewable_impression". Its columns'),
    ])
    expect(failure(`slot_id,colour,seen,Datum\n${a},red,2,31.01.2026\n`)[1]).toContain(
      '--map "Ad views=viewable_impression".',
    )
    expect(failure(`wer,Ort,views\nx,${a},1\n`)[1]).toContain('--map Ort=slot_id.')
    expect(failure('wer,Wann,views\nx,31.01.2026,1\n')[1]).toContain('--map Wann=day.')
    expect(failure('Metric,2026-01-30,2026-01-31\nViews,2,1\n')).toEqual([
      expect.stringContaining('Its days are columns.'),
      'Turn the table: a row for each day, and a column for each metric.',
    ])
    expect(failure('day        clicks\n---------- ------\n2026-01-30      2\n')[1]).toBe(
      'Export it as CSV, with a separator between its columns. Its only column is: day        clicks.',
    )
    // What is named Data is no day without one.
    expect(failure('Data,Impressioni\nx,2\n')[0]).toContain('No column of it is a slot')
    expect(failure(`slot_id,views,viewed\n${a},1,1\n`)).toEqual([
      'The columns views and viewed both could be viewable_impression.',
      'Choose one: --map views=viewable_impression',
    ])
    const totals = 'day,Impressions,Impressions total\n2026-01-31,1,2\n'
    expect(failure(totals)[0]).toBe('The columns Impressions and Impressions total both could be rendered_impression.')
    const map = ['Impressions total=rendered_impression']
    expect(read(totals, { map }).rows[0]?.[2]).toEqual({ rendered_impression: 2 })
    const mapped = (...map: string[]) => failure(`slot_id,clicks\n${a},1\n`, { map })
    expect(mapped('klicks=click')[1]).toContain('Did you mean clicks?')
    expect(() => parseMap(['clicks=klick'])).toThrow('--map cannot read clicks=klick.')
    expect(() => parseMap(['click=Taps'])).toThrow('--map cannot read click=Taps.')
  })
})

describe('a sum without a label', () => {
  const lines = (...rows: string[]) =>
    report(['day,campaign,impressions,views', ...rows, ''].join('\n'))!.counts.left_out.map(
      ({ line, reason, text }) => `${line} ${reason} of ${text}`,
    )
  const [one, two] = ['2026-01-30,A,6,5', '2026-01-30,B,4,4']

  test('is none where a count differs, a label is there, or one row alone is before it', () => {
    expect(lines(one, two, '2026-01-30,,10,8')).toEqual([])
    expect(lines(one, two, '2026-01-30,C,10,9')).toEqual([])
    expect(lines(one, '2026-01-30,,6,4')).toEqual([])
    expect(lines(one, two, '2026-01-31,,10,9')).toEqual([])
    expect(lines('2026-01-30,A,0,0', '2026-01-30,B,0,0', '2026-01-30,,0,0')).toEqual([])
  })

  test('is left out at the beginning too, only as the sum of all', () => {
    const started = (total: string) => lines(total, one, two, '2026-01-31,A,9,7')
    expect(started(',,19,16')).toEqual(['2 sum of lines 3 to 5'])
    expect(() => started(',,10,9')).toThrow('One row cannot be read')
  })

  test('is left out, and named: of a group, and of all; of one row where the file has others', () => {
    const rows = [one, two, '2026-01-30,,10,9', '2026-01-31,A,9,7', '2026-01-31,,9,7', ',,19,16']
    expect(lines(...rows)).toEqual(['4 sum of lines 2 and 3', '6 sum of line 5', '7 sum of lines 2 to 5'])
    const file = ['day,campaign,impressions,views', one, two, '2026-01-30,,10,9', ''].join('\n')
    expect(summary(report(file))[1]).toContain('Left out: line 4 is the sum of lines 2 and 3.')
  })
})

describe('a column that is not read', () => {
  const unread = (text: string, map: string[] = []) =>
    Object.fromEntries(report(text, { map })!.counts.unread.map(({ column, kind }) => [column, kind]))

  test('is none where all are read, or one is left out on purpose', () => {
    expect(unread(`slot_id,Views,,\n${a},1,,\n`)).toEqual({})
    expect(unread(`slot_id,Views,Reach\n${a},1,5\n`, ['Reach=none'])).toEqual({})
  })

  test('is named, with what reads it; prices and amounts by themselves', () => {
    const text = `slot_id;Views;CTR;Requests;Reach;TKP (\u20ac);Spent\n${a};1;10 %;7;7;4,20;\u20ac 0,0042\n`
    expect(unread(text)).toEqual({
      CTR: 'other',
      Requests: 'other',
      Reach: 'count',
      'TKP (\u20ac)': 'amount',
      Spent: 'amount',
    })
    expect([...describeReading(report(text)!, true)].slice(1)).toEqual([
      'Not read: CTR, Requests, Reach. --map reads one.',
      'Not compared: prices and amounts (TKP (\u20ac), Spent): svc beacons billing',
    ])
  })
})

describe('a name of several words', () => {
  test.each([
    'Measurable impressions',
    'Non-viewable impressions',
    'Viewable impressions rate',
    'Invalid clicks',
    'Ad views',
    'Viewability',
  ])('is no metric: %s', (name) => {
    expect(Object.keys(read(`day,${name},clicks\n2026-01-31,5,2\n`).columns)).toEqual(['day', 'clicks'])
  })

  test.each([
    ['Viewable imps', 'viewable_impression'],
    ['Active View viewable impressions', 'viewable_impression'],
    ['Total Active View viewable impressions', 'viewable_impression'],
    ['Sichtbare Impressionen', 'viewable_impression'],
    ['Ad impressions', 'rendered_impression'],
    ['Total clicks', 'click'],
    ['Klicks', 'click'],
    ['Vollst\u00e4ndige Views', 'completed_view'],
  ])('is read: %s', (name, field) => {
    expect(read(`Datum,${name}\n2026-01-31,5\n`).columns).toEqual({ Datum: 'day', [name]: field })
    expect(read(`Tag,Ereignis,Anzahl\n31.01.2026,${name},5\n`).metrics).toEqual([field])
  })
})

test.each([
  ['Ad server impressions', 'rendered_impression'],
  ['Ad server Active View viewable impressions', 'viewable_impression'],
  ['Sum of Views', 'viewable_impression'],
  ['Sum - rendered', 'rendered_impression'],
  ['Summe von Klicks', 'click'],
  ['SUM(completed)', 'completed_view'],
])('a column of a pivot table or an ad server is read after those of the field itself: %s', (name, field) => {
  expect(read(`day,${name}\n2026-01-31,5\n`).columns).toEqual({ day: 'day', [name]: field })
  expect(read(`day,${name},${field}\n2026-01-31,5,4\n`).columns).toEqual({ day: 'day', [field]: field })
})

test.each([
  'Date;Affichages;Clics',
  'Fecha;Impresiones;Clics',
  'Data;Impressioni;Clic',
  'Data;Impressões;Cliques',
  'Datum;Vertoningen;Klikken',
  'Dzień;Wyświetlenia;Kliknięcia',
  'Tarih;Gösterimler;Tıklamalar',
  'Datum;Exponeringar;Klick',
  '날짜;노출수;클릭수',
  'Дата;Показы;Клики',
  '日付;表示回数;クリック数',
  '日付;インプレッション;クリック',
  '日期;展示次数;点击次数',
])('columns are read in other languages: %s', (head) => {
  expect(read(`${head}\n2026-01-31;5;2\n`).rows).toEqual([[2, '2026-01-31', { rendered_impression: 5, click: 2 }]])
})

describe('what a user is told to write is no wrong choice', () => {
  test.each([
    ...[
      'Measurable Impressions',
      'Viewable Rate',
      'Viewable %',
      'eCPM',
      'Revenue',
      'CTR',
      'Clicks (unique)',
      'Unique Views',
    ],
    ...[
      'Video Starts',
      'Video Views',
      'Completion Rate',
      'Ad Requests',
      'Reach',
      'Impressions (non-viewable)',
      'Invalid Clicks',
    ],
    ...['Views 50%', 'Click Through Rate', 'Imps before dedup', 'First Quartile', 'Seen'],
  ])('%s is proposed as no metric', (name) => {
    expect(suggestMetric(name)).toBeNull()
    expect(failure(`day,${name}\n2026-01-31,1\n`)[1]).toContain(
      'such as --map "Ad views=viewable_impression". Its columns are',
    )
    expect(failure(`day,event\n2026-01-31,${name}\n`)[1]).toContain('Say which it is: --map EVENT=METRIC.')
  })

  test.each<[string, Metric]>([
    ['Ad views', 'viewable_impression'],
    ['in_view', 'viewable_impression'],
    ['clk', 'click'],
    ['Number of imps', 'rendered_impression'],
    ['Total completes', 'completed_view'],
  ])('%s is proposed as %s', (name, metric) => expect(suggestMetric(name)).toBe(metric))

  test('a column of weeks or months is no day', () => {
    for (const name of ['Week', 'Month', 'Report Month', 'Date range', 'Week Start Date', 'Kalenderwoche']) {
      expect(failure(`${name},clicks\n2026-01-26,1\n`)).toEqual([
        `Its column ${name} has weeks, months or other spans of several days, whose sums are not compared.`,
        'Export it by day.',
      ])
      expect(failure(`${name},clicks\n2026-01-26,1\n`, { map: [`${name}=day`] })[1]).toBe('Export it by day.')
    }
    expect(read('Day,Week,clicks\n2026-01-26,5,1\n').rows).toEqual([[2, '2026-01-26', { click: 1 }]])
    const note = (...days: string[]) =>
      summary(report(['day,clicks', ...days.map((day) => `${day},1`), ''].join('\n')))[1]
    expect(note('2026-01-05', '2026-01-12', '2026-01-20')).toEqual(['Read click from clicks.'])
    expect(note('2026-01-11', '2026-02-11')).toEqual(['Read click from clicks.'])
    expect(() => note('2026-01-11', '2026-02-11', '2026-03-11')).toThrow(
      'Its days are a month apart: 2026-01-11, 2026-02-11, 2026-03-11.',
    )
    expect(note('2026-01-01', '2026-02-01')).toContain(
      'Its days are a month apart, and those between are compared as 0: sums of months must be exported by day.',
    )
    expect(note('2026-01-12', '2026-01-05', '2026-01-19')).toContain(
      'Its days are a week apart, and those between are compared as 0: sums of weeks must be exported by day.',
    )
  })
})

describe('a count', () => {
  const count = (cell: string, given: Given = {}) => read(`slot_id,clicks\n${a},"${cell}"\n`, given).rows[0]?.[2].click

  test.each([
    ...[['', 0] as const, ['0', 0] as const, ['12', 12] as const, ['1.0', 1] as const, ['3,00', 3] as const],
    ...[['1,204', 1_204] as const, ['1.204', 1_204] as const, ['1,204,000', 1_204_000] as const],
    ...[['1\u00a0204', 1_204] as const, ['1\u202f204', 1_204] as const, ['1 204', 1_204] as const],
    ...[["1'204", 1_204] as const, ['1’204', 1_204] as const, ['1.204,00', 1_204] as const],
    ...[['12,34,567', 1_234_567] as const, ['0.000', 0] as const],
    ...[
      ['true', 1] as const,
      ['No', 0] as const,
      ['WAHR', 1] as const,
      ['-', 0] as const,
      ['NULL', 0] as const,
      ['NA', 0] as const,
    ],
  ])('is read: %j', (cell, expected) => {
    expect(count(cell)).toBe(expected)
  })

  test.each([
    ['the sum of all', `slot_id,clicks\n${a},1\n${b},2\nGrand Total,3\n`],
    ['subtotals, and their sum', `slot_id,clicks\n${a},1\nTotal,1\n${b},2\nTotal,2\nGrand Total,3\n`],
    ['above its rows', `slot_id,clicks\nTotal,3\n${a},1\n${b},2\n`],
  ])('a total is left out: %s', (_, text) => {
    expect(report(text)!.counts.left_out.every(({ reason }) => reason === 'total')).toBe(true)
    expect(report(text)!.counts.left_out.length).toBeGreaterThan(0)
  })

  test('a total that is no sum is refused: the file is not whole', () => {
    expect(failure(`slot_id,clicks\n${a},1\n${b},2\nGrand Total,951\n`).join()).toContain(
      'line 4: Grand Total is 951 of clicks, and the sum of lines 2 and 3 is 3: is the file whole?',
    )
  })

  test.each(['Clicks %', '% Clicks', 'Click-%', 'Clicks ‰', '€ Clicks', 'Clicks Δ', '!Clicks'])(
    'a column with a sign is no count: %s',
    (name) => {
      const found = report(`slot_id,impressions,"${name}"\n${a},1,100\n`)!
      expect(found.counts.metrics).toEqual(['rendered_impression'])
      expect(found.counts.unread).toEqual([expect.objectContaining({ column: name })])
      expect(found.counts.unread[0]?.kind).not.toBe('count')
    },
  )

  test('cells that say nothing are 0, and are named', () => {
    const text = `slot_id,clicks\n${a},-\n${b},n/a\n${c},\n`
    expect(read(text).rows.map(([, , counts]) => counts.click)).toEqual([0, 0, 0])
    expect([...describeReading(report(text)!, true)]).toContain(
      'Cells of counts that were read as 0: 1 with -, 1 with n/a, 1 empty.',
    )
    expect([...describeReading(report(`slot_id,clicks\n${a},0\n${b},no\n`)!, true)].join()).not.toContain('read as 0')
  })

  test.each(['-1', '1.5', 'x', 'constructor', '1e3', '12,34', '1,2345', '1.204,5', '01,204', '9'.repeat(20)])(
    'is none: %j',
    (cell) => expect(failure(`slot_id,clicks\n${a},"${cell}"\n`)[0]).toContain('line 2: clicks is'),
  )

  /** Each file has counts of three digits after a sign: what decides whether they are thousands. */
  const decided: [name: string, content: string, views: number, format: string | null][] = [
    ['another count', 'Date;Views\n2026-01-30;1.000\n2026-01-31;12.500\n', 1_000, 'thousands with a point'],
    ['a total', 'Date\tViews\n2026-01-30\t1.000\n2026-01-31\t250\nTotal\t1.250\n', 1_000, 'thousands with a point'],
    ['a decimal', 'Date\tViews\n2026-01-30\t1.000\n2026-01-31\t0.000\n', 1, 'decimals with a point'],
    ['a rate of the file', 'Date\tViews\tCTR\n2026-01-30\t1.000\t0,5 %\n', 1_000, 'thousands with a point'],
    ['an amount of the file', 'Date\tViews\tSpend\n2026-01-30\t1,000\t$1,234.50\n', 1_000, 'thousands with a comma'],
    ['semicolons', 'Date;Views\n2026-01-30;1.000\n', 1_000, 'thousands with a point'],
    ['commas', 'Date,Views\n2026-01-30,"1,000"\n', 1_000, 'thousands with a comma'],
    ['nothing: JSON numbers', '{"day":"2026-01-30","views":1000}\n', 1_000, null],
  ]
  test.each(decided)('is decided by %s', (_name, content, views, format) => {
    const found = report(content)!
    expect(found.counts.rows[0]?.counts.viewable_impression).toBe(views)
    expect(found.columns.at(-1)).toMatchObject({ field: 'viewable_impression', format })
  })

  test('is refused where nothing decides, until its user does', () => {
    const text = 'Date\tViews\n2026-01-31\t1.000\n'
    expect(failure(text)).toEqual([
      'Its count 1.000 could be 1 or 1000.',
      'Say how its numbers are written: --numbers 1.234,5 or --numbers 1,234.5',
    ])
    expect(read(text, { numbers: '1.234,5' }).rows[0]?.[2]).toEqual({ viewable_impression: 1_000 })
    expect(read(text, { numbers: '1,234.5' }).rows[0]?.[2]).toEqual({ viewable_impression: 1 })
    expect(failure('Date,Views\n2026-01-31,1.000\n')[0]).toContain('could be 1 or 1000')
    expect(failure('Date;Views\n2026-01-30;1.204\n2026-01-31;1,204\n')[0]).toContain('in two ways: 1,204 and 1.204')
  })
})

describe('a day', () => {
  const day = (cell: string, given: Given = {}) => read(`day;clicks\n${cell};1\n`, given).rows[0]?.[1]

  test.each([
    ...[
      '2026-01-31',
      '20260131',
      '2026/01/31',
      '2026.1.31',
      '31.01.2026',
      '1/31/2026',
      '1/31/26',
      '31-1-2026',
      '2026-01-31 23:30:00',
    ],
    ...['Jan 31, 2026', '31 Jan 2026', '31-Jan-2026', '31. Januar 2026', 'Sa., 31. Jan. 2026', '31 janvier 2026'],
    ...['1/31/2026 11:59 PM', '31.01.2026 23:59:59', 'Saturday, January 31, 2026', '1769860800', '1769860800000'],
    ...['2026013123', '202601312359', '20260131235959'],
    ...[
      'Jan 31, 26',
      '31JAN2026',
      '31/Jan/2026',
      '31. 1. 2026',
      '2026. 1. 31.',
      '2026年1月31日',
      '26年1月31日',
      '2026년 1월 31일',
    ],
    ...[
      '2026年1月31日(土)',
      '2026/1/31（土）',
      '2026年1月31日 星期六',
      '2026-01-31 (Sat)',
      'Sa 31.01.2026',
      'Sat Jan 31 2026',
    ],
    ...[
      '31 de enero de 2026',
      '31 de jan. de 2026',
      '31 stycznia 2026',
      '31 января 2026 г.',
      '31 Oca 2026',
      '31 gennaio 2026',
    ],
  ])('is read: %j', (cell) => expect(day(cell)).toBe('2026-01-31'))

  test.each([
    ['Mar 21, 2026', '2026-03-21'],
    ['mar. 20 janvier 2026', '2026-01-20'],
    ['1er mars 2026', '2026-03-01'],
    ['26-Jan-26', '2026-01-26'],
  ])('is read: %j', (cell, expected) => expect(day(cell)).toBe(expected))

  test('of a time with a zone is that of UTC', () => expect(day('2026-01-31T23:30:00-02:00')).toBe('2026-02-01'))

  test.each<[string, string]>([
    ['2026-02-30', 'there is no such day'],
    ['30.02.2026', 'it must be a day such as 2026-01-31'],
    ['46053', 'the number of a day in a spreadsheet. It must be a day such as 2026-01-31'],
    ['2026-01', 'a month, and sums of several days are not compared. Export it by day'],
    ['Jan 2026', 'a month'],
    ['2026-W05', 'a week'],
    ['Week of 2026-01-31', 'a week'],
    ['Week Jan 31 2026', 'a week'],
    ['2026-01-31 (week)', 'it must be a day such as 2026-01-31'],
    ['2026年1月', 'a month'],
    ["Jan '26", 'a month'],
    ...['31 Jan', '31-Jan', '31.01.', '1/31', '1月31日'].map((text): [string, string] => [
      text,
      'a day without its year. It must be',
    ]),
    ...['Jan 31', 'Jan-26'].map((text): [string, string] => [text, 'a day without its year, or a month. It must be']),
    ['31 Jan 14:05', 'it must be a day such as 2026-01-31'],
    ['KW 5', 'a week'],
    ['Q1 2026', 'a quarter'],
    ['2026-01-25 - 2026-01-31', 'a span of days'],
    ['31 Foo 2026', 'it must be a day such as 2026-01-31'],
    ['', 'day is empty'],
  ])('is none: %j', (cell, message) => {
    expect(failure(`day;clicks\n${cell};1\n`)[0]).toContain(message)
  })

  test('is decided by the column, or its user', () => {
    const text = (...days: string[]) => ['day;clicks', ...days.map((each) => `${each};1`), ''].join('\n')
    const days = (...cells: string[]) => read(text(...cells)).rows.map(([, key]) => key)
    expect(days('05.11.2026', '28.11.2026')).toEqual(['2026-11-05', '2026-11-28'])
    expect(days('11/05/2026', '11/28/2026')).toEqual(['2026-11-05', '2026-11-28'])
    expect(days('11/11/2026')).toEqual(['2026-11-11'])
    expect(days('28/11/26', '29/11/26')).toEqual(['2026-11-28', '2026-11-29'])
    expect(days('30/12/26', '31/12/26', '1/1/27')).toEqual(['2026-12-30', '2026-12-31', '2027-01-01'])
    expect(days('5.11.26', '28.11.26')).toEqual(['2026-11-05', '2026-11-28'])
    expect(days('11/05/26', '11/28/26')).toEqual(['2026-11-05', '2026-11-28'])
    // Of one day, and where the last part changes, the year may come first.
    expect(days('31-Oct-26', '1-Nov-26')).toEqual(['2026-10-31', '2026-11-01'])
    expect(days('Sat, 10/31/2026', 'Sun, 11/01/2026')).toEqual(['2026-10-31', '2026-11-01'])
    expect(failure(text('Wed, 10/07/2026'))[0]).toContain('the day or the month of Wed, 10/07/2026 comes first')
    for (const cells of [
      ['28/11/26'],
      ['26/11/28', '26/11/29'],
      ['28.11.26'],
      ['28-Nov-26'],
      ['26-Oct-21', '26-Oct-22'],
    ])
      expect(failure(text(...cells))[0]).toBe(`It does not show which part of ${cells[0]} is the year.`)
    expect(day('28/11/26', { dates: '31.12.2026' })).toBe('2026-11-28')
    expect(day('28-Nov-26', { dates: '31.12.2026' })).toBe('2026-11-28')
    expect(failure(text('05.11.2026'))).toEqual([
      'It does not show whether the day or the month of 05.11.2026 comes first.',
      'Say which it is: --dates 31.12.2026 reads 05.11.2026 as 2026-11-05; --dates 12/31/2026 as 2026-05-11',
    ])
    expect(failure(text('26/10/10'))).toEqual([
      'It does not show which part of 26/10/10 is the year.',
      'Say which it is: --dates 31.12.2026 reads 26/10/10 as 2010-10-26; where its year comes first, write it with four digits',
    ])
    // A spreadsheet took the days of months for months, where it could.
    expect(failure(text('2026-05-11', '28.11.2026'))).toEqual([
      'Its days are written in two ways: 28.11.2026 and 2026-05-11.',
      'Export them in one way, such as 2026-01-31.',
    ])
    expect(failure(text('28.11.2026', '11/28/2026'))[0]).toContain('in two ways: 28.11.2026 and 11/28/2026')
    expect([day('05.11.2026', { dates: '31.12.2026' }), day('05.11.2026', { dates: '12/31/2026' })]).toEqual([
      '2026-11-05',
      '2026-05-11',
    ])
    expect(report(text('28.11.2026'))!.columns[0]).toMatchObject({ field: 'day', format: 'day before month' })
  })
})

test('the id of a session in JSON keeps all of its digits, and one that was rounded is refused', () => {
  const lines = ['12345678901234567891', '12345678901234567892'].map((id) => `{"session_id":${id},"clicks":1}`)
  expect(report(lines.join('\n'))!.counts.rows.map(({ key }) => key)).toEqual([
    '12345678901234567891',
    '12345678901234567892',
  ])
  for (const rounded of ['1.23E+19', '1.23E19', '12345678901234500000'])
    expect(failure(`session_id,clicks\n${rounded},1\n`).join()).toContain(rounded)
  expect(report('session_id,clicks\n100000000000000,1\n')!.counts.rows[0]?.key).toBe('100000000000000')
})

test('a column that is left out on purpose is not read, whatever its name', () => {
  const found = report(`slot_id,impressions,clicks\n${a},1,1\n`, { map: ['impressions=none'] })!
  expect([found.counts.metrics, found.counts.unread]).toEqual([['click'], []])
  expect(() => report(`slot_id,impressions\n${a},1\n`, { map: ['imps=none'] })).toThrow(
    'There is no column imps in it.',
  )
})

test.each([
  ['Session,Impressions\ns1,3\ns2,4', 'session_id'],
  ['Date,Session ID,Impressions\n2026-10-10,s1,3\n2026-10-11,s2,4', 'session_id'],
  ['Date,Session,Impressions\n2026-10-10,1200,31\n2026-10-11,1100,25', 'day'],
  ['Date,Session,Impressions\n2026-10-10,Morning,31\n2026-10-11,Evening,25', 'day'],
])('a column that may be sessions counts for less than days: %j is by %s', (content, key) => {
  expect(read(content).key).toBe(key)
})
