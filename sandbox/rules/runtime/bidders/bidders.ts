/**
 * Bidders of your own (A107): programs on this computer that are asked before a decision, each at most for the window. They
 * receive the partner request that `svc explain` shows (A51), without anything that looks like a key or a token (A94).
 *
 * The window runs on real time, not on the sandbox clock: a bidder is a real program, as the receiver of a callback is.
 */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { PartnerRequest } from '#contract/resources/placements.ts'
import { type AskedAnswer, judgeBids } from '#domain/bids.ts'
import { findPolicyReason } from '#domain/decisions.ts'
import type { Market } from '#domain/market.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { createOpportunity, type DecisionServices, type JobSlot, matchedTopic, prepareDecision } from '../decisions.ts'

export interface BidderResponse {
  status: number
  /** Lower case, without parameters. */
  media_type: string
  isEncoded: boolean
  /** Null when it is too long. */
  body: Uint8Array | null
}

export type PostToBidder = (url: string, body: string, signal: AbortSignal) => Promise<BidderResponse>

/** Returns the request to partners about a slot, which is matched with a topic or none. */
export function partnerRequest(slot: Pick<JobSlot, 'project' | 'job'>, topic: string | null): PartnerRequest {
  const terms = { topic, purposes: noPurposes, seed: 0, now_ms: 0 }
  const opportunity = createOpportunity(slot, terms)
  return {
    job_type: opportunity.job_type,
    formats: [...opportunity.allowed_formats],
    topic: topic === null ? null : redactSecrets(topic),
    country: opportunity.country,
    max_width: opportunity.max_width,
    max_height: opportunity.max_height,
    floors: opportunity.floors,
    floor_currency: opportunity.floor_currency,
    blocked_categories: opportunity.blocked_categories.map(redactSecrets),
    blocked_domains: opportunity.blocked_domains.map(redactSecrets),
    gdpr_applies: slot.job.facts.gdpr_applies ?? false,
  }
}

const noPurposes = { semantic_targeting: false, prompt_shared: false }

/** Whether the decision of a slot has to wait for bidders. */
export function asksBidders(
  { markets }: Pick<DecisionServices, 'markets'>,
  { job }: Pick<JobSlot, 'job'>,
  consent: AuthoritativeConsent,
): boolean {
  const { force_campaign_id } = job.facts
  const isAsked = markets.current.bidders.length > 0 && force_campaign_id === undefined
  return isAsked && consent.lifecycle_state === 'granted'
}

interface AskingServices extends DecisionServices {
  postToBidder: PostToBidder
}

/**
 * Returns a function that asks the bidders about one slot. It asks again only when the request would be another, as after
 * another consent. Nobody is asked for what policy does not permit.
 */
export function createAsking(services: AskingServices, slot: JobSlot, stopped: AbortSignal) {
  const asked = new Map<string, AskedAnswer[]>()
  return async (consent: AuthoritativeConsent, now_ms: number): Promise<AskedAnswer[]> => {
    if (!asksBidders(services, slot, consent)) return []
    if (findPolicyReason(await prepareDecision(services, slot, { consent, now_ms })) !== null) return []
    const body = JSON.stringify(partnerRequest(slot, matchedTopic(slot.job, consent)))
    const known = asked.get(body)
    if (known !== undefined) return known
    const market = services.markets.current
    const answers = await Promise.all(
      market.bidders.map((bidder) => askBidder(services.postToBidder, { ...bidder, market, body }, stopped)),
    )
    asked.set(body, answers)
    return answers
  }
}

interface Question {
  partner: Market['bidders'][number]['partner']
  own: ReadonlySet<string>
  market: Pick<Market, 'window_ms'>
  body: string
}

async function askBidder(post: PostToBidder, question: Question, stopped: AbortSignal): Promise<AskedAnswer> {
  const { partner, own, market, body } = question
  const { window_ms } = market
  const window = AbortSignal.timeout(window_ms)
  const started = performance.now()
  const answer = await post(partner.url!, body, AbortSignal.any([stopped, window])).then(
    (response) => judgeResponse(response, own),
    (error: unknown) => refuse(window.aborted ? 'late' : 'failed', describeFailure(error, window.aborted, window_ms)),
  )
  const latency_ms = Math.round(performance.now() - started)
  return { partner_id: partner.partner_id, latency_ms, ...answer }
}

type Judged = Omit<AskedAnswer, 'partner_id' | 'latency_ms'>

function refuse(outcome: AskedAnswer['outcome'], problem: string | null): Judged {
  return { outcome, problem, bids: [] }
}

/** Says nothing of the answer itself, which may hold anything. */
function judgeResponse({ status, media_type, isEncoded, body }: BidderResponse, own: ReadonlySet<string>): Judged {
  if (status === 204) return refuse('no_bid', null)
  if (status >= 300 && status < 400) return refuse('failed', 'It answered with a redirect, which is not followed.')
  if (status !== 200) return refuse('failed', `It answered with status ${status}, not 200.`)
  if (media_type !== 'application/json') return refuse('malformed', 'Its content-type is not application/json.')
  if (isEncoded) return refuse('malformed', 'Its answer is compressed.')
  if (body === null) return refuse('oversized', 'Its answer has more than 64 KiB.')
  const text = readUtf8(body)
  return text === null ? refuse('malformed', 'Its answer is not UTF-8.') : judgeBids(text, own)
}

function readUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

function describeFailure(error: unknown, isLate: boolean, window_ms: number): string {
  if (isLate) return `No answer within ${window_ms} ms.`
  const code = readErrorCode(error)
  if (code === 'ECONNREFUSED') return 'Nothing listens at its URL.'
  return code?.startsWith('HPE_') === true ? 'Its answer is not HTTP.' : 'It closed the connection without an answer.'
}
