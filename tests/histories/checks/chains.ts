/**
 * One linear chain for each project: numbered from 1 without a gap, each hash over the one before. What was read of it is part
 * of it. Its order is that of time: what was acknowledged stands before what was called later.
 */
import { createHash } from 'node:crypto'
import { type ActionOf, type History, listDone, pickKind } from '../history.ts'
import { describe } from '../known.ts'
import type { ChainEntry, State } from '../state.ts'
import { readWindows, type Window } from '../windows.ts'

export interface Entry {
  seq: number
  kind: 'decision' | 'consent' | 'beacon'
  at_ms: number
  client_id: string
  slot_id: string
  beacon_id: string
  session_id: string
  consent_id: string
  revision: number
  consent_revision: number
  lifecycle_state: string
  expires_at_ms: number
  fill: boolean
}

export function parseEntries(chain: readonly ChainEntry[]): Entry[] {
  return chain.map(({ entry }) => JSON.parse(entry) as Entry)
}

export function checkChains(history: History, state: State): string[] {
  const windows = readWindows(history)
  return [...state.chains].flatMap(([project, chain]) => {
    const dated = dateEntries(chain, windows)
    return [
      ...checkHashes(project, chain),
      ...checkOrder(project, dated),
      ...checkReads(history, project, chain, dated),
      ...checkBeacons(project, chain, state),
    ]
  })
}

function checkHashes(project: string, chain: readonly ChainEntry[]): string[] {
  // SHA-256 of the hash before and the entry; the first follows 64 zeros.
  let last = '0'.repeat(64)
  for (const [index, { seq, entry, hash }] of chain.entries()) {
    if (seq !== index + 1) return [`the chain of ${project} has ${seq} in place ${index + 1}`]
    if (hash !== createHash('sha256').update(last).update(entry).digest('hex'))
      return [`the chain of ${project} breaks at ${seq}`]
    const named = JSON.parse(entry) as Entry
    if (named.seq !== seq || named.client_id !== project)
      return [`entry ${seq} of ${project} names ${named.seq} of ${named.client_id}`]
    last = hash
  }
  return []
}

interface Dated extends Window {
  seq: number
}

/** The entries of which clients know when what they record has happened. */
function dateEntries(chain: readonly ChainEntry[], windows: ReadonlyMap<string, Window>): Dated[] {
  const found = new Set<string>()
  return parseEntries(chain).flatMap((entry) => {
    const name = nameEntry(entry)
    const window = windows.get(name)
    // A consent that is renewed has another entry for the same revision.
    if (window === undefined || found.has(name)) return []
    found.add(name)
    return [{ ...window, seq: entry.seq }]
  })
}

function nameEntry(entry: Entry): string {
  if (entry.kind === 'decision') return `decision ${entry.slot_id}`
  if (entry.kind === 'beacon') return `beacon ${entry.slot_id}/${entry.beacon_id}`
  return `consent ${entry.client_id}/${entry.session_id}/${entry.revision}`
}

function checkOrder(project: string, dated: readonly Dated[]): string[] {
  let latest = { seq: 0, called: Number.NEGATIVE_INFINITY }
  for (const { seq, called, ended } of dated) {
    if (ended < latest.called) {
      return [`entry ${seq} of ${project} had ended before what entry ${latest.seq} records was called`]
    }
    if (called > latest.called) latest = { seq, called }
  }
  return []
}

function checkReads(
  history: History,
  project: string,
  chain: readonly ChainEntry[],
  dated: readonly Dated[],
): string[] {
  const reads = listDone<{ entries: ChainEntry[]; next_seq: number | null }, ActionOf<'read_chain'>>(
    pickKind(history, 'read_chain'),
  )
  return reads.flatMap((read) => {
    if (read.action.project !== project) return []
    const { entries, next_seq } = read.body
    const { after_seq } = read.action
    const wrong = entries.find(({ seq, hash }, index) => seq !== after_seq + index + 1 || chain[seq - 1]?.hash !== hash)
    if (wrong !== undefined)
      return [`${describe(read)} saw entry ${wrong.seq} of ${project}, which is not in its chain`]
    if (next_seq !== null) return []
    const last = after_seq + entries.length
    const missed = dated.find(({ seq, ended }) => seq > last && ended < read.called)
    return missed === undefined
      ? []
      : [`${describe(read)} does not see entry ${missed.seq} of ${project}, which was acknowledged before`]
  })
}

/** One entry for each beacon that is accepted. */
function checkBeacons(project: string, chain: readonly ChainEntry[], { beacons }: State): string[] {
  const rows = beacons
    .filter(({ client_id, verdict }) => client_id === project && verdict === 'accepted')
    .map(({ slot_id, beacon_id }) => `${slot_id}/${beacon_id}`)
  const entries = parseEntries(chain)
    .filter(({ kind }) => kind === 'beacon')
    .map(({ slot_id, beacon_id }) => `${slot_id}/${beacon_id}`)
  const [one, other] = [rows.toSorted(), entries.toSorted()]
  if (JSON.stringify(one) === JSON.stringify(other)) return []
  return [`${project} has ${one.length} beacons, and ${other.length} entries of beacons in its chain`]
}
