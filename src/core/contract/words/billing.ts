/** What the service would bill for a placement, in words: those of the command line, the inspector, the console and `svc observe`. */
import type { BillingVerdict } from '../resources/placements.ts'

interface BillingWords {
  verdict: 'would bill' | 'would not bill'
  /** What is counted, and its price: `a viewable_impression, 4.2 USD CPM`. */
  subject: string
  /** All of it: `would bill a viewable_impression, 4.2 USD CPM. One viewable impression counted.` */
  text: string
}

/** Returns a billing verdict in words. */
export function describeBilling({
  would_bill,
  metric,
  gross_cpm,
  currency,
  explanation,
}: BillingVerdict): BillingWords {
  const verdict = would_bill ? 'would bill' : 'would not bill'
  const price = gross_cpm === null ? '' : `, ${gross_cpm} ${currency ?? ''} CPM`
  const subject = `a ${metric}${price}`
  return { verdict, subject, text: `${verdict} ${subject}. ${explanation}` }
}
