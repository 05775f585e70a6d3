/**
 * From the stored facts of a job to the decision of one of its slots, immediately or after its latency; and the markets
 * used for decisions.
 */

import type { AuthoritativeConsent, Mode } from '#contract/fields.ts'
import { encodeId, formatToken } from '#contract/ids.ts'
import type { Latency } from '#contract/resources/projects.ts'
import type { ScenarioChanges } from '#contract/resources/sandbox/scenarios.ts'
import { type AskedAnswer, writeAnswers } from '#domain/bids.ts'
import { mayProcessPrompt } from '#domain/consent.ts'
import { type DecisionInput, decideSlot, unplayedStep } from '#domain/decisions.ts'
import { decisionEntry } from '#domain/evidence.ts'
import { auctionMs, type MarketOutcome, won } from '#domain/market.ts'
import type { Opportunity } from '#domain/offers.ts'
import { andThen, type MaybePromise } from '#foundation/maybe-promise.ts'
import type { Platform } from '#platform/platform.ts'
import type { EvidenceDraft, JobRow, ProjectRow, Store, StoredDecision } from '#store/store.ts'
import { guardFills, isCapped, listCaps } from './caps.ts'
import type { Markets } from './markets.ts'
import type { ScriptedDecision } from './playback/script.ts'
import { decisionDigest } from './record-digests.ts'
import type { Scenarios } from './scenarios.ts'

export interface DecisionServices {
  store: Store
  platform: Platform
  markets: Markets
  scenarios: Scenarios
  /** Overrides every project's own latency when set. */
  decision_latency_ms: Latency | null
}

/** A slot of a job that is being created, or is pending. */
export interface JobSlot {
  project: ProjectRow
  job: JobRow
  slot_id: number
}

/** Returns the request to the market (A51: partners would receive this, and nothing more). */
export function createOpportunity(
  { job, project }: Pick<JobSlot, 'project' | 'job'>,
  { topic, purposes, seed, now_ms }: Pick<Opportunity, 'topic' | 'purposes' | 'seed' | 'now_ms'>,
): Opportunity {
  const { facts } = job
  return {
    client_id: project.client_id,
    session_id: job.session_id,
    job_type: job.job_type,
    topic,
    country: facts.country ?? null,
    allowed_formats: facts.allowed_formats ?? project.settings.defaults.allowed_formats,
    native_template_id: facts.native_template_id ?? project.settings.defaults.native_template_id,
    max_width: facts.max_width ?? null,
    max_height: facts.max_height ?? null,
    floors: facts.floors ?? noFloors,
    floor_currency: facts.floor_currency ?? 'USD',
    blocked_categories: facts.blocked_categories ?? [],
    blocked_domains: facts.blocked_domains ?? [],
    preferred_partner_id: facts.preferred_partner_id ?? null,
    force_campaign_id: facts.force_campaign_id ?? null,
    purposes,
    capped: noneCapped,
    fill_rate: project.settings.fill_rate,
    seed,
    now_ms,
  }
}

const noneCapped: ReadonlySet<string> = new Set()
const noFloors = { banner: 0, clip: 0, native: 0 }

interface DecisionTerms {
  consent: AuthoritativeConsent
  now_ms: number
  /** The decision of the recording that is played; null or absent when the emulator decides. */
  recorded?: ScriptedDecision | null
  /** What the bidders of your own answered. */
  answers?: readonly AskedAnswer[]
  /** The campaigns of fills of the same job that are not stored yet: they count towards caps too. Default none. */
  fills_before?: readonly string[]
}

export function decideJobSlot(
  services: DecisionServices,
  slot: JobSlot,
  terms: DecisionTerms,
): MaybePromise<StoredDecision> {
  const { consent, now_ms, answers = [], recorded = null } = terms
  if (recorded !== null) return decideAsRecorded(services, slot, { consent, now_ms }, recorded)
  const { markets, platform } = services
  const { project, job, slot_id } = slot
  return andThen(prepareDecision(services, slot, terms), (input) =>
    andThen(decideWithin(services, job, input, terms.fills_before), (outcome) => ({
      decided_at_ms: now_ms,
      outcome:
        outcome.status === 'no_fill'
          ? { status: 'no_fill', reason: outcome.reason }
          : {
              status: 'filled',
              format: outcome.format,
              campaign_id: outcome.campaign.campaign_id,
              creative_id: outcome.creative.creative_id,
              width: outcome.width,
              height: outcome.height,
              duration_ms: outcome.creative.format === 'clip' ? outcome.creative.duration_ms : null,
              gross_cpm: outcome.gross_cpm,
              currency: outcome.currency,
              template_id: outcome.format === 'native' ? input.opportunity.native_template_id : null,
              asset_token_hash: platform.assetSecret(slot_id).hash,
            },
      label_text: project.settings.label_text,
      consent,
      trace: outcome.trace === '' ? '' : writeAnswers(outcome.trace, answers),
      catalogue: markets.catalogue_id,
      topic: input.opportunity.topic,
    })),
  )
}

/** Returns what a slot is decided by. */
export function prepareDecision(
  services: DecisionServices,
  { project, job }: Pick<JobSlot, 'project' | 'job'>,
  { consent, now_ms, answers, fills_before = [] }: DecisionTerms,
): MaybePromise<DecisionInput> {
  const { markets, platform } = services
  const changes = services.scenarios.changesFor(job.mode)
  const subject = findSubject(job, consent)
  const opportunity = createOpportunity(
    { job, project },
    { topic: matchedTopic(job, consent), purposes: consent.purposes, seed: platform.seed ?? 0, now_ms },
  )
  const asked = answers === undefined ? opportunity : { ...opportunity, answers }
  const caps = listCaps(job, now_ms)
  return andThen(caps.length > 0 && isCapped(services, caps, fills_before.length), (isCapped) => ({
    settings: project.settings,
    consent,
    test_forced: job.facts.test_forced === true,
    isHighRisk: subject !== null && markets.isHighRisk(subject),
    isCapped,
    forced: changes.no_fill_reason ?? null,
    opportunity: applyScenario(asked, changes),
  }))
}

/** Decides again without each campaign that has won and reached a cap of its own, until one is below its caps. */
function decideWithin(
  services: DecisionServices,
  job: JobRow,
  input: DecisionInput,
  fills_before: readonly string[] = [],
): MaybePromise<MarketOutcome> {
  const outcome = decideSlot(services.markets.current, input)
  const { force_campaign_id, capped, now_ms } = input.opportunity
  if (outcome.status === 'no_fill' || outcome.campaign.caps === undefined || force_campaign_id !== null) return outcome
  const { campaign_id } = outcome.campaign
  const before = fills_before.filter((id) => id === campaign_id).length
  return isCapped(services, guardFills(job, outcome.campaign.caps, now_ms, campaign_id), before).then((isReached) => {
    if (!isReached) return outcome
    const opportunity = { ...input.opportunity, capped: new Set([...capped, campaign_id]) }
    return decideWithin(services, job, { ...input, opportunity }, fills_before)
  })
}

/** Decides a slot as a recording says. The fields of the fill that it leaves out are those of its campaign. */
function decideAsRecorded(
  { markets, platform }: DecisionServices,
  { project, job, slot_id }: JobSlot,
  { consent, now_ms }: DecisionTerms,
  { outcome, names, label_text }: ScriptedDecision,
): StoredDecision {
  const { campaigns } = markets.current
  const position = markets.current.positions.get(names?.campaign_id ?? '') ?? -1
  const campaign = campaigns[position]
  const decided = {
    decided_at_ms: now_ms,
    label_text: label_text ?? project.settings.label_text,
    consent,
    catalogue: markets.catalogue_id,
    topic: consent.purposes.semantic_targeting ? (job.facts.topic ?? null) : null,
  }
  if (outcome.status === 'no_fill') return { ...decided, outcome, trace: '' }
  const creative = campaign?.creatives[0]
  if (campaign === undefined || creative === undefined) throw new Error('a recorded fill has a campaign')
  const { duration_ms } = outcome
  const { native_template_id } = project.settings.defaults
  return {
    ...decided,
    outcome: {
      status: 'filled',
      format: outcome.format,
      campaign_id: campaign.campaign_id,
      creative_id: creative.creative_id,
      width: outcome.width ?? creative.width,
      height: outcome.height ?? creative.height,
      duration_ms: creative.format === 'clip' ? (duration_ms ?? creative.duration_ms) : null,
      gross_cpm: campaign.price_cpm,
      currency: campaign.currency,
      template_id: outcome.format === 'native' ? (outcome.template_id ?? native_template_id) : null,
      asset_token_hash: platform.assetSecret(slot_id).hash,
    },
    trace: campaigns.map((_, at) => (at === position ? won : unplayedStep.code)).join(''),
  }
}

function applyScenario(opportunity: Opportunity, { format, native_template_id }: ScenarioChanges): Opportunity {
  if (format === undefined && native_template_id === undefined) return opportunity
  const { allowed_formats } = opportunity
  return {
    ...opportunity,
    native_template_id: native_template_id ?? opportunity.native_template_id,
    allowed_formats: format === undefined ? allowed_formats : allowed_formats.filter((allowed) => allowed === format),
  }
}

type Crypto = Pick<DecisionServices, 'platform'>

/**
 * Returns the asset token of a slot's fill, and the SHA-256 of its secret. The secret is derived, so only the hash
 * needs to be stored (A05).
 */
export function deriveAssetToken({ platform }: Crypto, slot_id: number): { token: string; hash: Buffer } {
  const { secret, hash } = platform.assetSecret(slot_id)
  return { token: formatToken('ast', slot_id, secret), hash }
}

/** Returns where the campaign of a fill is written; undefined for a seeded one, and for a fill of an older catalogue. */
function findSource({ current, catalogue_id }: Markets, { outcome, catalogue }: StoredDecision) {
  if (outcome.status === 'no_fill' || catalogue !== catalogue_id) return undefined
  return current.campaigns[current.positions.get(outcome.campaign_id) ?? -1]?.source
}

/** Returns the evidence entry of a decision (A77). */
export function decisionEvidence(
  services: Pick<DecisionServices, 'platform' | 'markets'>,
  { project, job, slot_id }: JobSlot,
  decision: StoredDecision,
): EvidenceDraft {
  const { outcome } = decision
  const fill = outcome.status === 'filled' ? outcome : null
  const source = findSource(services.markets, decision)
  return {
    kind: 'decision',
    ref: slot_id,
    at_ms: decision.decided_at_ms,
    build: (seq) =>
      decisionEntry({
        seq,
        at_ms: decision.decided_at_ms,
        client_id: project.client_id,
        slot_id: encodeId('slot', slot_id),
        fill: fill !== null,
        format: fill?.format ?? null,
        campaign_id: fill?.campaign_id ?? null,
        no_fill_reason: outcome.status === 'no_fill' ? outcome.reason : null,
        asset_token_sha256: fill === null ? null : fill.asset_token_hash.toString('base64url'),
        consent_revision: decision.consent.revision,
        mode: job.mode,
        decision_sha256: decisionDigest(services.platform, decision),
        ...(source === undefined ? {} : { source_file: source.file, source_line: source.line }),
      }),
  }
}

/** Returns how long the partners of the market take, milliseconds: 0 where all answer at once, or nobody is asked. */
export function auctionLatency(
  { markets, platform }: DecisionServices,
  { project, job }: Pick<JobSlot, 'project' | 'job'>,
  consent: AuthoritativeConsent,
): number {
  if (job.facts.force_campaign_id !== undefined || consent.lifecycle_state !== 'granted') return 0
  const terms = { topic: matchedTopic(job, consent), purposes: consent.purposes, seed: platform.seed ?? 0 }
  return auctionMs(markets.current, createOpportunity({ project, job }, { ...terms, now_ms: job.created_at_ms }))
}

/** The topic that partners are asked with: derived from the prompt, or sent; only with semantic_targeting. */
export function matchedTopic(job: JobRow, consent: AuthoritativeConsent): string | null {
  return consent.purposes.semantic_targeting ? findSubject(job, consent) : null
}

function findSubject({ facts }: JobRow, consent: AuthoritativeConsent): string | null {
  return (mayProcessPrompt(consent) ? facts.derived_topic : undefined) ?? facts.topic ?? null
}

/** Returns how long this decision takes (A44), whole milliseconds. */
export function drawLatency(services: DecisionServices, project: ProjectRow, mode: Mode): number {
  const latency: Latency =
    services.scenarios.changesFor(mode).decision_latency_ms ??
    services.decision_latency_ms ??
    project.settings.decision_latency_ms
  if (typeof latency === 'number') return Math.round(latency)
  const { random } = services.platform
  if (latency.distribution === 'uniform') {
    return Math.round(latency.min_ms + random() * Math.max(0, latency.max_ms - latency.min_ms))
  }
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.min(600_000, Math.round(latency.median_ms * Math.exp(latency.sigma * normal)))
}
