/**
 * What a bidder of your own answers (A107): campaigns of the file of demand with prices, and nothing else. Each bid is judged
 * by itself; what is refused has a sentence in our words, since an answer may hold anything.
 */
import { z } from 'zod'
import { strictObject } from '#contract/objects.ts'
import { PartnerRequest } from '#contract/resources/placements.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import { hasUsdRate, usdRate } from './currencies.ts'
import type { Answer, Partner } from './partners.ts'

const maxBids = 50
/** The highest price of a bid, CPM: that of a campaign in a file. */
const maxPrice = 1_000_000

const campaignError = 'must be the campaign_id of one of its campaigns'
const priceError = `must be more than 0 and at most ${maxPrice}`
const currencyError = 'must be a currency of the rate table, such as USD'

const Bid = strictObject(() => ({
  campaign_id: z
    .string({ error: campaignError })
    .regex(/^cmp_[a-z0-9_]{1,64}$/, { error: campaignError })
    .describe('A campaign of the file of demand that names this partner.'),
  price_cpm: z
    .number({ error: priceError })
    .positive({ error: priceError })
    .max(maxPrice, { error: priceError })
    .describe('The price of 1,000 impressions.'),
  currency: z
    .string({ error: currencyError })
    .refine(hasUsdRate, { error: currencyError })
    .optional()
    .describe('ISO 4217. Default: USD.'),
}))

const BidderAnswer = strictObject(() => ({
  bids: z.array(Bid).max(maxBids).optional().describe('At most one of each campaign. None: no bid.'),
}))

/** Returns the JSON schema of an answer: `fixtures/svc.bids.schema.json`. */
export function bidsSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(BidderAnswer, { io: 'input', unrepresentable: 'any' })
  return { $schema, $id: 'urn:svc:bids:v1', ...schema }
}

/** Returns the JSON schema of the request to a bidder: `fixtures/svc.partner-request.schema.json`. */
export function partnerRequestSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(PartnerRequest, { unrepresentable: 'any' })
  return { $schema, $id: 'urn:svc:partner-request:v1', ...schema }
}

/** A bid as it was judged. */
export interface JudgedBid {
  /** Null where the bid has none of its own campaigns. */
  campaign_id: string | null
  price_cpm: number | null
  currency: string | null
  /** Why it is refused, in one sentence; null for one that takes part. */
  problem: string | null
}

/** The answer of one bidder. */
export interface AskedAnswer extends Answer {
  partner_id: string
  /** Why all of it is refused, or why there is none. */
  problem: string | null
  bids: JudgedBid[]
}

/** Whether this partner is a program that is asked. */
export function isBidder(partner: Pick<Partner, 'url'>): boolean {
  return partner.url !== undefined
}

/** Judges the text of an answer. @param own the identifiers of the bidder's campaigns */
export function judgeBids(text: string, own: ReadonlySet<string>): Pick<AskedAnswer, 'outcome' | 'problem' | 'bids'> {
  const refuse = (problem: string) => ({ outcome: 'malformed' as const, problem, bids: [] })
  const value = parseJson(text)
  if (value === undefined) return refuse('Its answer is no JSON.')
  if (!isObject(value)) return refuse('Its answer is no JSON object.')
  const { bids = [], ...others } = value
  if (Object.keys(others).length > 0) return refuse('Its answer has a field other than bids.')
  if (!Array.isArray(bids)) return refuse('bids must be an array.')
  if (bids.length > maxBids) return refuse(`It sent ${bids.length} bids, and at most ${maxBids} are taken.`)
  const seen = new Set<string>()
  const judged = bids.map((bid, index) => judgeBid(bid, `bids.${index}`, own, seen))
  return { outcome: judged.length === 0 ? 'no_bid' : 'offered', problem: null, bids: judged }
}

function judgeBid(bid: unknown, path: string, own: ReadonlySet<string>, seen: Set<string>): JudgedBid {
  if (!isObject(bid))
    return { campaign_id: null, price_cpm: null, currency: null, problem: `${path} must be an object.` }
  const { campaign_id: id, price_cpm: price, currency = 'USD' } = bid
  const campaign_id = typeof id === 'string' && own.has(id) ? id : null
  const price_cpm = typeof price === 'number' && Number.isFinite(price) ? price : null
  const shown = {
    campaign_id,
    price_cpm,
    currency: typeof currency === 'string' && hasUsdRate(currency) ? currency : null,
  }
  const refuse = (problem: string) => ({ ...shown, problem })
  const [issue] = Bid.safeParse(bid).error?.issues ?? []
  if (issue?.code === 'unrecognized_keys')
    return refuse(`${path} has a field other than campaign_id, price_cpm and currency.`)
  if (issue !== undefined) return refuse(`${path}.${issue.path.join('.')} ${issue.message}.`)
  if (campaign_id === null) return refuse(`${path}.campaign_id ${campaignError}.`)
  if (seen.has(campaign_id)) return refuse(`${path}.campaign_id has a bid already.`)
  seen.add(campaign_id)
  return { ...shown, problem: null }
}

/** Returns the price of a bid in USD. */
export function bidPrice({ price_cpm, currency }: JudgedBid): number {
  return (price_cpm ?? 0) * usdRate(currency ?? 'USD')
}

/** Between the letters of a trace and the answers of bidders: no letter. */
const separator = '|'

/** Returns a trace with the answers of bidders behind it: they are stored, proved and exported as one text. */
export function writeAnswers(letters: string, answers: readonly AskedAnswer[]): string {
  return answers.length === 0 ? letters : letters + separator + JSON.stringify(answers)
}

/** Returns the letters of a trace, and the answers behind them. */
export function readAnswers(trace: string): { letters: string; answers: AskedAnswer[] } {
  const end = trace.indexOf(separator)
  if (end === -1) return { letters: trace, answers: [] }
  const answers = parseJson(trace.slice(end + 1))
  return { letters: trace.slice(0, end), answers: Array.isArray(answers) ? (answers as unknown as AskedAnswer[]) : [] }
}
