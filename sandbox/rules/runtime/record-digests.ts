/** The digests by which an entry of the evidence proves its row: a row that was changed has another digest. */
import { recordText } from '#contract/resources/evidence.ts'
import type { Platform } from '#platform/platform.ts'
import type { BeaconRow, StoredDecision } from '#store/store.ts'

type Digests = Pick<Platform, 'digest'>

/** Returns the SHA-256, base64url, over everything that a decision binds. */
export function decisionDigest(platform: Digests, decision: StoredDecision): string {
  const { outcome, label_text } = decision
  const added =
    outcome.status === 'filled' ? [label_text, outcome.format, outcome.campaign_id, outcome.duration_ms] : [label_text]
  return platform.digest(JSON.stringify([...listFacts(decision), ...added]))
}

/** Whether a digest is that of a decision, or that of an earlier version, which had fewer facts of it. */
export function isDecisionDigest(platform: Digests, decision: StoredDecision, digest: unknown): boolean {
  if (digest === decisionDigest(platform, decision)) return true
  return digest === platform.digest(JSON.stringify(listFacts(decision)))
}

function listFacts({ outcome, decided_at_ms, topic, trace, catalogue, consent }: StoredDecision): unknown[] {
  const facts =
    outcome.status === 'no_fill'
      ? [outcome.reason]
      : [outcome.creative_id, outcome.width, outcome.height, outcome.gross_cpm, outcome.currency, outcome.template_id]
  return [...facts, decided_at_ms, topic, trace, catalogue, consent]
}

/** Returns the SHA-256, base64url, over measurements and extras of a stored beacon. */
export function recordDigest(platform: Digests, { measurements, extras }: BeaconRow): string {
  return platform.digest(recordText(JSON.stringify(measurements), extras))
}
