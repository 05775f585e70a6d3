/**
 * The simulated market (A38, A40, A43): every campaign passes the rules in the order of the table `rules`; the first
 * that leaves it no format removes it. Of the rest the best offer wins: highest list price in USD, then the preferred
 * partner, then banner before clip before native, then a seeded hash of project, session and topic, so equal offers take
 * turns between sessions while the same request always gets the same decision. When no campaign is left, the reason comes
 * from the last rule, in table order, that removed one: the rule that stopped the campaigns that got furthest.
 */
import { type Format, formats } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import type { Campaign, Creative, MarketData } from './catalogue.ts'
import { rules } from './market-rules.ts'
import {
  bestCreative,
  mixHash,
  type Offer,
  type Opportunity,
  prepareOffer,
  prepareQuery,
  type Query,
} from './offers.ts'

export interface Market {
  readonly campaigns: readonly Campaign[]
  /** The campaigns in the same order, indexed for the rules. */
  readonly offers: readonly Offer[]
  readonly files: NonNullable<MarketData['files']>
}

export type MarketOutcome =
  | {
      status: 'filled'
      campaign: Campaign
      creative: Creative
      format: Format
      /** CSS pixels. */
      width: number
      height: number
      /** The list price, in the campaign's currency. */
      gross_cpm: number
      currency: string
      trace: string
    }
  | { status: 'no_fill'; reason: NoFillReason; trace: string }

/** Letters of the campaigns that no rule removed. */
export const won = 'W'
export const outbid = 'o'

/** Indexes a catalogue once, for many decisions. */
export function prepareMarket(data: MarketData): Market {
  const { campaigns, files = {} } = data
  return { campaigns, offers: campaigns.map(prepareOffer), files }
}

/**
 * Decides which campaign fills the opportunity, or why none does (A40, A43). The trace has one letter per campaign, in
 * catalogue order: `W` won, `o` outbid, otherwise the rule that removed it.
 */
export function decide(market: Market, opportunity: Opportunity): MarketOutcome {
  const query = prepareQuery(opportunity)
  let best: Offer | null = null
  let best_formats = 0
  let best_position = 0
  // An empty catalogue has no demand, as one whose campaigns the first rule removes.
  let furthest = 0
  const letters: number[] = []
  const { offers } = market
  for (let position = 0; position < offers.length; position++) {
    const offer = offers[position]!
    let formats = offer.formats
    let passed = 0
    while (passed < rules.length) {
      formats = rules[passed]!.keep(offer, query, formats)
      if (formats === 0) break
      passed++
    }
    const removed_by = rules[passed]
    letters.push((removed_by?.code ?? outbid).charCodeAt(0))
    if (removed_by !== undefined) {
      furthest = Math.max(furthest, passed)
    } else if (best === null || outranks(offer, best, query, firstBit(formats) - firstBit(best_formats))) {
      best = offer
      best_formats = formats
      best_position = position
    }
  }
  if (best !== null) letters[best_position] = won.charCodeAt(0)
  const trace = String.fromCharCode(...letters)
  if (best === null) return { status: 'no_fill', reason: rules[furthest]!.reason, trace }
  return fill(best, best_formats, opportunity, trace)
}

/** `format_order` is negative when the format of the offer is preferred to that of the best one, 0 when they are the same. */
function outranks(offer: Offer, best: Offer, query: Query, format_order: number): boolean {
  if (offer.price_usd !== best.price_usd) return offer.price_usd > best.price_usd
  const preferred = query.opportunity.preferred_partner_id
  const is_preferred = offer.campaign.partner_id === preferred
  if (is_preferred !== (best.campaign.partner_id === preferred)) return is_preferred
  if (format_order !== 0) return format_order < 0
  return mixHash(offer.hash ^ query.hash) < mixHash(best.hash ^ query.hash)
}

function fill(offer: Offer, mask: number, opportunity: Opportunity, trace: string): MarketOutcome {
  const { campaign } = offer
  const format = formats[31 - Math.clz32(firstBit(mask))]!
  return {
    status: 'filled',
    campaign,
    ...bestCreative(offer, format, opportunity)!,
    format,
    gross_cpm: campaign.price_cpm,
    currency: campaign.currency,
    trace,
  }
}

function firstBit(mask: number): number {
  return mask & -mask
}
