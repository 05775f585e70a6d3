/**
 * How demand partners behave (A107): when each answers an opportunity, and whether its offers can be used. Every share and
 * latency is drawn from the hash of the opportunity, so the same seed has the same auction. The seeded partners answer at once.
 */
import type { Latency } from '#contract/resources/projects.ts'
import type { MarketData } from './catalogue.ts'
import { hashText, mixHash } from './hash.ts'

export type Partner = MarketData['partners'][number]
export type AnswerOutcome = 'offered' | 'no_bid' | 'late' | 'failed' | 'malformed' | 'oversized' | 'under_floor'

export interface Answer {
  outcome: AnswerOutcome
  /** When it answered, milliseconds after it was asked; of a late one, when it would have, or when the wait was over. */
  latency_ms: number
}

/** How long partners are waited for where their file says nothing, milliseconds. */
export const defaultWindowMs = 300

/** Returns what a partner does with the opportunity of a hash. */
export function findAnswer(partner: Partner, window_ms: number, query_hash: number): Answer {
  const own = hashText(partner.partner_id) ^ query_hash
  const draw = (salt: number) => mixHash(own + Math.imul(salt, 0x9e3779b9)) / 2 ** 32
  const latency_ms = Math.round(drawLatency(partner.latency_ms ?? 0, draw(1), draw(2)))
  if (latency_ms > window_ms) return { outcome: 'late', latency_ms }
  const shares: [AnswerOutcome, number | undefined][] = [
    ['failed', partner.error_rate],
    ['malformed', partner.malformed_rate],
    ['oversized', partner.oversized_rate],
    ['under_floor', partner.below_floor_rate],
  ]
  const outcome = shares.find(([, share = 0], index) => draw(3 + index) < share)?.[0] ?? 'offered'
  return { outcome, latency_ms }
}

/** @param one, other even draws of 0 to 1 */
function drawLatency(latency: Latency, one: number, other: number): number {
  if (typeof latency === 'number') return latency
  if (latency.distribution === 'uniform') return latency.min_ms + one * Math.max(0, latency.max_ms - latency.min_ms)
  const normal = Math.sqrt(-2 * Math.log(1 - one)) * Math.cos(2 * Math.PI * other)
  return Math.min(600_000, latency.median_ms * Math.exp(latency.sigma * normal))
}
