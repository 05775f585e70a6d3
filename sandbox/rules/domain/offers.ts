/** Campaigns and opportunities, prepared once for the rules of the market. */
import { type Format, formats, type JobType, type NativeTemplateId, type Purpose } from '#contract/fields.ts'
import { type AskedAnswer, bidPrice, isBidder, type JudgedBid } from './bids.ts'
import type { Campaign, Creative } from './catalogue.ts'
import { usdRate } from './currencies.ts'
import { hashText, mixHash } from './hash.ts'
import { type Answer, findAnswer, type Partner } from './partners.ts'
import { findBestSize, findNativeSize } from './sizes.ts'
import { normalizeTopic } from './topics.ts'

/** A campaign as the rules read it. */
export interface Offer {
  readonly campaign: Campaign
  /** Its partner, where that does not simply answer at once. */
  readonly partner: Partner | null
  readonly price_usd: number
  /** What its bidder has bid for this opportunity; left out where the list price counts. */
  readonly bid?: JudgedBid
  /** One bit per format, in the order of the contract's `formats`. */
  readonly formats: number
  readonly creatives: Readonly<Record<Format, readonly Creative[]>>
  /** Its categories and their parents. */
  readonly categories: readonly string[]
  /** Its landing domain and all parent domains. */
  readonly domains: readonly string[]
  readonly topics: ReadonlySet<string>
  readonly hash: number
}

export interface Opportunity {
  client_id: string
  session_id: string | null
  job_type: JobType
  /** Null without semantic_targeting (A52). Case and spaces do not matter. */
  topic: string | null
  /** ISO 3166-1 alpha-2, upper case. */
  country: string | null
  allowed_formats: readonly Format[]
  /** The layout of a native fill. */
  native_template_id: NativeTemplateId
  /** CSS pixels; null is no bound. */ max_width: number | null
  max_height: number | null
  /** CPM in `floor_currency`. A currency without a rate counts as USD. */
  floors: { banner: number; clip: number; native: number }
  floor_currency: string
  blocked_categories: readonly string[]
  blocked_domains: readonly string[]
  preferred_partner_id: string | null
  /** The only campaign that may fill, whatever it would pay (A107). */
  force_campaign_id: string | null
  /** What the consent permits. */
  purposes: Readonly<Record<Purpose, boolean>>
  /** Campaigns of which a cap was reached. */
  capped: ReadonlySet<string>
  /** What the bidders of your own answered; left out where none was asked. */
  answers?: readonly AskedAnswer[]
  /** The share of opportunities with demand, 0 to 1. */
  fill_rate: number
  seed: number
  now_ms: number
}

/** An opportunity, prepared once for all offers. */
export interface Query {
  readonly opportunity: Opportunity
  readonly topic: string | null
  readonly blocked_categories: ReadonlySet<string> | null
  readonly blocked_domains: ReadonlySet<string> | null
  readonly formats: number
  readonly usd_rate: number
  /** Hash of seed, project, session and topic, 32 bits. */
  readonly hash: number
  /** What a partner does with it. */
  readonly findAnswer: (partner: Partner) => Answer
  /** The bids of bidders, by campaign. */
  readonly bids: ReadonlyMap<string | null, JudgedBid>
}

export function prepareOffer(campaign: Campaign, partner: Partner | null): Offer {
  const creatives: Record<Format, Creative[]> = { banner: [], clip: [], native: [] }
  for (const creative of campaign.creatives) creatives[creative.format].push(creative)
  return {
    campaign,
    partner,
    price_usd: campaign.price_cpm * usdRate(campaign.currency),
    formats: maskFormats(campaign.creatives.map((creative) => creative.format)),
    creatives,
    categories: [...new Set(campaign.iab_categories.flatMap((category) => [category, category.split('-')[0]!]))],
    domains: campaign.landing_domain.split('.').map((_, index, labels) => labels.slice(index).join('.')),
    topics: new Set(campaign.topics.map(normalizeTopic)),
    hash: hashText(campaign.campaign_id),
  }
}

export function prepareQuery(opportunity: Opportunity, window_ms: number): Query {
  const topic = opportunity.topic === null ? null : normalizeTopic(opportunity.topic)
  const { seed, client_id, session_id, blocked_categories, blocked_domains, answers: asked } = opportunity
  const hash = mixHash(hashText(`${seed}|${client_id}|${session_id ?? ''}|${topic ?? ''}`))
  const answers = new Map<string, Answer>(asked?.map((answer) => [answer.partner_id, answer]))
  return {
    opportunity,
    topic,
    blocked_categories: blocked_categories.length === 0 ? null : new Set(blocked_categories),
    blocked_domains: blocked_domains.length === 0 ? null : new Set(blocked_domains),
    formats: maskFormats(opportunity.allowed_formats),
    usd_rate: usdRate(opportunity.floor_currency),
    hash,
    bids: listBids(asked),
    findAnswer(partner) {
      const known = answers.get(partner.partner_id)
      if (known !== undefined) return known
      const answer = findAnswer(partner, window_ms, hash)
      answers.set(partner.partner_id, answer)
      return answer
    },
  }
}

const noBids: Query['bids'] = new Map()

/** A second bid for a campaign is refused, and does not replace the first. */
function listBids(answers: readonly AskedAnswer[] = []): Query['bids'] {
  if (answers.length === 0) return noBids
  const bids = answers.flatMap((answer) => answer.bids)
  return new Map(bids.toReversed().map((bid) => [bid.campaign_id, bid]))
}

/** Returns an offer with the price that its bidder has bid. What is not bid for has no price: a rule of its partner removes it. */
export function withBid(offer: Offer, { bids }: Query): Offer {
  if (offer.partner === null || !isBidder(offer.partner)) return offer
  const bid = bids.get(offer.campaign.campaign_id)
  if (bid === undefined || bid.problem !== null) return { ...offer, price_usd: Number.POSITIVE_INFINITY }
  return { ...offer, price_usd: bidPrice(bid), bid }
}

/** A creative, and the size in which it is shown, CSS pixels. */
interface SizedCreative {
  creative: Creative
  width: number
  height: number
}

/** Returns the creative of an offer that a slot shows, or null when none fits. */
export function bestCreative(offer: Offer, format: Format, opportunity: Opportunity): SizedCreative | null {
  const creatives = offer.creatives[format]
  if (format === 'native') {
    const size = findNativeSize(opportunity.native_template_id, opportunity)
    const creative = creatives[0]
    return size === null || creative === undefined ? null : { creative, ...size }
  }
  const creative = findBestSize(format, opportunity, creatives)
  return creative === null ? null : { creative, width: creative.width, height: creative.height }
}

function maskFormats(list: readonly Format[]): number {
  let mask = 0
  for (const format of list) mask |= 1 << formats.indexOf(format)
  return mask
}
