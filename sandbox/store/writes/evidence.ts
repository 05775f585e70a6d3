import { chainHash, type Sha256Hex } from '#contract/resources/evidence.ts'
import type { EvidenceDraft } from '../store.ts'

/** The last entry of a chain: its position, and its hash, hexadecimal. */
export interface ChainHead {
  seq: number
  hash: string
}

/** Builds the entry that follows the head of a chain. Its position and hash are the next head. */
export function buildNextEntry(head: ChainHead, draft: EvidenceDraft, sha256Hex: Sha256Hex) {
  const seq = head.seq + 1
  const entry = draft.build(seq)
  return { seq, entry, hash: chainHash(head.hash, entry, sha256Hex) }
}
