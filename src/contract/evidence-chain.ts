/**
 * The evidence chain as anyone can check it (A77): each hash is SHA-256 over the hash before it and the entry, so that
 * changing, removing or reordering an entry breaks the chain there. Cutting off the end leaves a shorter chain that
 * holds, which the signed checkpoint of an export tells: it names how many entries there were.
 */

/** SHA-256 of UTF-8 text as 64 lower-case hexadecimal digits. */
export type Sha256Hex = (text: string) => string

/** The hash before the first entry. */
export const genesis = '0'.repeat(64)

export interface ChainLink {
  seq: number
  entry: string
  hash: string
}

/** The hash of an entry, given the hash before it: 64 hexadecimal digits, `genesis` for the first. */
export function chainHash(previous: string, entry: string, sha256Hex: Sha256Hex): string {
  return sha256Hex(previous + entry)
}

/** What is wrong with the entry at position `expected`, after the hash `previous`; null when it holds. */
export function linkProblem(
  { seq, entry, hash }: ChainLink,
  expected: number,
  previous: string,
  sha256Hex: Sha256Hex,
): string | null {
  if (seq !== expected) return `Entry ${expected} is missing: entry ${seq} stands in its place.`
  if (chainHash(previous, entry, sha256Hex) === hash) return null
  return `The hash of entry ${seq} does not match: the entry, its hash, or the hash before it was changed.`
}

/** What a checkpoint states of a chain. */
export interface CheckpointFacts {
  client_id: string
  /** Entries in the chain. */
  entries: number
  /** Hash of the last entry; null for an empty chain. */
  head: string | null
  at_ms: number
}

/** The canonical JSON (RFC 8785) that is signed. */
export function checkpointText({ client_id, entries, head, at_ms }: CheckpointFacts): string {
  return (
    `{"at_ms":${at_ms},"client_id":${JSON.stringify(client_id)},"entries":${entries}` +
    `,"head":${JSON.stringify(head)},"kind":"checkpoint","v":1}`
  )
}
