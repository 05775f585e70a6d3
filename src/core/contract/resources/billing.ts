import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { Format, pageQuery, Since } from '../fields.ts'
import { assumed, assumedObject } from '../objects.ts'
import { BeaconItem, BeaconReason, Metric } from './beacons.ts'
import { BillingModel } from './projects.ts'

/** Maximum number of beacons that a report lists. */
export const notCountedAtMost = 100

export const BillingLine = assumedObject('A76', () => ({
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  format: Format.describe('Format of the creative.'),
  metric: Metric.describe('What was counted.'),
  is_billed: z.boolean().describe('Whether the billing model of the project bills this metric.'),
  gross_cpm: z.number().describe('Price per thousand.'),
  currency: z.string().describe('ISO 4217.'),
  count: assumed(z.int(), 'A75', 'Number that counted, each placement once per metric.'),
  amount: z.number().describe('count times gross_cpm over 1000; 0 where it is not billed.'),
  publisher_amount: assumed(z.number(), 'A32', "The publisher's share of the amount."),
}))
export type BillingLine = z.infer<typeof BillingLine>

/** What a report can be divided by. */
const billingDimensions = ['day', 'campaign', 'format', 'job_type', 'session', 'country'] as const
export const BillingDimension = z.enum(billingDimensions)
export type BillingDimension = z.infer<typeof BillingDimension>

export const BillingGroup = assumedObject('A76', () => ({
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  group: z
    .string()
    .nullable()
    .describe('The day (UTC), campaign, format, job type, session or country; null where the placement has none.'),
  metric: Metric.describe('What was counted.'),
  is_billed: z.boolean().describe('Whether the billing model of the project bills this metric.'),
  currency: z.string().describe('ISO 4217.'),
  count: assumed(z.int(), 'A75', 'Number that counted, each placement once per metric.'),
  amount: z.number().describe('Sum of the prices; 0 where it is not billed.'),
  publisher_amount: assumed(z.number(), 'A32', "The publisher's share of the amount."),
}))
export type BillingGroup = z.infer<typeof BillingGroup>

export const BillingReport = assumedObject('A78', () => ({
  lines: z.array(BillingLine).describe('By project, format, metric and price.'),
  totals: z
    .array(
      assumedObject('A76', () => ({
        client_id: assumed(z.string(), 'A93', 'Project ID.'),
        billing_model: BillingModel.describe('What is billed.'),
        currency: z.string().describe('ISO 4217.'),
        count: assumed(z.int(), 'A75', 'Number billed.'),
        amount: z.number().describe('Sum of the amounts.'),
        publisher_amount: assumed(z.number(), 'A32', "The publisher's share of the amount."),
      })),
    )
    .describe('What production would have billed, by project and currency.'),
  groups: z
    .array(BillingGroup)
    .optional()
    .describe(
      'With `by`: the same counts by project, group, metric and currency. By session: those of a page of sessions, the newest first, and at the end those of placements without one.',
    ),
  next_cursor: z
    .string()
    .nullable()
    .optional()
    .describe('By session: send as cursor for the next sessions; null at the end.'),
  not_counted: assumed(
    assumedObject('A75', () => ({
      count: z.int().describe('Beacons that did not count, whether accepted, repeated or rejected.'),
      reasons: z
        .array(
          assumedObject('A75', () => ({
            reason_code: BeaconReason.describe('Why.'),
            count: z.int().describe('Number of beacons.'),
          })),
        )
        .describe('Most frequent first.'),
      beacons: z.array(BeaconItem).describe(`The newest, at most ${notCountedAtMost}.`),
    })),
    'A75',
    'Beacons that did not count, and why.',
  ),
}))
export type BillingReport = z.infer<typeof BillingReport>

export const control = declareEndpoints({
  'billing.report': {
    ...reading,
    path: '/_sandbox/billing',
    summary: 'Report what production would have billed',
    description:
      'Computed over the current accepted beacons, with the current settings of each project; test traffic is included. Every price is a CPM: each counted beacon is billed a thousandth of it.',
    query: assumedObject('A93', () => ({
      client_id: z.string().optional().describe('Only this project.'),
      session_id: z.string().optional().describe('Only this session.'),
      since: Since.optional().describe('Only beacons received since then.'),
      until: Since.optional().describe('Only beacons received before then.'),
      by: BillingDimension.optional().describe(
        'Divide the counts: by day (UTC, of the time of receipt), campaign, format, job_type, session or country.',
      ),
      limit: pageQuery().limit.describe(
        'By session: sessions in a page, 1 to 1000; default 50. Other reports are whole.',
      ),
      cursor: pageQuery().cursor.describe('By session: next_cursor of the previous page.'),
    })),
    response: BillingReport,
  },
})
