/**
 * Evidence (A77): one append-only hash chain per project. Each entry is RFC 8785 canonical JSON; its hash is SHA-256
 * over the previous hash and the entry (`chainHash` of the contract), so a changed, removed or moved entry breaks the chain
 * there. A chain with its end cut off is still valid: compare its head with a signed checkpoint.
 *
 * Entries are built on the hot path: their properties are written in sorted order, which makes plain JSON canonical.
 * Asset tokens appear only as hashes.
 */
import canonicalize from 'canonicalize'
import type { Format, Mode } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import {
  type BeaconEvidence,
  type EvidenceEntry,
  genesis,
  linkProblem,
  readEntry,
  type Sha256Hex,
} from '#contract/resources/evidence.ts'
import { walkJson } from '#foundation/json/walk.ts'
import type { Json, JsonObject } from '#foundation/json.ts'

/**
 * Returns RFC 8785 canonical JSON.
 * @throws TypeError for values without a JSON form: NaN, infinities, undefined, functions, lone surrogates, cycles
 */
export function canonicalJson(value: Json): string {
  try {
    // First, since it refuses cycles.
    const text = canonicalize(value)
    refuseDropped(value)
    return text!
  } catch (error) {
    throw new TypeError(`This value has no canonical JSON: ${(error as Error).message}`)
  }
}

type EntryFields = Pick<BeaconEvidence, 'seq' | 'at_ms' | 'client_id'>

/** Digests are SHA-256 in the caller's encoding; in base64url an entry stays under 500 bytes. */
export interface DecisionEvidence extends EntryFields {
  slot_id: string
  fill: boolean
  format: Format | null
  campaign_id: string | null
  no_fill_reason: NoFillReason | null
  asset_token_sha256: string | null
  consent_revision: number
  mode: Mode
  decision_sha256: string
  /** Where its campaign is written, if it is of your own demand; entries of others have no such fields. */
  source_file?: string
  source_line?: number
}

export interface ConsentEvidence extends EntryFields {
  consent_id: string
  session_id: string
  lifecycle_state: string
  revision: number
  source: string
  semantic_targeting: boolean
  prompt_shared: boolean
  expires_at_ms: number
}

export function decisionEntry(facts: DecisionEvidence): string {
  return JSON.stringify({
    asset_token_sha256: facts.asset_token_sha256,
    at_ms: facts.at_ms,
    campaign_id: facts.campaign_id,
    client_id: facts.client_id,
    consent_revision: facts.consent_revision,
    decision_sha256: facts.decision_sha256,
    fill: facts.fill,
    format: facts.format,
    kind: 'decision',
    mode: facts.mode,
    no_fill_reason: facts.no_fill_reason,
    seq: facts.seq,
    slot_id: facts.slot_id,
    source_file: facts.source_file,
    source_line: facts.source_line,
    v: 1,
  })
}

export function consentEntry(facts: ConsentEvidence): string {
  return JSON.stringify({
    at_ms: facts.at_ms,
    client_id: facts.client_id,
    consent_id: facts.consent_id,
    expires_at_ms: facts.expires_at_ms,
    kind: 'consent',
    lifecycle_state: facts.lifecycle_state,
    prompt_shared: facts.prompt_shared,
    revision: facts.revision,
    semantic_targeting: facts.semantic_targeting,
    seq: facts.seq,
    session_id: facts.session_id,
    source: facts.source,
    v: 1,
  })
}

/** `facts` are what the valid entries state. */
type ChainVerification = { entries: number; facts: JsonObject[] } & (
  | { ok: true; head: string | null }
  | { ok: false; broken_at: number; problem: string }
)

/**
 * Verifies the chain of a project from its first entry: positions from 1 without a gap, hashes, canonical form, and that
 * each entry names its own position, project, kind and time, unless its text was built from them. A long chain can be
 * verified in parts: `start` is the end of the previous part. `entries` counts the valid entries; `broken_at` is the
 * position of the first invalid one. The facts of an entry that was built are empty.
 */
export function verifyChain(
  client_id: string,
  chain: Iterable<EvidenceEntry & { is_built?: true }>,
  sha256Hex: Sha256Hex,
  start: { entries: number; head: string } = { entries: 0, head: genesis },
): ChainVerification {
  const verified = { client_id, ...start }
  const facts: JsonObject[] = []
  for (const link of chain) {
    const { entries, head } = verified
    // A text that was built is canonical, and states what stands beside it.
    const reading =
      link.is_built === true
        ? { problem: linkProblem(link, entries + 1, head, sha256Hex), facts: {} }
        : readEntry(link, verified, sha256Hex)
    if (reading.problem !== null) return { ok: false, broken_at: entries + 1, problem: reading.problem, entries, facts }
    facts.push(reading.facts)
    verified.head = link.hash
    verified.entries++
  }
  const { entries, head } = verified
  return { ok: true, entries, head: entries === 0 ? null : head, facts }
}

/** Two values that differ only in properties that JSON drops would have the same hash. */
function refuseDropped(whole: unknown): void {
  for (const { value } of walkJson(whole)) {
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol')
      throw new TypeError(`${typeof value} is not allowed`)
  }
}
