import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { reasonCode } from '../errors.ts'
import { Format, Since } from '../fields.ts'
import { assumed } from '../provenance.ts'
import { AcceptCode } from '../v1/beacons.ts'
import { BeaconItem, Metric } from './beacons.ts'

/** The most beacons that a report names one by one. */
export const notCountedAtMost = 100

export const BillingLine = z.strictObject({
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  format: assumed(Format, 'A76', 'Format of the creative.'),
  metric: assumed(Metric, 'A76', 'What was counted.'),
  is_billed: assumed(z.boolean(), 'A76', 'Whether the billing model of the project bills this metric.'),
  gross_cpm: assumed(z.number(), 'A76', 'Price of a thousand.'),
  currency: assumed(z.string(), 'A76', 'ISO 4217.'),
  count: assumed(z.int(), 'A75', 'How many counted, each placement once a metric.'),
  amount: assumed(z.number(), 'A76', 'count times gross_cpm over 1000; 0 where it is not billed.'),
  publisher_amount: assumed(z.number(), 'A32', "The publisher's share of the amount."),
})
export type BillingLine = z.infer<typeof BillingLine>

export const BillingReport = z.strictObject({
  lines: assumed(z.array(BillingLine), 'A78', 'By project, format, metric and price.'),
  totals: assumed(
    z.array(
      z.strictObject({
        client_id: assumed(z.string(), 'A93', 'Project ID.'),
        billing_model: assumed(z.enum(['cpm_viewable', 'cpm_render', 'cpc', 'cpcv']), 'A76', 'What is billed.'),
        currency: assumed(z.string(), 'A76', 'ISO 4217.'),
        count: assumed(z.int(), 'A75', 'How many are billed.'),
        amount: assumed(z.number(), 'A76', 'Sum of the amounts.'),
        publisher_amount: assumed(z.number(), 'A32', "The publisher's share of it."),
      }),
    ),
    'A78',
    'What production would have billed, by project and currency.',
  ),
  not_counted: assumed(
    z.strictObject({
      count: assumed(z.int(), 'A75', 'Beacons that did not count, whether accepted, repeated or rejected.'),
      reasons: assumed(
        z.array(
          z.strictObject({
            reason_code: assumed(z.union([AcceptCode, reasonCode]), 'A75', 'Why.'),
            count: assumed(z.int(), 'A75', 'How many.'),
          }),
        ),
        'A75',
        'The most frequent first.',
      ),
      beacons: assumed(z.array(BeaconItem), 'A75', `The newest of them, at most ${notCountedAtMost}.`),
    }),
    'A75',
    'Beacons that did not count, and why.',
  ),
})
export type BillingReport = z.infer<typeof BillingReport>

export const endpoints = declareEndpoints({
  'billing.report': {
    ...reading,
    path: '/_sandbox/billing',
    summary: 'Report what production would have billed',
    description:
      'Over the accepted beacons as they are now, under the present settings of each project; test traffic is told like any other. Every price is a CPM, so what is billed is a thousandth of it each.',
    query: z.strictObject({
      client_id: assumed(z.string().optional(), 'A93', 'Only this project.'),
      session_id: assumed(z.string().optional(), 'A93', 'Only this session.'),
      since: assumed(Since.optional(), 'A93', 'Only beacons received since.'),
      until: assumed(Since.optional(), 'A93', 'Only beacons received before.'),
    }),
    response: BillingReport,
    errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
  },
})
