/** Rows of totals in any column: what they cover decides, at their level. Innocent files first. */
import { describe, expect, test } from 'vitest'
import { createDice } from '#tests/reliability/dice.ts'
import type { Mapping } from '../columns.ts'
import { parseOwnFile } from '../own-file.ts'
import { OwnFileError } from '../own-file-error.ts'
import { readOwnReport } from '../own-report.ts'

function read(rows: readonly string[], map: Mapping[] = []) {
  const report = readOwnReport(parseOwnFile(`${rows.join('\n')}\n`), { map, decimal: null, order: null })!
  return {
    sum: report.counts.rows.reduce((sum, { counts }) => sum + (counts.rendered_impression ?? 0), 0),
    left_out: report.counts.left_out.map(({ line, reason, text }) => `${line} ${reason} ${text}`),
  }
}

function refusal(rows: readonly string[]): string {
  try {
    read(rows)
  } catch (error) {
    if (error instanceof OwnFileError) return [...error.rows, error.command_hint].join('\n')
    throw error
  }
  return 'it was read'
}

const head = 'Date,Country,Impressions'
const [one, two] = ['2026-11-27,DE,10', '2026-11-27,FR,20']

describe('rows with the name of a total are counts', () => {
  test.each<[string, number, string[]]>([
    ['a name of two words', 60, ['2026-11-27,Total Wine,20', '2026-11-27,Subtotal Ltd,30', '2026-11-27,DE,10']],
    ['the sum of a day by itself', 50, ['2026-11-27,All,30', '2026-11-28,All,20']],
    ['of one day, beside the rows of another', 50, [one, two, '2026-11-28,Total,20']],
    ['a name with the same sum by accident', 60, [one, two, '2026-11-27,Total Wine,30']],
    ['a group without a name', 60, [one, two, '2026-11-27,All Stars,30']],
    ['no counts', 30, [one, two, '2026-11-27,Total,0']],
    ['of a label that is missing', 51, [one, two, '2026-11-27,,21']],
    ['of a country that a database does not know', 51, [one, two, '2026-11-27,NULL,21']],
    [
      'a name that may be of an average, beside a day',
      75,
      [one, two, '2026-11-27,Max,20', '2026-11-27,Media,15', '2026-11-27,Meantime,10'],
    ],
  ])('%s', (_, sum, rows) => {
    expect(read([head, ...rows])).toEqual({ sum, left_out: [] })
  })

  test('where another column says that they are: an advertiser named Total', () => {
    const rows = ['Date,Advertiser,Campaign,Impressions', '2026-11-27,Total,Fuel,7', '2026-11-27,Shell,Gas,5']
    expect(read(rows)).toEqual({ sum: 12, left_out: [] })
  })

  test('where its user leaves the column out', () => {
    const rows = ['Date,Advertiser,Impressions', '2026-11-27,Total,7', '2026-11-27,Shell,5']
    expect(refusal(rows)).toContain('If Total is no total: --map Advertiser=none')
    expect(read(rows, [{ own: 'Advertiser', field: 'none' }])).toEqual({ sum: 12, left_out: [] })
  })
})

test('a name of a total that a total over all confirms is one of a count: an advertiser named Total', () => {
  const rows = ['Date,Advertiser,Impressions', '2026-11-27,Total,7', '2026-11-27,Shell,5']
  expect(read([...rows, ',,12'])).toEqual({ sum: 12, left_out: ['4 sum lines 2 and 3'] })
  expect(read([...rows, 'Grand total,-,12'])).toEqual({ sum: 12, left_out: ['4 total Grand total'] })
  expect(refusal([...rows, 'Grand total,-,13'])).toContain('line 4: Grand total is 13')
  // On one day it has as many as the others.
  const more = ['2026-11-28,Shell,4', '2026-11-28,Total,4']
  expect(read([...rows, ...more, ',,20'])).toMatchObject({ sum: 20 })
})

test('a row without a label that may be a sum, or by accident as many, is refused', () => {
  const refuse = (...rows: string[]) => refusal([head, ...rows])
  const hint = 'If a row without Country is no total: --map Country=none'
  expect(refuse('2026-11-27,DE,1', '2026-11-27,FR,1', '2026-11-27,,2')).toContain(hint)
  expect(refuse('2026-11-27,,37', '2026-11-27,DE,37')).toContain(
    'line 2: a row without Country has the counts of line 3',
  )
  expect(read([head, '2026-11-27,DE,1', '2026-11-27,,1']).sum).toBe(2)
  expect(read([head, one, '2026-11-27,,10', '2026-11-28,DE,3', '2026-11-28,,1']).sum).toBe(24)
})

test('a label that is the sum of all others on every day may be a total, whatever its name, and is refused', () => {
  const day = (at: number, ...counts: number[]) =>
    ['DE', 'FR', 'Worldwide'].map((name, index) => `2026-11-2${at},${name},${counts[index]}`)
  expect(read([head, ...day(7, 10, 20, 30), ...day(8, 11, 21, 33)]).sum).toBe(125)
  expect(read([head, ...day(7, 10, 20, 30)]).sum).toBe(60)
  expect(read([head, ...day(7, 1, 1, 2), ...day(8, 1, 0, 1)]).sum).toBe(6)
  const text = refusal([head, ...day(7, 10, 20, 30), ...day(8, 11, 21, 32)])
  expect(text).toContain('line 4: Worldwide has the counts of lines 2 and 3: it may be their sum, or more')
  expect(text).toContain('If Worldwide is no total: --map Country=none')
})

describe('two breakdowns in one table are refused, as both have all counts', () => {
  const wide = 'Date,Campaign,Country,Impressions'
  test.each<[string, number, string[]]>([
    ['a row that has both', 42, ['2026-11-27,A,DE,4', '2026-11-27,A,,18', '2026-11-27,,DE,20']],
    ['of a site or of an app', 30, ['2026-11-27,A,,10', '2026-11-27,,DE,20']],
    ['of different days', 30, ['2026-11-27,A,,10', '2026-11-28,,DE,20']],
    ['without a count: ads that failed', 10, ['2026-11-27,A,,10', '2026-11-27,,DE,0']],
    ['a column of counts of something else', 22, ['2026-11-27,A,,10', '2026-11-27,,7,12']],
  ])('innocent: %s', (_, sum, rows) => expect(read([wide, ...rows])).toEqual({ sum, left_out: [] }))

  const one = ['2026-11-27,A,,10', '2026-11-27,B,,20']
  test.each<[string, string[]]>([
    ['with other sums', [...one, '2026-11-27,,DE,11', '2026-11-27,,FR,18']],
    [
      'of a cube, with (all)',
      ['2026-11-27,A,(all),10', '2026-11-27,B,(all),20', '2026-11-27,(all),DE,12', '2026-11-27,(all),FR,18'],
    ],
    ['with the day by itself', [...one, '2026-11-27,,DE,30', '2026-11-27,,,30']],
    ['by numbers, with the same sums', [...one, '2026-11-27,,276,12', '2026-11-27,,250,18']],
  ])('%s', (_, rows) => {
    const mapped = [{ own: 'Campaign', field: 'none' } as const, { own: 'Country', field: 'none' } as const]
    expect(() => read([wide, ...rows])).toThrow(
      'No row of it has both Campaign and Country: it may have the same counts by each of them.',
    )
    expect(read([wide, ...rows], mapped).sum).toBeGreaterThan(0)
  })
})

describe('rows that have the counts of others once more, whatever their labels', () => {
  const wide = 'Date,Level,Unit,Impressions,Clicks'
  const days = (rows: (day: string, more: number) => string[]) => [
    wide,
    ...rows('2026-11-27', 0),
    ...rows('2026-11-28', 11),
  ]
  test.each<[string, string[]]>([
    ['two ads of each page', days((day, n) => [`${day},a,Top,${100 + n},0`, `${day},a,Bottom,${100 + n},0`])],
    [
      'one below another by its name',
      days((day, n) => [`${day},a,Home,${90 + n},3`, `${day},a,Home / Side,${80 + n},2`]),
    ],
    [
      'one that is a sum on one day',
      days((day, n) => [`${day},a,A,${30 + n},3`, `${day},a,B,10,1`, `${day},a,C,20,2`]),
    ],
    ['a time of day', days((day) => [`${day},Last call,A,3,1`, `${day},Davon,A,4,1`])],
  ])('innocent: %s', (_, rows) => {
    const sum = rows.slice(1).reduce((all, row) => all + Number(row.split(',')[3]), 0)
    expect(read(rows)).toEqual({ sum, left_out: [] })
  })

  test.each<[string, RegExp, string[]]>([
    [
      'of another level',
      /line 4: summary has the counts of lines 2 and 3/,
      days((day, n) => [`${day},detail,A,${30 + n},3`, `${day},detail,B,10,1`, `${day},summary,,${40 + n},4`]),
    ],
    [
      'of all, under a name of its own',
      /line 2: __all__ has the counts of lines 4 and 5/,
      days((day, n) => [
        ...[`${day},A,__all__,${30 + n},3`, `${day},B,__all__,10,1`],
        ...[`${day},__all__,x,${20 + n},2`, `${day},__all__,y,20,2`],
      ]),
    ],
    [
      'of one other',
      /line 3: All devices has the counts of line 2/,
      days((day, n) => [`${day},a,tv,${30 + n},0`, `${day},a,All devices,${30 + n},0`]),
    ],
    [
      'of those that are indented',
      /line 2: Europe has the counts of lines 3 and 4/,
      days((day, n) => [
        `${day},a,Europe,${30 + n},3`,
        `${day},a,  DE,10,1`,
        `${day},a,  FR,${20 + n},2`,
        `${day},a,Asia,7,1`,
      ]),
    ],
    [
      'of those whose names begin with theirs',
      /line 2: Home has the counts of line 3/,
      days((day, n) => [`${day},a,Home,${30 + n},3`, `${day},a,Home > Top,${30 + n},3`, `${day},a,News,7,1`]),
    ],
    [
      'of those behind them',
      /line 2: Europe has the counts of lines 3 and 4/,
      days((day, n) => [
        `${day},a,Europe,${300 + n},31`,
        `${day},a,DE,100,10`,
        `${day},a,FR,${200 + n},21`,
        `${day},a,JP,7,1`,
      ]),
    ],
    [
      'of those before them',
      /line 4: Europe has the counts of lines 2 and 3/,
      days((day, n) => [
        ...[`${day},a,DE,100,10`, `${day},a,FR,${200 + n},21`],
        ...[`${day},a,Europe,${300 + n},31`, `${day},a,JP,7,1`],
      ]),
    ],
    [
      'of all users',
      /line 2: All users is 30 of Impressions, and the sum of line 3 is 9; /,
      days((day, n) => [`${day},a,All users,${30 + n},3`, `${day},a,Mobile,9,1`]),
    ],
    [
      'of no count',
      /line 3: Level is Bots: .* or no count/,
      days((day) => [`${day},Valid,A,3,1`, `${day},Bots,A,4,1`]),
    ],
    [
      'of a ratio',
      /line 3: Level is % change: .* or no count/,
      days((day) => [`${day},count,A,3,1`, `${day},% change,A,4,1`]),
    ],
    [
      'of another time',
      /line 3: Level is Previous year: it is of another time/,
      days((day) => [`${day},Now,A,3,1`, `${day},Previous year,A,4,1`]),
    ],
    [
      'of a part',
      /line 3: Unit is davon mobil: it is of another/,
      days((day) => [`${day},a,Alle,9,1`, `${day},a,davon mobil,4,1`]),
    ],
  ])('%s', (_, message, rows) => expect(refusal(rows)).toMatch(message))
})

test('rows without a label that are all more than the sums of their days may be totals of more than is there', () => {
  const days = (...totals: number[]) =>
    totals.flatMap((total, at) => [`2026-11-2${at},DE,10`, `2026-11-2${at},FR,20`, `2026-11-2${at},,${total}`])
  expect(read([head, ...days(31, 29)]).sum).toBe(120)
  expect(refusal([head, ...days(31, 30)])).toContain(
    'line 4: a row without Country is 31 of Impressions, and the sum of lines 2 and 3 is 30: is the file whole?',
  )
})

describe('a session that is none', () => {
  const of = (...rows: string[]) => ['session_id,impressions,clicks', ...rows]
  const two = ['chat-1,30,4', 'chat-2,47,9']
  test.each<[string, string[], number]>([
    ['names of people', ['anna,30,4', 'bob,47,9', 'Max,5,1'], 82],
    ['a name that is that of no statistic', ['anna,30,4', 'bob,47,9', 'Media,5,1'], 82],
    ['ids without a digit', ['k3xz9k3xz9,30,4', 'abxzqabxzq,47,9', 'p7xz1p7xz1,5,0'], 82],
    ['names with blanks', ['first chat,30,4', 'second chat,47,9', 'third chat,7,1'], 84],
    ['names beside ids', [...two, 'demo,7,1', 'Meantime,7,1'], 91],
    ['a name that has the counts of one other', ['chat-1,30,4', 'demo,30,4'], 60],
    ['names with blanks beside ids', [...two, 'my test,7,1'], 84],
    ['one of many counts', [...two, 'chat-3,77,12'], 154],
    ['one by itself', ['All sessions,7,1'], 7],
  ])('innocent: %s', (_, rows, sum) => expect(read(of(...rows))).toEqual({ sum, left_out: [] }))

  test.each(['Std', 'count', '75%', 'Δ', 'Previous period', 'All sessions'])('%s', (name) => {
    const text = `line 4: session_id is ${name}: the other sessions look different`
    expect(refusal(of(...two, `${name},38,6`))).toContain(text)
  })

  test('a statistic that is known is left out', () => {
    expect(read(of(...two, 'Median,38,6'))).toEqual({ sum: 77, left_out: ['4 total Median'] })
    expect(read(of('anna,30,4', 'bob,47,9', 'Median,38,6'))).toEqual({ sum: 77, left_out: ['4 total Median'] })
    expect(refusal(of('anna,30,4', 'bob,47,9', 'p95,38,6'))).toContain('line 4: session_id is p95')
  })

  test('the sum of all others, whatever its name; so is a day', () => {
    expect(read(['Date,Impressions', '2026-11-02,10', '2026-11-03,20', '2026-11-04,30']).sum).toBe(60)
    expect(refusal(['Date,Impressions', '2026-11-01,777', '2026-11-02,123', '2026-11-03,654'])).toContain(
      'line 2: 2026-11-01 has the counts of lines 3 and 4: it may be their sum, or more',
    )
    for (const name of ['demo', 'Whole site'])
      expect(refusal(of('chat-1,1,0', 'chat-2,2,0', `${name},3,0`))).toContain(
        `line 4: ${name} has the counts of lines 2 and 3: it may be their sum, or more`,
      )
    for (const name of ['Everyone', 'chat-0'])
      expect(refusal(of('anna,30,4', 'bob,47,9', `${name},77,13`))).toContain(
        `line 4: ${name} has the counts of lines 2 and 3: it may be their sum, or more`,
      )
  })
})

test('labels of each user cost the time of their rows, whether neighbours have the same counts or not', () => {
  const measure = (counts: readonly number[]) => {
    const row = (day: number, user: number) => `2026-11-2${day},user-${user},${counts[user % counts.length]}`
    const rows = [0, 1].flatMap((day) => Array.from({ length: 20_000 }, (_, user) => row(day, user)))
    const start = process.threadCpuUsage()
    expect(read(['Date,User,Impressions', ...rows]).left_out).toEqual([])
    return process.threadCpuUsage(start).user
  }
  // Other work beside it can look so once, not three times.
  expect([1, 2, 3].some(() => measure([1]) < measure([1, 3]) * 2.5)).toBe(true)
})

test('groups whose labels are not repeated are refused, with what to do', () => {
  const text = refusal([head, '2026-11-27,DE,10', ',FR,20', '2026-11-27 Total,,30'])
  expect(text).toContain('line 3: Date is empty')
  expect(text).toMatch(
    /\nCorrect these rows, or leave them out: nothing was compared\. A pivot table can repeat the labels of its groups in each row\. Of several breakdowns, export one\.$/,
  )
})

describe('rows of totals are left out', () => {
  test.each<[string, string[], string[]]>([
    ['of a day', [one, two, '2026-11-27,Total,30'], ['4 total Total']],
    [
      'of one row',
      [one, '2026-11-27,Summe,10', '2026-11-28,DE,20', '2026-11-28,Summe,20'],
      ['3 total Summe', '5 total Summe'],
    ],
    ['before its rows', ['2026-11-27,小計,30', one, two], ['2 total 小計']],
    [
      'of a country, and of all',
      [one, two, ',DE,10', ',FR,20', ',Subtotal,30'],
      ['4 sum line 2', '5 sum line 3', '6 total Subtotal'],
    ],
    [
      'of a country, named',
      [one, two, '2026-11-27,DE Total,10', 'Total for 2026-11-27,,30'],
      ['4 total DE Total', '5 total Total for 2026-11-27'],
    ],
    [
      'of one country alone, without a name',
      ['2026-11-27,,11', '2026-11-27,DE,11', '2026-11-28,,10', '2026-11-28,DE,10', '2026-11-29,,9', '2026-11-29,DE,9'],
      ['2 sum line 3', '4 sum line 5', '6 sum line 7'],
    ],
    ['of an average, which is no whole number', [one, two, 'Average,,15.5'], ['4 total Average']],
    [
      'of an average, rounded in another way',
      [one, two, 'Daily average:,,14', 'Avg.,,16'],
      ['4 total Daily average:', '5 total Avg.'],
    ],
    ['of the average of a day', [one, two, '2026-11-27,Durchschnitt,15'], ['4 total Durchschnitt']],
    ['of the average of a day, with decimals', [one, two, '2026-11-27,Mean,15.5'], ['4 total Mean']],
    [
      'of a rollup, as a database exports it',
      [one, two, '2026-11-27,NULL,30', '\\N,\\N,30'],
      ['4 sum lines 2 and 3', '5 sum lines 2 and 3'],
    ],
    ['of totals and averages in one', [one, two, 'Total/Avg,,30'], ['4 total Total/Avg']],
    [
      'of statistics below the total',
      [one, two, 'Total,,30', 'Max,,20', 'Media,,15'],
      ['4 total Total', '5 total Max', '6 total Media'],
    ],
    ...[
      'Łącznie',
      'OGÓŁEM:',
      '合 計',
      '合計',
      '总计',
      'Итого',
      'Итоги',
      'Celkem',
      'Összesen',
      'Σ',
      '(Total)',
      '[Total]',
      'GRAND_TOTAL',
      '__total__',
      '-- Total --',
      '#Total',
    ].map((name): [string, string[], string[]] => [`named ${name}`, [one, two, `${name},,30`], [`4 total ${name}`]]),
    ['without a cell for a count', [one, two, '2026-11-27,Total,30', 'Total,,-'], ['4 total Total', '5 total Total']],
  ])('%s', (_, rows, left_out) => {
    expect(read([head, ...rows])).toEqual({ sum: 30, left_out })
  })

  test('of a cube, whose lower totals are no parts of the higher', () => {
    const cube = ['DE,phone,10', 'FR,phone,20', 'DE,All,10', 'FR,All,20', 'All,phone,30', 'All,All,30']
    const rows = ['Date,Country,Device,Impressions', ...cube.map((row) => `2026-11-27,${row}`)]
    expect(read(rows)).toMatchObject({ sum: 30, left_out: { length: 4 } })
    expect(read([...rows, ',DE,,10', ',FR,,20'])).toMatchObject({ sum: 30, left_out: { length: 6 } })
  })

  test('beside amounts, counts of something else, and a text of their own', () => {
    const rows = ['Date,Campaign,Requests,CTR,Note,Impressions', '2026-11-27,A,7,1 %,,10', '2026-11-27,B,8,2 %,,20']
    expect(read([...rows, '2026-11-27,Total,15,1 %,2 campaigns,30'])).toEqual({ sum: 30, left_out: ['4 total Total'] })
    expect(read([...rows, '2026-11-27,Total,7,1 %,,30'])).toEqual({ sum: 30, left_out: ['4 total Total'] })
  })

  test('of each metric, where rows have one each', () => {
    const rows = ['Date,Country,Event,Count', '2026-11-27,DE,imps,10', '2026-11-27,FR,imps,20', '2026-11-27,DE,click,1']
    const read1 = read([...rows, '2026-11-27,Total,imps,30', '2026-11-27,Total,click,1'])
    expect(read1).toEqual({ sum: 30, left_out: ['5 total Total', '6 total Total'] })
  })

  test('of JSON, as databases write a rollup: before its rows, with null', () => {
    const items = [
      [null, null, 30],
      ['2026-11-27', null, 30],
      ['2026-11-27', 'DE', 10],
      ['2026-11-27', 'FR', 20],
    ]
    const text = JSON.stringify(items.map(([day, country, imps]) => ({ day, country, imps })))
    expect(read([text])).toEqual({ sum: 30, left_out: ['1 sum items 3 and 4', '2 sum items 3 and 4'] })
  })
})

test('a session may have the name of an average: its rows decide', () => {
  const rows = ['session,imps', 's1,2', 's2,4']
  expect(read(['session,imps', 'anna,2', 'bob,4', 'Max,4'])).toEqual({ sum: 10, left_out: [] })
  expect(read([...rows, 'Max,4'])).toEqual({ sum: 6, left_out: ['4 total Max'] })
  expect(read([...rows, 'Average,3'])).toEqual({ sum: 6, left_out: ['4 total Average'] })
  expect(refusal([...rows, 'Average,5'])).toContain('line 4: Average is 5 of imps')
})

test('a total that contradicts the rows that it covers is refused, at its level', () => {
  const refuse = (...rows: string[]) => refusal([head, one, two, ...rows])
  expect(refuse('2026-11-27,Total,31')).toBe(
    'line 4: Total is 31 of Impressions, and the sum of lines 2 and 3 is 30: is the file whole?\n' +
      'Correct these rows, or leave them out: nothing was compared. If Total is no total: --map Country=none',
  )
  expect(refuse('2026-11-28,DE,5', '2026-11-28,Total,5', '2026-11-27,Total,35')).toContain(
    'line 6: Total is 35 of Impressions, and the sum of lines 2 and 3 is 30',
  )
  expect(refuse('2026-11-27,Durchschnitt,17')).toContain(
    'line 4: Durchschnitt is 17 of Impressions, and the sum of lines 2 and 3 is 30',
  )
  expect(refuse('2026-11-28,DE,5', 'Total,DE,16')).toContain(
    'line 5: Total is 16 of Impressions, and the sum of 2 rows of lines 2 to 4 is 15',
  )
  const days = ['27', '28', '29'].flatMap((day) => [
    `2026-11-${day},DE,10`,
    `2026-11-${day},FR,20`,
    `2026-11-${day},,30`,
  ])
  expect(refusal([head, ...days.with(-1, '2026-11-29,,29')])).toContain(
    'line 10: a row without Country is 29 of Impressions, and the sum of lines 8 and 9 is 30',
  )
})

/** Files of random counts by day, country and device, some with all totals of some levels, in any order. */
describe('of random files', () => {
  const created = (seed: number) => {
    const { pick, below } = createDice(seed)
    const most = pick([3, 50, 100_000])
    const rows = ['27', '28', '29'].slice(0, pick([1, 2, 3])).flatMap((day) =>
      ['DE', 'FR', 'US'].slice(0, pick([1, 2, 3])).flatMap((country) =>
        ['phone', 'tv'].slice(0, pick([1, 2])).map((device) => ({
          values: [`2026-11-${day}`, country, device],
          count: 10 + below(most),
        })),
      ),
    )
    return { pick, rows, sum: rows.reduce((sum, { count }) => sum + count, 0) }
  }
  const text = (rows: readonly { values: readonly string[]; count: number }[]) => [
    'Date,Country,Device,Impressions',
    ...rows.map(({ values, count }) => [...values, count].join(',')),
  ]

  const readAll = (lines: readonly string[]) => {
    try {
      return read(lines)
    } catch (error) {
      if (!(error instanceof OwnFileError)) throw error
      return null
    }
  }

  test('no row is left out where there are no totals, but missing labels and names like theirs', () => {
    let refused = 0
    for (let seed = 1; seed <= 300; seed++) {
      const { pick, rows, sum } = created(seed)
      const named = rows.map(({ values: [day, country, device], count }) => ({
        values: [day!, pick([country!, country!, '', 'Total Wine', 'All Stars']), pick([device!, device!, ''])],
        count,
      }))
      const found = readAll(text(named))
      if (found === null) refused++
      else expect(found, `seed ${seed}`).toEqual({ sum, left_out: [] })
    }
    expect(refused).toBeLessThan(35)
  })

  test('every total is left out, or the file is refused', () => {
    let refused = 0
    for (let seed = 1; seed <= 300; seed++) {
      const { pick, rows, sum } = created(seed)
      const label = pick(['', 'Total', 'Summe', 'All'])
      const levels = [pick([[0], [1], [0, 1]]), ...pick([[], [[]]])]
      const totals = levels.flatMap((kept) => {
        const groups = Map.groupBy(rows, ({ values }) => kept.map((at) => values[at]).join())
        return [...groups.values()].map((group) => ({
          values: group[0]!.values.map((value, at) => (kept.includes(at) ? value : at > 1 ? '' : label)),
          count: group.reduce((all, { count }) => all + count, 0),
        }))
      })
      const lines = text([...rows, ...totals].toSorted(() => pick([-1, 0, 1])))
      const found = readAll(lines)
      if (found === null) refused++
      else expect(found.sum, lines.join('\n')).toBe(sum)
    }
    expect(refused).toBeLessThan(15)
  })
})
