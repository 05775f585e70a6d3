/** The auction of a decision, for explanations: who answered when, at what price, and why not (A107). */
import { type AskedAnswer, isBidder, readAnswers } from './bids.ts'
import { type Market, outbid, readTrace, won } from './market.ts'
import { type Opportunity, prepareQuery } from './offers.ts'
import type { AnswerOutcome, Partner } from './partners.ts'

interface AuctionStep {
  partner_id: string
  name: string
  answered_at_ms: number
  outcome: AnswerOutcome | 'refused'
  campaign_id: string | null
  price_cpm: number | null
  currency: string | null
  problem: string | null
}

/**
 * Returns what each partner answered, the first ones first: of a simulated one its best offer, of a bidder each bid. Empty where
 * all answer at once.
 */
export function listAuction(market: Market, opportunity: Opportunity, trace: string): AuctionStep[] {
  const { partners, offers } = market
  const { answers } = readAnswers(trace)
  if (answers.length === 0 && !offers.some(({ partner }) => partner !== null && !isBidder(partner))) return []
  const query = prepareQuery(opportunity, market.window_ms)
  const steps = partners
    .filter((partner) => !isBidder(partner))
    .map((partner): AuctionStep => {
      const { outcome, latency_ms: answered_at_ms } = query.findAnswer(partner)
      const { partner_id, name } = partner
      return { partner_id, name, answered_at_ms, outcome, ...findBestOffer(market, partner_id, trace), problem: null }
    })
  return [...steps, ...answers.flatMap((answer) => listBids(answer, partners))].toSorted(
    (a, b) => a.answered_at_ms - b.answered_at_ms,
  )
}

/** Returns the dearest campaign of a partner that no rule removed. */
function findBestOffer(market: Market, partner_id: string, trace: string) {
  const left = (readTrace(market, trace) ?? []).filter(({ letter }) => letter === won || letter === outbid)
  const offers = left.map(({ position }) => market.offers[position]!)
  const own = offers.filter(({ campaign }) => campaign.partner_id === partner_id)
  const best = own.toSorted((a, b) => b.price_usd - a.price_usd)[0]?.campaign
  return {
    campaign_id: best?.campaign_id ?? null,
    price_cpm: best?.price_cpm ?? null,
    currency: best?.currency ?? null,
  }
}

function listBids(answer: AskedAnswer, partners: readonly Partner[]): AuctionStep[] {
  const { partner_id, latency_ms: answered_at_ms, outcome } = answer
  const name = partners.find((partner) => partner.partner_id === partner_id)?.name ?? partner_id
  const step = { partner_id, name, answered_at_ms }
  if (answer.bids.length === 0) {
    return [{ ...step, outcome, campaign_id: null, price_cpm: null, currency: null, problem: answer.problem }]
  }
  return answer.bids.map((bid) => ({ ...step, outcome: bid.problem === null ? 'offered' : 'refused', ...bid }))
}
