/**
 * The evidence chain of each project: positions from 1 without a gap, each hash over the one before and the entry; nothing
 * that has been read is ever changed; and it has exactly one entry for each decision and each accepted beacon.
 */
import { createHash } from 'node:crypto'
import type { Acknowledged, ChainEntry } from '../acknowledged.ts'
import type { Facts } from '../history/facts.ts'
import { type Project, projects } from '../steps/steps.ts'

interface Entry {
  kind: 'decision' | 'consent' | 'beacon'
  seq: number
  slot_id: string
  beacon_id: string
}

export function checkEvidence(facts: Facts, { known }: Acknowledged): string[] {
  const problems: string[] = []
  for (const project of projects) {
    const chain = facts.chains.get(project) ?? []
    const before = known.chains.get(project) ?? []
    problems.push(
      ...checkHashes(project, chain),
      ...checkKept(project, chain, before),
      ...checkEntries(project, chain, facts),
    )
    known.chains.set(project, chain)
  }
  return problems
}

function checkHashes(project: Project, chain: readonly ChainEntry[]): string[] {
  // As src/contract states it: SHA-256 of the hash before, a line feed and the entry; the first follows 64 zeros.
  let last = '0'.repeat(64)
  for (const [index, { seq, entry, hash }] of chain.entries()) {
    if (seq !== index + 1) return [`the chain of ${project} has ${seq} in place ${index + 1}`]
    const expected = createHash('sha256').update(`${last}${entry}`).digest('hex')
    if (hash !== expected) return [`the chain of ${project} breaks at ${seq}`]
    if ((JSON.parse(entry) as Entry).seq !== seq) return [`the chain of ${project} names another position at ${seq}`]
    last = hash
  }
  return []
}

function checkKept(project: Project, chain: readonly ChainEntry[], before: readonly ChainEntry[]): string[] {
  const changed = before.find(({ hash }, index) => chain[index]?.hash !== hash)
  if (changed === undefined) return []
  return [
    `entry ${changed.seq} of ${project} was read, and is ${chain.length < changed.seq ? 'gone' : 'another one'} now`,
  ]
}

function checkEntries(project: Project, chain: readonly ChainEntry[], { placements, beacons }: Facts): string[] {
  const decided = placements.filter(({ client_id, fill }) => client_id === project && fill !== null)
  const accepted = beacons.filter(({ client_id, verdict }) => client_id === project && verdict === 'accepted')
  const entries = chain.map(({ entry }) => JSON.parse(entry) as Entry)
  const inChain = (kind: Entry['kind'], name: (entry: Entry) => string) =>
    entries.filter((entry) => entry.kind === kind).map(name)
  return [
    ...compare(
      `decisions of ${project}`,
      decided.map(({ slot_id }) => slot_id),
      inChain('decision', ({ slot_id }) => slot_id),
    ),
    ...compare(
      `beacons of ${project}`,
      accepted.map(({ slot_id, beacon_id }) => `${slot_id} ${beacon_id}`),
      inChain('beacon', ({ slot_id, beacon_id }) => `${slot_id} ${beacon_id}`),
    ),
  ]
}

function compare(what: string, rows: readonly string[], entries: readonly string[]): string[] {
  const [one, other] = [rows.toSorted(), entries.toSorted()]
  if (JSON.stringify(one) === JSON.stringify(other)) return []
  const missing = one.find((row) => !other.includes(row))
  const extra = other.find((entry, index) => !one.includes(entry) || other[index + 1] === entry)
  return [`${what}: ${one.length} rows and ${other.length} entries; without an entry: ${missing}, too many: ${extra}`]
}
