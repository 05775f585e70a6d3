/**
 * The format of an evidence export, and its offline check. An export is JSON lines: for each project its entries from the
 * first on, then a checkpoint that is signed over their number and the hash of the last one (A77). The last line holds the
 * number of projects.
 *
 * A changed entry breaks the chain at that entry. A chain with new hashes, or without its end, has no valid checkpoint. The
 * signature proves who exported only when the expected key is given.
 */
import { z } from 'zod'
import {
  Checkpoint,
  checkpointText,
  EvidenceEntry,
  type EvidenceVerification,
  genesis,
  linkProblem,
  type Sha256Hex,
} from '../../contract/control/evidence.ts'
import { parseJson } from '../../foundation/json.ts'

export const EvidenceLine = z.discriminatedUnion('line', [
  z.strictObject({ line: z.literal('entry'), client_id: z.string(), ...EvidenceEntry.shape }),
  z.strictObject({ line: z.literal('checkpoint'), ...Checkpoint.shape }),
  z.strictObject({ line: z.literal('end'), chains: z.int().min(0) }),
])
export type EvidenceLine = z.infer<typeof EvidenceLine>

/** Returns one line of an export, or null when the text is none. */
export function parseEvidenceLine(text: string): EvidenceLine | null {
  return EvidenceLine.safeParse(parseJson(text)).data ?? null
}

export interface EvidenceChecks {
  sha256Hex: Sha256Hex
  /** Whether an Ed25519 signature over a text holds; key and signature are base64url. */
  isSigned(text: string, signature: string, public_key: string): boolean
}

type Chain = EvidenceVerification['chains'][number]

export interface EvidenceReader {
  add(text: string): void
  /** Returns the result, after every line was added. */
  finish(): EvidenceVerification & { public_keys: string[] }
}

/** Checks an export line by line. `public_key` is the key that must have signed it; null accepts any. */
export function createEvidenceReader(
  { sha256Hex, isSigned }: EvidenceChecks,
  public_key: string | null,
): EvidenceReader {
  const chains = new Map<string, Chain>()
  const signed = new Set<string>()
  const keys = new Set<string>()
  let current: Chain | null = null
  let lines = 0
  /** The number of chains in the last line; null before it. */
  let expected_chains: number | null = null

  const chainOf = (client_id: string): Chain => {
    const known = chains.get(client_id)
    if (known !== undefined) return known
    const chain = { client_id, entries: 0, head: null, broken_at: null, problem: null }
    chains.set(client_id, chain)
    return chain
  }
  /** Records a problem of a chain. Only the first one is reported. */
  const fail = (chain: Chain, broken_at: number, problem: string) => {
    if (chain.broken_at === null) Object.assign(chain, { broken_at, problem })
  }

  const addEntry = (chain: Chain, line: EvidenceLine & { line: 'entry' }) => {
    if (chain.broken_at !== null) return
    const expected = chain.entries + 1
    if (signed.has(chain.client_id)) return fail(chain, expected, `Entry ${line.seq} stands after the checkpoint.`)
    const problem = linkProblem(line, expected, chain.head ?? genesis, sha256Hex)
    if (problem !== null) return fail(chain, expected, problem)
    chain.entries = expected
    chain.head = line.hash
  }

  const addCheckpoint = (chain: Chain, line: EvidenceLine & { line: 'checkpoint' }) => {
    signed.add(chain.client_id)
    keys.add(line.public_key)
    const next = chain.entries + 1
    if (public_key !== null && line.public_key !== public_key) {
      fail(chain, next, `The checkpoint was signed by another key: ${line.public_key}.`)
    }
    if (!isSigned(checkpointText(line), line.signature, line.public_key)) {
      fail(chain, next, 'The signature of the checkpoint does not hold.')
    }
    if (chain.entries < line.entries) {
      fail(chain, next, `Entry ${next} is missing: the checkpoint was signed over ${line.entries} entries.`)
    }
    if (chain.entries > line.entries || chain.head !== line.head) {
      fail(chain, Math.max(1, chain.entries), 'The chain is not the one that the checkpoint was signed over.')
    }
  }

  return {
    add(text) {
      lines++
      if (text.trim() === '') return
      const line = parseEvidenceLine(text)
      if (line === null) {
        const chain = current ?? chainOf('-')
        fail(chain, chain.entries + 1, `Line ${lines} is not a line of an evidence export.`)
        return
      }
      if (expected_chains !== null)
        fail(current ?? chainOf('-'), (current?.entries ?? 0) + 1, `Line ${lines} stands after the end.`)
      if (line.line === 'end') {
        expected_chains = line.chains
        return
      }
      current = chainOf(line.client_id)
      if (line.line === 'entry') addEntry(current, line)
      else addCheckpoint(current, line)
    },
    finish() {
      if (chains.size === 0 && expected_chains !== 0) fail(chainOf('-'), 1, 'There is nothing in it.')
      for (const chain of chains.values()) {
        if (!signed.has(chain.client_id)) fail(chain, chain.entries + 1, 'The end is cut off: there is no checkpoint.')
      }
      const present = chains.size
      if (current !== null && expected_chains === null)
        fail(current, current.entries + 1, 'The end is cut off: the last line is missing.')
      if (expected_chains !== null && expected_chains !== present)
        fail(chainOf('-'), 1, `${expected_chains} chains were exported, ${present} are there.`)
      const all = [...chains.values()]
      const ok = all.length > 0 && all.every(({ broken_at }) => broken_at === null)
      return { ok, chains: all, public_keys: [...keys] }
    },
  }
}

/** Returns a line with a changed entry and the old hash. */
export function tamperedLine(line: EvidenceLine & { line: 'entry' }): string {
  const entry = line.entry.replace(/"at_ms":(\d+)/, (_, at_ms: string) => `"at_ms":${Number(at_ms) + 1}`)
  return JSON.stringify({ ...line, entry })
}
