/**
 * The decision of one slot: policy first, then the simulated market (A38, A40, A43), then what a scenario withholds;
 * and its trace in words. Pure: all inputs are plain data, and a no-fill is a result like any other.
 *
 * In the market every campaign passes the rules in the order of the table `rules`; the first that leaves it no format
 * removes it. Of the rest the best offer wins: highest list price in USD, then the preferred partner, then banner
 * before clip before native, then a seeded hash of project, session and topic, so equal offers take turns between
 * sessions while the same request always gets the same decision. When no campaign is left, the reason comes from the
 * last rule, in table order, that removed one: the rule that stopped the campaigns that got furthest.
 *
 * One file of more than 400 lines, since policy, rules and scenarios share the outcome and the letters of its trace.
 */

import { type AuthoritativeConsent, type Format, formats, type JobType } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import type { TraceStep } from '#contract/resources/placements.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import type { ForcedNoFill } from '#contract/resources/sandbox/scenarios.ts'
import type { Campaign, Creative, MarketData } from './catalogue.ts'
import { usdRate } from './currencies.ts'
import { findBestSize } from './sizes.ts'
import { normalizeTopic } from './topics.ts'

export interface Market {
  readonly campaigns: readonly Campaign[]
  /** The campaigns in the same order, indexed for the rules. */
  readonly offers: readonly Offer[]
}

/** A campaign as the rules read it. */
interface Offer {
  readonly campaign: Campaign
  readonly price_usd: number
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
  /** CSS pixels; null is no bound. */ max_width: number | null
  max_height: number | null
  /** CPM in `floor_currency`. A currency without a rate counts as USD. */
  floors: { banner: number; clip: number; native: number }
  floor_currency: string
  blocked_categories: readonly string[]
  blocked_domains: readonly string[]
  preferred_partner_id: string | null
  /** The share of opportunities with demand, 0 to 1. */
  fill_rate: number
  seed: number
  now_ms: number
}

export type MarketOutcome =
  | {
      status: 'filled'
      campaign: Campaign
      creative: Creative
      format: Format
      /** CSS pixels. For native, the size of its image, at most the bounds of the slot: the template lays it out. */
      width: number
      height: number
      /** The list price, in the campaign's currency. */
      gross_cpm: number
      currency: string
      trace: string
    }
  | { status: 'no_fill'; reason: NoFillReason; trace: string }

interface DecisionInput {
  settings: ProjectSettings
  consent: AuthoritativeConsent
  test_forced: boolean
  isHighRisk: boolean
  isCapped: boolean
  /** The no-fill that a scenario forces; null without one. */
  forced: ForcedNoFill | null
  opportunity: Opportunity
}

/** An opportunity, prepared once for all offers. */
interface Query {
  readonly opportunity: Opportunity
  readonly topic: string | null
  readonly blocked_categories: ReadonlySet<string> | null
  readonly blocked_domains: ReadonlySet<string> | null
  readonly formats: number
  readonly usd_rate: number
  /** Hash of seed, project, session and topic, 32 bits. */
  readonly hash: number
}

interface Rule {
  /** Its letter in traces. Traces are stored: a letter never gets another meaning. */
  readonly code: string
  readonly name: string
  /** Why it removes a campaign, in one sentence. */
  readonly explanation: string
  readonly reason: NoFillReason
  /** Returns the given formats that the campaign can still fill; 0 removes it. */
  readonly keep: (offer: Offer, query: Query, formats: number) => number
}

/** Letters of the campaigns that no rule removed. */
export const won = 'W'
export const outbid = 'o'

export const rules: readonly Rule[] = [
  {
    code: 'f',
    name: 'flight',
    explanation: 'Not running at this time.',
    reason: 'no_demand',
    keep: ({ campaign: { flight } }, { opportunity: { now_ms } }, formats) =>
      (flight.starts_at_ms === null || now_ms >= flight.starts_at_ms) &&
      (flight.ends_at_ms === null || now_ms < flight.ends_at_ms)
        ? formats
        : 0,
  },
  {
    code: 'c',
    name: 'country',
    explanation: 'Does not buy the country of the request, or the request names none.',
    reason: 'no_demand',
    keep: ({ campaign: { countries } }, { opportunity: { country } }, formats) =>
      countries.length === 0 || (country !== null && countries.includes(country)) ? formats : 0,
  },
  {
    code: 'j',
    name: 'job_type',
    explanation: 'Does not buy this job type.',
    reason: 'no_demand',
    keep: ({ campaign: { job_types } }, { opportunity: { job_type } }, formats) =>
      job_types.length === 0 || job_types.includes(job_type) ? formats : 0,
  },
  {
    code: 't',
    name: 'topic',
    explanation: 'Buys other topics; a topic counts only with semantic_targeting.',
    reason: 'no_demand',
    keep: ({ topics }, { topic }, formats) =>
      topics.size === 0 || (topic !== null && topics.has(topic)) ? formats : 0,
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
    code: 'r',
    name: 'fill_rate',
    explanation: "The project's fill rate left this request without demand.",
    reason: 'no_demand',
    keep: (_offer, query, formats) => (query.hash / 2 ** 32 < query.opportunity.fill_rate ? formats : 0),
  },
]

/** Reasons that apply once there are offers; `risk_suppressed` comes before the market. */
type WithheldReason = Exclude<ForcedNoFill, 'risk_suppressed'>

/** The letters of withheld offers in traces, in addition to the rules' letters. */
export const withheldSteps: Readonly<Record<WithheldReason, { code: string; name: string; explanation: string }>> = {
  no_demand: { code: 'n', name: 'no_demand', explanation: 'Made no offer: a scenario is in use.' },
  timeout: { code: 'l', name: 'timeout', explanation: 'Its offer came too late: a scenario is in use.' },
  partner_error: { code: 'e', name: 'partner_error', explanation: 'Its partner failed: a scenario is in use.' },
  internal_error: { code: 'x', name: 'internal_error', explanation: 'Its offer was lost: a scenario is in use.' },
}

const rulesByCode = new Map([...rules, ...Object.values(withheldSteps)].map((rule) => [rule.code, rule]))

/** Indexes a catalogue once, for many decisions. */
export function prepareMarket(data: MarketData): Market {
  return { campaigns: data.campaigns, offers: data.campaigns.map(prepareOffer) }
}

/**
 * Decides one slot by the first of these conditions that applies: forced by test_outcome, project disabled, job type
 * not enabled, consent not granted, high-risk topic, frequency cap, a risk that a scenario claims, then the market. A
 * scenario may still withhold a fill of the market. Before the market the trace is empty: no campaign was considered.
 */
export function decideSlot(market: Market, input: DecisionInput): MarketOutcome {
  const reason = findPolicyReason(input)
  if (reason !== null) return { status: 'no_fill', reason, trace: '' }
  const outcome = decide(market, input.opportunity)
  return input.forced === null ? outcome : withhold(outcome, input.forced as WithheldReason)
}

/**
 * Returns a trace in words: each campaign of the catalogue, and the rule that removed it (A43). A decision that never
 * reached the market has an empty trace and no explanation.
 * @throws RangeError when the trace does not belong to this catalogue
 */
export function explainTrace(market: Market, trace: string): TraceStep[] {
  if (trace === '') return []
  if (trace.length !== market.campaigns.length) {
    throw new RangeError(
      `The trace is of ${trace.length} campaigns, the catalogue has ${market.campaigns.length}. Explain it with the catalogue it was decided on.`,
    )
  }
  return market.campaigns.map(({ campaign_id }, position) => explainStep(campaign_id, trace.charAt(position)))
}

function explainStep(campaign_id: string, letter: string): TraceStep {
  if (letter === won) return { campaign_id, outcome: 'won', rule: null, explanation: 'The best offer.' }
  if (letter === outbid) return { campaign_id, outcome: 'outbid', rule: null, explanation: 'Another offer was better.' }
  const rule = rulesByCode.get(letter)
  if (rule === undefined) throw new RangeError(`The trace has ${JSON.stringify(letter)}, which belongs to no rule.`)
  return { campaign_id, outcome: 'removed', rule: rule.name, explanation: rule.explanation }
}

function findPolicyReason(input: DecisionInput): NoFillReason | null {
  if (input.test_forced) return 'test_forced'
  if (!input.settings.enabled) return 'policy_block'
  if (!input.settings.job_types.includes(input.opportunity.job_type)) return 'unsupported_surface'
  if (input.consent.lifecycle_state !== 'granted') return 'consent_not_granted'
  if (input.isHighRisk) return 'content_safety'
  if (input.isCapped) return 'frequency_cap_exceeded'
  return input.forced === 'risk_suppressed' ? 'risk_suppressed' : null
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
  let furthest = -1
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
      if (passed > furthest) furthest = passed
    } else if (best === null || outranks(offer, best, query, firstBit(formats) - firstBit(best_formats))) {
      best = offer
      best_formats = formats
      best_position = position
    }
  }
  if (best !== null) letters[best_position] = won.charCodeAt(0)
  const trace = String.fromCharCode(...letters)
  if (best === null) return { status: 'no_fill', reason: rules[furthest]?.reason ?? 'no_demand', trace }
  return fill(best, best_formats, opportunity, trace)
}

/** Returns the outcome without its fill: every campaign that still had an offer is removed for the reason. */
export function withhold({ trace }: MarketOutcome, reason: WithheldReason): MarketOutcome {
  const { code } = withheldSteps[reason]
  return { status: 'no_fill', reason, trace: trace.replaceAll(won, code).replaceAll(outbid, code) }
}

function prepareOffer(campaign: Campaign): Offer {
  const creatives: Record<Format, Creative[]> = { banner: [], clip: [], native: [] }
  for (const creative of campaign.creatives) creatives[creative.format].push(creative)
  return {
    campaign,
    price_usd: campaign.price_cpm * usdRate(campaign.currency),
    formats: maskFormats(campaign.creatives.map((creative) => creative.format)),
    creatives,
    categories: [...new Set(campaign.iab_categories.flatMap((category) => [category, category.split('-')[0]!]))],
    domains: campaign.landing_domain.split('.').map((_, index, labels) => labels.slice(index).join('.')),
    topics: new Set(campaign.topics.map(normalizeTopic)),
    hash: hashText(campaign.campaign_id),
  }
}

function prepareQuery(opportunity: Opportunity): Query {
  const topic = opportunity.topic === null ? null : normalizeTopic(opportunity.topic)
  const { seed, client_id, session_id, blocked_categories, blocked_domains } = opportunity
  return {
    opportunity,
    topic,
    blocked_categories: blocked_categories.length === 0 ? null : new Set(blocked_categories),
    blocked_domains: blocked_domains.length === 0 ? null : new Set(blocked_domains),
    formats: maskFormats(opportunity.allowed_formats),
    usd_rate: usdRate(opportunity.floor_currency),
    hash: mixHash(hashText(`${seed}|${client_id}|${session_id ?? ''}|${topic ?? ''}`)),
  }
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
  const creative = bestCreative(offer, format, opportunity)!
  return {
    status: 'filled',
    campaign,
    creative,
    format,
    width: Math.min(creative.width, opportunity.max_width ?? creative.width),
    height: Math.min(creative.height, opportunity.max_height ?? creative.height),
    gross_cpm: campaign.price_cpm,
    currency: campaign.currency,
    trace,
  }
}

function bestCreative(offer: Offer, format: Format, { max_width, max_height }: Opportunity): Creative | null {
  return findBestSize(format, max_width, max_height, offer.creatives[format])
}

function maskFormats(list: readonly Format[]): number {
  let mask = 0
  for (const format of list) mask |= 1 << formats.indexOf(format)
  return mask
}

function firstBit(mask: number): number {
  return mask & -mask
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

/** Spreads a hash evenly over 32 bits (the finalizer of MurmurHash3). */
function mixHash(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
