/**
 * The simulated market (A38, A40, A43): every campaign passes the rules in the order of the table `rules`; the first
 * that leaves it no format removes it. Of the rest the best offer wins: highest list price in USD, then the preferred
 * partner, then banner before clip before native, then a seeded hash of project, session and topic, so equal offers take
 * turns between sessions while the same request always gets the same decision. When no campaign is left, the reason comes
 * from the last rule, in table order, that removed one: the rule that stopped the campaigns that got furthest.
 */
import { type Format, formats } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import { isBidder, readAnswers } from './bids.ts'
import type { Campaign, Creative, MarketData } from './catalogue.ts'
import { mixHash } from './hash.ts'
import { rules } from './market-rules.ts'
import {
  bestCreative,
  type Offer,
  type Opportunity,
  prepareOffer,
  prepareQuery,
  type Query,
  withBid,
} from './offers.ts'
import { defaultWindowMs, type Partner } from './partners.ts'

/** Positions of campaigns, the dearest first. */
interface MarketIndex {
  byTopic: ReadonlyMap<string, readonly number[]>
  /** Those without topics. */
  ofAny: readonly number[]
}

/** The most campaigns of which each decision asks all, and keeps a letter. */
const maxAsked = 500

export interface Market {
  readonly campaigns: readonly Campaign[]
  /** The campaigns in the same order, indexed for the rules. */
  readonly offers: readonly Offer[]
  /** Null in a market whose campaigns are all asked. */
  readonly index: MarketIndex | null
  /** The position of each campaign, by its identifier. */
  readonly positions: ReadonlyMap<string, number>
  readonly partners: readonly Partner[]
  /** The bidders of your own, each with the identifiers of its campaigns. */
  readonly bidders: readonly { partner: Partner; own: ReadonlySet<string> }[]
  /** How long partners are waited for, milliseconds. */
  readonly window_ms: number
  readonly files: NonNullable<MarketData['files']>
}

type FilledMarket = Extract<MarketOutcome, { status: 'filled' }>

export type MarketOutcome =
  | {
      status: 'filled'
      campaign: Campaign
      creative: Creative
      format: Format
      /** CSS pixels. */
      width: number
      height: number
      /** The list price in the campaign's currency, or the bid in that of the bid. */
      gross_cpm: number
      currency: string
      trace: string
    }
  | { status: 'no_fill'; reason: NoFillReason; trace: string }

/** Letters of the campaigns that no rule removed. */
export const won = 'W'
export const outbid = 'o'
/** The letters of a decision in which a campaign was forced: of that campaign, and of the others. */
export const forced = 'F'
export const unforced = 'z'

/** Indexes a catalogue once, for many decisions. */
export function prepareMarket(data: MarketData): Market {
  const { campaigns, partners, files = {}, window_ms = defaultWindowMs } = data
  const behaving = new Map(partners.filter(behaves).map((partner) => [partner.partner_id, partner]))
  const positions = new Map(campaigns.map(({ campaign_id }, position) => [campaign_id, position]))
  const offers = campaigns.map((campaign) => prepareOffer(campaign, behaving.get(campaign.partner_id) ?? null))
  const index = offers.length > maxAsked ? indexOffers(offers) : null
  const bidders = partners.filter(isBidder).map((partner) => {
    const own = campaigns.filter(({ partner_id }) => partner_id === partner.partner_id)
    return { partner, own: new Set(own.map(({ campaign_id }) => campaign_id)) }
  })
  return { campaigns, positions, offers, partners, bidders, window_ms, files, index }
}

function behaves({ latency_ms, error_rate, malformed_rate, oversized_rate, below_floor_rate, url }: Partner): boolean {
  return (latency_ms ?? error_rate ?? malformed_rate ?? oversized_rate ?? below_floor_rate ?? url) !== undefined
}

/** Returns how long a decision waits for its simulated partners: for the last one, but no longer than the window. */
export function auctionMs({ partners, window_ms }: Market, opportunity: Opportunity): number {
  const simulated = partners.filter((partner) => behaves(partner) && !isBidder(partner))
  if (simulated.length === 0) return 0
  const query = prepareQuery(opportunity, window_ms)
  return Math.min(window_ms, Math.max(...simulated.map((partner) => query.findAnswer(partner).latency_ms)))
}

function indexOffers(offers: readonly Offer[]): MarketIndex {
  const byTopic = new Map<string, number[]>()
  const ofAny: number[] = []
  const byPrice = offers.map((_, position) => position).toSorted((a, b) => offers[b]!.price_usd - offers[a]!.price_usd)
  for (const position of byPrice) {
    const { topics, partner } = offers[position]!
    // What it costs is known when its bidder has answered.
    if (partner !== null && isBidder(partner)) continue
    if (topics.size === 0) ofAny.push(position)
    for (const topic of topics) {
      const known = byTopic.get(topic)
      if (known === undefined) byTopic.set(topic, [position])
      else known.push(position)
    }
  }
  return { byTopic, ofAny }
}

/** The most campaigns in a sparse trace. */
const maxTraced = 500
const sparse = '~'

/** Returns `~12,7:Wo`: the positions of the campaigns that were asked, and a letter for each. */
function writeSparse(asked: readonly number[], letters: string): string {
  return `${sparse}${asked.slice(0, letters.length).join(',')}:${letters}`
}

/** Returns the campaigns that a trace has, with their letters; null for a trace of another market. */
export function readTrace(market: Market, whole: string): { position: number; letter: string }[] | null {
  const { letters: trace } = readAnswers(whole)
  if (!trace.startsWith(sparse)) {
    if (trace.length !== market.campaigns.length) return null
    return [...trace].map((letter, position) => ({ position, letter }))
  }
  const [positions = '', letters = ''] = trace.slice(1).split(':')
  if (positions === '') return []
  const found = positions.split(',').map((text, at) => ({ position: Number(text), letter: letters.charAt(at) }))
  return found.every(({ position }) => market.campaigns[position] !== undefined) ? found : null
}

/**
 * Decides which campaign fills the opportunity, or why none does (A40, A43). The trace has one letter per campaign, in
 * catalogue order: `W` won, `o` outbid, otherwise the rule that removed it. That of a large market has only those that were
 * asked: see `sparse`.
 */
export function decide(market: Market, opportunity: Opportunity): MarketOutcome {
  const query = prepareQuery(opportunity, market.window_ms)
  if (opportunity.force_campaign_id !== null) return decideForced(market, query, opportunity.force_campaign_id)
  const { index } = market
  const auction = createAuction(market, query)
  if (index === null) for (let position = 0; position < market.offers.length; position++) auction.ask(position)
  else {
    for (const position of listBidPositions(market, query)) auction.ask(position)
    askByPrice(market, index, auction)
  }
  return auction.close()
}

/** Offers that are asked one after the other; the best so far is kept. */
function createAuction({ offers, index }: Market, query: Query) {
  let best: Offer | null = null
  let best_formats = 0
  let best_position = 0
  // An empty catalogue has no demand, as one whose campaigns the first rule removes.
  let furthest = 0
  const asked: number[] = []
  const letters: number[] = []
  return { query, ask, close, findPrice: () => best?.price_usd ?? null }

  function ask(position: number): void {
    const offer = withBid(offers[position]!, query)
    let formats = offer.formats
    let passed = 0
    while (passed < rules.length) {
      formats = rules[passed]!.keep(offer, query, formats)
      if (formats === 0) break
      passed++
    }
    const removed_by = rules[passed]
    if (index !== null) asked.push(position)
    letters.push((removed_by?.code ?? outbid).charCodeAt(0))
    if (removed_by !== undefined) {
      furthest = Math.max(furthest, passed)
    } else if (best === null || outranks(offer, best, query, firstBit(formats) - firstBit(best_formats))) {
      best = offer
      best_formats = formats
      best_position = letters.length - 1
    }
  }

  function close(): MarketOutcome {
    if (best !== null) letters[best_position] = won.charCodeAt(0)
    const text = String.fromCharCode(...letters.slice(0, maxTraced))
    const trace = index === null ? text : writeSparse(asked, text)
    if (best === null) return { status: 'no_fill', reason: rules[furthest]!.reason, trace }
    return fill(best, best_formats, query.opportunity, trace)
  }
}

/** The campaigns of a bidder without a bid that a sparse trace names, to say why. */
const maxUnbid = 20

/** Returns the campaigns that bidders have bid for, and of each bidder without a bid some that it could have. */
function listBidPositions({ bidders, positions }: Market, { bids }: Query): number[] {
  const ids = bidders.flatMap(({ own }) => {
    const bid = [...own].filter((id) => bids.has(id))
    return bid.length > 0 ? bid : [...own].slice(0, maxUnbid)
  })
  return ids.map((id) => positions.get(id)!)
}

/**
 * Asks the campaigns of the topic and those of any, the dearest first, and stops where the next can only be outbid: with ten
 * thousand campaigns, a placement asks a handful.
 */
function askByPrice(
  { offers }: Market,
  { byTopic, ofAny }: MarketIndex,
  auction: ReturnType<typeof createAuction>,
): void {
  const ofTopic = byTopic.get(auction.query.topic ?? '') ?? []
  let left = 0
  let right = 0
  while (left < ofTopic.length || right < ofAny.length) {
    const one = ofTopic[left]
    const other = ofAny[right]
    const isTopic = other === undefined || (one !== undefined && offers[one]!.price_usd >= offers[other]!.price_usd)
    const position = isTopic ? one! : other
    const price = auction.findPrice()
    if (price !== null && offers[position]!.price_usd < price) return
    auction.ask(position)
    if (isTopic) left++
    else right++
  }
}

/**
 * Decides between one campaign and none (A107): the rules of the publisher, consent and policy apply to it, the targeting of
 * its buyer and the offers of others do not. Nobody has bid, so its price is 0.
 */
function decideForced(market: Market, query: Query, campaign_id: string): MarketOutcome {
  const position = market.positions.get(campaign_id) ?? -1
  const offer = market.offers[position]
  const trace = (letter: string) =>
    market.index === null
      ? market.offers.map((_, at) => (at === position ? letter : unforced)).join('')
      : writeSparse([position], letter)
  if (offer === undefined) return { status: 'no_fill', reason: 'no_demand', trace: '' }
  let kept = offer.formats
  for (const rule of rules) {
    if (rule.yieldsToForce !== true) kept = rule.keep(offer, query, kept)
    if (kept === 0) return { status: 'no_fill', reason: rule.reason, trace: trace(rule.code) }
  }
  return { ...fill(offer, kept, query.opportunity, trace(forced)), gross_cpm: 0 }
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

function fill(offer: Offer, mask: number, opportunity: Opportunity, trace: string): FilledMarket {
  const { campaign, bid } = offer
  const format = formats[31 - Math.clz32(firstBit(mask))]!
  return {
    status: 'filled',
    campaign,
    ...bestCreative(offer, format, opportunity)!,
    format,
    gross_cpm: bid?.price_cpm ?? campaign.price_cpm,
    currency: bid?.currency ?? campaign.currency,
    trace,
  }
}

function firstBit(mask: number): number {
  return mask & -mask
}
