import { describe, expect, test } from 'vitest'
import { createTally } from './billing-report.ts'

const own = { client_id: 'proj_a', settings: { billing_model: 'cpm_viewable', publisher_share: 0.7 } } as const
const other = { client_id: 'proj_b', settings: { billing_model: 'cpm_render', publisher_share: 0.5 } } as const
const facts = { format: 'banner', gross_cpm: 2.5, currency: 'EUR' } as const

describe('the lines of a report', () => {
  test('add up what has the same project, format, metric and price', () => {
    const tally = createTally()
    tally.count(own, facts, 'viewable_impression', 3)
    tally.count(own, facts, 'viewable_impression', 4)
    expect(tally.report()).toEqual({
      lines: [
        {
          client_id: 'proj_a',
          format: 'banner',
          metric: 'viewable_impression',
          is_billed: true,
          gross_cpm: 2.5,
          currency: 'EUR',
          count: 7,
          amount: 0.0175,
          publisher_amount: 0.01225,
        },
      ],
      totals: [
        {
          client_id: 'proj_a',
          billing_model: 'cpm_viewable',
          currency: 'EUR',
          count: 7,
          amount: 0.0175,
          publisher_amount: 0.01225,
        },
      ],
      not_counted: { count: 0, reasons: [] },
    })
    expect(tally.groups()).toEqual([])
  })

  test('are one for each of them that differs, sorted', () => {
    const tally = createTally()
    tally.count(other, facts, 'viewable_impression', 1)
    tally.count(own, { ...facts, format: 'clip' }, 'viewable_impression', 1)
    tally.count(own, facts, 'viewable_impression', 1)
    tally.count(own, facts, 'click', 1)
    tally.count(own, { ...facts, gross_cpm: 1 }, 'viewable_impression', 1)
    tally.count(own, { ...facts, currency: 'CHF' }, 'viewable_impression', 1)
    const { lines } = tally.report()
    expect(
      lines.map(({ client_id, format, metric, gross_cpm, currency }) => [
        client_id,
        format,
        metric,
        gross_cpm,
        currency,
      ]),
    ).toEqual([
      ['proj_a', 'banner', 'click', 2.5, 'EUR'],
      ['proj_a', 'banner', 'viewable_impression', 1, 'EUR'],
      ['proj_a', 'banner', 'viewable_impression', 2.5, 'CHF'],
      ['proj_a', 'banner', 'viewable_impression', 2.5, 'EUR'],
      ['proj_a', 'clip', 'viewable_impression', 2.5, 'EUR'],
      ['proj_b', 'banner', 'viewable_impression', 2.5, 'EUR'],
    ])
  })

  test('have an amount only for the metric of the billing model', () => {
    const tally = createTally()
    tally.count(own, facts, 'click', 5)
    tally.count(own, facts, 'viewable_impression', 1)
    const { lines, totals } = tally.report()
    expect(
      lines.map(({ is_billed, count, amount, publisher_amount }) => [is_billed, count, amount, publisher_amount]),
    ).toEqual([
      [false, 5, 0, 0],
      [true, 1, 0.0025, 0.00175],
    ])
    expect(totals).toMatchObject([{ count: 1, amount: 0.0025, publisher_amount: 0.00175 }])
  })

  test('are rounded to a millionth', () => {
    const tally = createTally()
    const third = { client_id: 'proj_a', settings: { ...own.settings, publisher_share: 1 / 3 } }
    tally.count(third, { ...facts, gross_cpm: 0.0014 }, 'viewable_impression', 1)
    expect(tally.report().lines).toMatchObject([{ amount: 0.000001, publisher_amount: 0 }])
    tally.count(third, { ...facts, gross_cpm: 1 }, 'viewable_impression', 1)
    expect(tally.report().totals).toMatchObject([{ amount: 0.001001, publisher_amount: 0.000333 }])
  })
})

test('totals are one for each project and currency', () => {
  const tally = createTally()
  tally.count(own, facts, 'viewable_impression', 1_000)
  tally.count(own, { ...facts, format: 'clip', gross_cpm: 4 }, 'viewable_impression', 500)
  tally.count(own, { ...facts, currency: 'CHF' }, 'viewable_impression', 2_000)
  tally.count(other, facts, 'rendered_impression', 1_000)
  expect(tally.report().totals).toEqual([
    {
      client_id: 'proj_a',
      billing_model: 'cpm_viewable',
      currency: 'CHF',
      count: 2_000,
      amount: 5,
      publisher_amount: 3.5,
    },
    {
      client_id: 'proj_a',
      billing_model: 'cpm_viewable',
      currency: 'EUR',
      count: 1_500,
      amount: 4.5,
      publisher_amount: 3.15,
    },
    {
      client_id: 'proj_b',
      billing_model: 'cpm_render',
      currency: 'EUR',
      count: 1_000,
      amount: 2.5,
      publisher_amount: 1.25,
    },
  ])
})

test('what did not count is listed by reason, the most frequent first, then by name', () => {
  const tally = createTally()
  tally.miss('DUPLICATE', 2)
  tally.miss('PAGE_HIDDEN', 1)
  tally.miss('BELOW_THRESHOLD', 2)
  tally.miss('PAGE_HIDDEN', 1)
  tally.miss('TOO_SMALL', 5)
  expect(tally.report().not_counted).toEqual({
    count: 11,
    reasons: [
      { reason_code: 'TOO_SMALL', count: 5 },
      { reason_code: 'BELOW_THRESHOLD', count: 2 },
      { reason_code: 'DUPLICATE', count: 2 },
      { reason_code: 'PAGE_HIDDEN', count: 2 },
    ],
  })
})

describe('groups', () => {
  test('add up what has the same project, group, metric and currency, whatever its format and price', () => {
    const tally = createTally()
    tally.count(own, { ...facts, group: 'cmp_a' }, 'viewable_impression', 100)
    tally.count(own, { ...facts, format: 'clip', gross_cpm: 5, group: 'cmp_a' }, 'viewable_impression', 100)
    tally.count(own, { ...facts, group: 'cmp_a' }, 'click', 3)
    expect(tally.groups()).toEqual([
      {
        client_id: 'proj_a',
        group: 'cmp_a',
        metric: 'click',
        is_billed: false,
        currency: 'EUR',
        count: 3,
        amount: 0,
        publisher_amount: 0,
      },
      {
        client_id: 'proj_a',
        group: 'cmp_a',
        metric: 'viewable_impression',
        is_billed: true,
        currency: 'EUR',
        count: 200,
        amount: 0.75,
        publisher_amount: 0.525,
      },
    ])
  })

  test('are sorted by group, those without one last, then by project, metric and currency', () => {
    const tally = createTally()
    tally.count(own, { ...facts, group: null }, 'click', 1)
    tally.count(own, { ...facts, group: 'zeta' }, 'click', 1)
    tally.count(other, { ...facts, group: 'cmp_a' }, 'click', 1)
    tally.count(own, { ...facts, group: 'cmp_a' }, 'viewable_impression', 1)
    tally.count(own, { ...facts, group: 'cmp_a' }, 'click', 1)
    tally.count(own, { ...facts, group: 'cmp_a', currency: 'CHF' }, 'click', 1)
    expect(
      tally.groups().map(({ group, client_id, metric, currency }) => [group, client_id, metric, currency]),
    ).toEqual([
      ['cmp_a', 'proj_a', 'click', 'CHF'],
      ['cmp_a', 'proj_a', 'click', 'EUR'],
      ['cmp_a', 'proj_a', 'viewable_impression', 'EUR'],
      ['cmp_a', 'proj_b', 'click', 'EUR'],
      ['zeta', 'proj_a', 'click', 'EUR'],
      [null, 'proj_a', 'click', 'EUR'],
    ])
  })

  test('keep names apart that contain each other, and round to a millionth', () => {
    const tally = createTally()
    tally.count(own, { ...facts, group: 'aa' }, 'click', 1)
    tally.count(own, { ...facts, group: 'a b' }, 'click', 1)
    tally.count(own, { ...facts, group: 'a' }, 'click', 1)
    tally.count({ ...own, client_id: 'proj_a a' }, { ...facts, group: 'b' }, 'click', 1)
    tally.count(own, { ...facts, gross_cpm: 0.0014, group: 'c' }, 'viewable_impression', 1)
    expect(tally.groups().map(({ group, amount }) => [group, amount])).toEqual([
      ['a', 0],
      ['a b', 0],
      ['aa', 0],
      ['b', 0],
      ['c', 0.000001],
    ])
  })
})
