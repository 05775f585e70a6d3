/** The faults of a timeline as fault rules of the sandbox. */
import { contract } from '#contract/index.ts'
import type { FaultDraft } from '#contract/resources/sandbox/faults.ts'
import type { FaultName, TimedFault } from './gameday-file.ts'

/** How much the latency of a slow partner varies: the standard deviation of its logarithm. */
const latencySigma = 0.3

/** The requests that wait for a decision, by the API and by the paths of old clients. A job itself is created at once. */
const decisionPaths = [contract['placements.create'].path, '/v1/decisions', '/public/*/decision']

/** Returns the rules of a fault. Each ends by itself with the fault, even if this process is gone by then. */
export function listRules(timed: TimedFault, seed: number): FaultDraft[] {
  const common = { seed, ttl_ms: timed.end_ms - timed.at_ms }
  return rules[timed.fault](timed).map((rule) => ({ ...common, ...rule }))
}

const rules: Record<FaultName, (timed: TimedFault) => FaultDraft[]> = {
  partner_slow: ({ latency_ms }) =>
    decisionPaths.map((path) => ({ path, effect: 'delay', latency_ms, latency_sigma: latencySigma })),
  rate_limited: ({ rate, retry_after_s }) => [{ path: '/v1/', status: 429, rate, retry_after_s }],
  away: () => [{ effect: 'reset' }],
  consent_late: ({ latency_ms }) => [{ path: contract['consent.set'].path, effect: 'delay', latency_ms }],
}
