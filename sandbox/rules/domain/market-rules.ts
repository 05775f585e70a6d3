/** The rules by which the market removes campaigns, in the order in which they apply. */
import { formats } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import { isBidder } from './bids.ts'
import { bestCreative, type Offer, type Query } from './offers.ts'
import type { AnswerOutcome } from './partners.ts'

interface Rule {
  /** Its letter in traces. Traces are stored: a letter never gets another meaning. */
  readonly code: string
  readonly name: string
  /** Why it removes a campaign, in one sentence. */
  readonly explanation: string
  readonly reason: NoFillReason
  /** Whether it is the buyer's own targeting, or chance: a forced campaign is shown all the same. */
  readonly yieldsToForce?: true
  /** Returns the given formats that the campaign can still fill; 0 removes it. */
  readonly keep: (offer: Offer, query: Query, formats: number) => number
}

export const rules: readonly Rule[] = [
  {
    code: 'f',
    name: 'flight',
    explanation: 'Not running at this time.',
    reason: 'no_demand',
    yieldsToForce: true,
    keep: ({ campaign: { flight } }, { opportunity: { now_ms } }, formats) =>
      now_ms >= (flight.starts_at_ms ?? 0) && now_ms < (flight.ends_at_ms ?? Number.POSITIVE_INFINITY) ? formats : 0,
  },
  {
    code: 'c',
    name: 'country',
    explanation: 'Does not buy the country of the request, or the request names none.',
    reason: 'no_demand',
    yieldsToForce: true,
    keep: ({ campaign: { countries } }, { opportunity: { country } }, formats) =>
      countries.length === 0 || (country !== null && countries.includes(country)) ? formats : 0,
  },
  {
    code: 'j',
    name: 'job_type',
    explanation: 'Does not buy this job type.',
    reason: 'no_demand',
    yieldsToForce: true,
    keep: ({ campaign: { job_types } }, { opportunity: { job_type } }, formats) =>
      job_types.length === 0 || job_types.includes(job_type) ? formats : 0,
  },
  {
    code: 't',
    name: 'topic',
    explanation: 'Buys other topics; a topic counts only with semantic_targeting.',
    reason: 'no_demand',
    yieldsToForce: true,
    keep: ({ topics }, { topic }, formats) =>
      topics.size === 0 || (topic !== null && topics.has(topic)) ? formats : 0,
  },
  {
    code: 'g',
    name: 'consent',
    explanation: 'Needs a purpose that the consent does not permit.',
    reason: 'consent_not_granted',
    keep: ({ campaign: { needs_consent = [] } }, { opportunity: { purposes } }, formats) =>
      needs_consent.every((purpose) => purposes[purpose]) ? formats : 0,
  },
  {
    code: 'b',
    name: 'blocked_category',
    explanation: 'Its category is blocked; a top-level code blocks its children.',
    reason: 'category_blocked',
    keep: ({ categories }, { blocked_categories }, formats) =>
      includesAny(categories, blocked_categories) ? 0 : formats,
  },
  {
    code: 'd',
    name: 'blocked_domain',
    explanation: 'Its landing domain is blocked, or a domain above it.',
    reason: 'advertiser_blocked',
    keep: ({ domains }, { blocked_domains }, formats) => (includesAny(domains, blocked_domains) ? 0 : formats),
  },
  {
    code: 'm',
    name: 'format',
    explanation: 'Has no creative of an allowed format.',
    reason: 'format_mismatch',
    keep: (_offer, query, formats) => formats & query.formats,
  },
  {
    code: 's',
    name: 'size',
    explanation: 'None of its creatives fits the slot.',
    reason: 'size_mismatch',
    keep: keepFitting,
  },
  {
    code: 'p',
    name: 'floor',
    explanation: 'Its price is under the floor.',
    reason: 'below_floor',
    keep: keepAffordable,
  },
  {
    code: 'T',
    name: 'partner_timeout',
    explanation: 'Its partner answered after the window.',
    reason: 'timeout',
    yieldsToForce: true,
    keep: keepUnless('late'),
  },
  {
    code: 'E',
    name: 'partner_error',
    explanation: 'Its partner answered with an error.',
    reason: 'partner_error',
    yieldsToForce: true,
    keep: keepUnless('failed'),
  },
  {
    code: 'M',
    name: 'partner_malformed',
    explanation: 'Its partner sent something that cannot be read.',
    reason: 'partner_error',
    yieldsToForce: true,
    keep: keepUnless('malformed'),
  },
  {
    code: 'L',
    name: 'partner_oversized',
    explanation: 'Its partner sent something that is too large.',
    reason: 'partner_error',
    yieldsToForce: true,
    keep: keepUnless('oversized'),
  },
  {
    code: 'U',
    name: 'partner_floor',
    explanation: 'Its partner bid below the floor.',
    reason: 'below_floor',
    yieldsToForce: true,
    keep: keepUnless('under_floor'),
  },
  {
    code: 'N',
    name: 'no_bid',
    explanation: 'Its partner did not bid for it.',
    reason: 'no_demand',
    yieldsToForce: true,
    keep: ({ partner, campaign }, { bids }, formats) =>
      partner === null || !isBidder(partner) || bids.has(campaign.campaign_id) ? formats : 0,
  },
  {
    code: 'R',
    name: 'bid_refused',
    explanation: 'The bid of its partner was refused: the auction shows why.',
    reason: 'partner_error',
    yieldsToForce: true,
    keep: ({ campaign }, { bids }, formats) =>
      (bids.get(campaign.campaign_id)?.problem ?? null) === null ? formats : 0,
  },
  {
    code: 'k',
    name: 'cap',
    explanation: 'A cap of the campaign was reached.',
    reason: 'frequency_cap_exceeded',
    yieldsToForce: true,
    keep: ({ campaign: { campaign_id } }, { opportunity: { capped } }, formats) =>
      capped.has(campaign_id) ? 0 : formats,
  },
  {
    code: 'r',
    name: 'fill_rate',
    explanation: "The project's fill rate left this request without demand.",
    reason: 'no_demand',
    yieldsToForce: true,
    keep: (_offer, query, formats) => (query.hash / 2 ** 32 < query.opportunity.fill_rate ? formats : 0),
  },
]

/** Returns the rule that removes the offers of a partner that did one thing. */
function keepUnless(outcome: AnswerOutcome): Rule['keep'] {
  return ({ partner }, query, formats) =>
    partner !== null && query.findAnswer(partner).outcome === outcome ? 0 : formats
}

function includesAny(keys: readonly string[], blocked: ReadonlySet<string> | null): boolean {
  if (blocked === null) return false
  for (const key of keys) if (blocked.has(key)) return true
  return false
}

function keepFitting(offer: Offer, { opportunity }: Query, mask: number): number {
  let kept = 0
  for (let position = 0; position < formats.length; position++) {
    const format = formats[position]!
    const bit = 1 << position
    if ((mask & bit) !== 0 && bestCreative(offer, format, opportunity) !== null) kept |= bit
  }
  return kept
}

function keepAffordable({ price_usd }: Offer, { opportunity: { floors }, usd_rate }: Query, mask: number): number {
  let kept = 0
  for (let position = 0; position < formats.length; position++) {
    const format = formats[position]!
    const bit = 1 << position
    if ((mask & bit) !== 0 && price_usd >= floors[format] * usd_rate) kept |= bit
  }
  return kept
}
