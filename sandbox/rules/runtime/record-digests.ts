/** The digests by which an entry of the evidence proves its row: a row that was changed has another digest. */
import type { Platform } from '#platform/platform.ts'
import type { BeaconRow, StoredDecision } from '#store/store.ts'

type Digests = Pick<Platform, 'digest'>

/** Returns the SHA-256, base64url, over everything that a decision binds. */
export function decisionDigest(platform: Digests, decision: StoredDecision): string {
  const { outcome, decided_at_ms, topic, trace, catalogue, consent } = decision
  const facts =
    outcome.status === 'no_fill'
      ? [outcome.reason]
      : [outcome.creative_id, outcome.width, outcome.height, outcome.gross_cpm, outcome.currency, outcome.template_id]
  return platform.digest(JSON.stringify([...facts, decided_at_ms, topic, trace, catalogue, consent]))
}

/** Returns the SHA-256, base64url, over measurements and extras of a stored beacon. */
export function recordDigest(platform: Digests, { measurements, extras }: BeaconRow): string {
  return platform.digest(`${JSON.stringify(measurements)}${extras}`)
}
