/**
 * The record of each turn from both sides: the page has the renderer's events, the sandbox has its records. A decision
 * or a beacon is one entry with both sides, never two.
 */
import type { JobType } from '#contract/fields.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import type { PlacementDetail, PlacementItem } from '#contract/resources/placements.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import type { Choices } from './surfaces.ts'

/** Something that this page did itself. */
interface PageNote {
  type: 'started' | 'consent'
  [field: string]: unknown
}

export interface TurnEntry {
  key: string
  kind: EntryKind
  /** `performance.now()` of the side that knew first. */
  at: number
  slot_id: string | null
  page: { event: RendererEvent | PageNote; at: number } | null
  sandbox: { event: SandboxEvent; at: number } | null
}

/** In the display order of entries with the same time. */
const firstKinds = ['started', 'consent', 'activated', 'request', 'pending', 'decision', 'frame', 'rendered'] as const

export type EntryKind =
  | (typeof firstKinds)[number]
  | 'beacon'
  | 'reset'
  | Exclude<RendererEvent['type'], 'no_fill' | 'turn:started'>

export interface TurnRecord {
  id: string
  number: number
  job_type: JobType
  text: string
  choices: Choices
  started_at: number
  slot_id: string | null
  entries: TurnEntry[]
  /** The current placement in the sandbox. */
  detail: PlacementDetail | null
}

export type Recorder = ReturnType<typeof openRecorder>

const maxTurns = 20

type EntrySide = Partial<TurnEntry> & { at: number }

/** `onChange` is called with a turn whenever there is something new in it. */
export function openRecorder(onChange: (turn: TurnRecord) => void) {
  const turns = openTurns(onChange)
  const sessions = new Set<string>()
  const consents = openConsents(turns)

  const recorder = {
    get turns(): readonly TurnRecord[] {
      return turns.all()
    },
    start(turn: StartedTurn, session_id: string): void {
      sessions.add(session_id)
      turns.add(turn)
      recorder.note({ type: 'started', job_type: turn.job_type, prompt: turn.text, ...turn.choices })
    },
    note(event: PageNote): void {
      const [turn] = turns.all()
      if (turn === undefined) return
      const at = performance.now()
      const key = event.type === 'consent' ? `consent:${event.consent_id}` : event.type
      turns.put(turn, key, event.type, { at, page: { event, at } })
      consents.attachEarlier(key)
    },
    onPageEvent: (event: RendererEvent) => putPageEvent(turns, event),
    onSandboxEvent(event: SandboxEvent, at: number): void {
      const { slot_id, type, data } = event
      const [newest] = turns.all()
      const kind = kinds[type]
      if (kind === 'consent') consents.attach(event)
      if (kind === undefined || kind === 'consent') return
      const known = slot_id === null ? undefined : turns.findBySlot(slot_id)
      if (kind === 'activated' || kind === 'reset') {
        if (kind === 'activated' && newest?.choices.integration === 'server') return
      } else if (slot_id === null || (known === undefined && !sessions.has(String(data.session_id)))) return
      // A new slot is assumed to belong to the newest turn until `bind` corrects it.
      const turn = known ?? newest
      if (turn === undefined) return
      if (slot_id !== null) turns.assume(turn, slot_id)
      turns.put(turn, sandboxKey(kind, event), kind, sandboxSide(turn, event, at))
    },
    bind: turns.bind,
    setDetail(detail: PlacementDetail): void {
      const turn = turns.findBySlot(detail.slot_id)
      if (turn === undefined) return
      turn.detail = detail
      onChange(turn)
    },
  }
  return recorder
}

/** Joins consents that the sandbox recorded with those that this page stored. Those of other pages are not shown. */
function openConsents(turns: Turns) {
  /** Recorded before this page recognized them as its own, by the key of their entry. */
  const early = new Map<string, SandboxEvent>()
  function attach(event: SandboxEvent): void {
    const key = `consent:${event.data.consent_id}`
    const isOwn = (entry: TurnEntry) => entry.key === key && entry.sandbox === null
    const turn = turns.all().find(({ entries }) => entries.some(isOwn))
    const at = turn?.entries.find(isOwn)?.at ?? 0
    if (turn === undefined) early.set(key, event)
    else turns.put(turn, key, 'consent', { at, sandbox: { event, at } })
  }
  return {
    attach,
    attachEarlier(key: string): void {
      const recorded = early.get(key)
      if (recorded !== undefined) attach(recorded)
    },
  }
}

function putPageEvent(turns: Turns, event: RendererEvent): void {
  const { type, turn_id, slot_id = null, instance_id = '' } = event
  const turn = turn_id === undefined ? turns.all()[0] : turns.find(turn_id)
  if (turn === undefined || type === 'no_fill') return
  if (slot_id !== null) turns.bind(turn.id, slot_id)
  const at = performance.now()
  const side = { at, slot_id, page: { event, at } }
  if (type === 'turn:started') turns.put(turn, 'request', 'request', side)
  else if (type === 'decision') turns.put(turn, `decision:${slot_id}`, 'decision', side)
  else if (type === 'beacon') turns.put(turn, beaconKey(turn, event), 'beacon', side)
  else turns.put(turn, `${type}:${instance_id}:${turn.entries.length}`, type, side)
}

type Turns = ReturnType<typeof openTurns>
type StartedTurn = Pick<TurnRecord, 'id' | 'job_type' | 'text' | 'choices'>

/** The newest turns, with the slots that belong to them. */
function openTurns(onChange: (turn: TurnRecord) => void) {
  let turns: TurnRecord[] = []
  let count = 0
  /** The turn of each slot. */
  const slots = new Map<string, string>()
  const find = (id: string | undefined) => turns.find((turn) => turn.id === id)
  const findBySlot = (slot_id: string) => find(slots.get(slot_id))
  return {
    all: () => turns,
    find,
    findBySlot,
    add(turn: StartedTurn): void {
      count += 1
      const record = { ...turn, number: count, started_at: performance.now(), slot_id: null, entries: [], detail: null }
      turns = [record, ...turns].slice(0, maxTurns)
    },
    put(turn: TurnRecord, key: string, kind: EntryKind, side: EntrySide): void {
      const known = turn.entries.find((entry) => entry.key === key)
      const entry: TurnEntry = known ?? { key, kind, at: side.at, slot_id: null, page: null, sandbox: null }
      entry.page ??= side.page ?? null
      entry.sandbox ??= side.sandbox ?? null
      entry.slot_id ??= side.slot_id ?? null
      entry.at = Math.min(entry.at, side.at)
      turn.entries = inOrder(known === undefined ? [...turn.entries, entry] : turn.entries)
      onChange(turn)
    },
    assume(turn: TurnRecord, slot_id: string): void {
      slots.set(slot_id, turn.id)
      turn.slot_id ??= slot_id
    },
    /** The slot belongs to this turn for certain. */
    bind(turn_id: string, slot_id: string): void {
      const turn = find(turn_id)
      const guess = findBySlot(slot_id)
      slots.set(slot_id, turn_id)
      if (turn === undefined) return
      turn.slot_id = slot_id
      if (guess === undefined || guess === turn) return
      const moved = guess.entries.filter((entry) => entry.slot_id === slot_id)
      guess.entries = guess.entries.filter((entry) => entry.slot_id !== slot_id)
      if (guess.slot_id === slot_id) guess.slot_id = null
      turn.entries = inOrder([...turn.entries, ...moved])
      onChange(guess)
      onChange(turn)
    },
  }
}

/** Kinds of the sandbox's events; consents are joined with the ones that this page stored. */
const kinds: Partial<Record<SandboxEvent['type'], EntryKind>> = {
  'job.created': 'pending',
  'placement.decided': 'decision',
  'frame.loaded': 'frame',
  'beacon.accepted': 'beacon',
  'beacon.duplicate': 'beacon',
  'beacon.rejected': 'beacon',
  'browser.activated': 'activated',
  'sandbox.reset': 'reset',
  'consent.changed': 'consent',
}

export const recordedTypes: readonly string[] = Object.keys(kinds)

export function isDecision(event: SandboxEvent | undefined): event is SandboxEvent & { data: PlacementItem } {
  return event?.type === 'placement.decided'
}

export function isBeacon(event: SandboxEvent | undefined): event is SandboxEvent & { data: BeaconItem } {
  return event?.type.startsWith('beacon.') === true
}

/** `<instance>:<event>[:n]`, as the renderer names its beacons. Heartbeats are numbered in the order of their events. */
function beaconKey(turn: TurnRecord, { instance_id, event }: RendererEvent<'beacon'>): string {
  const key = `beacon:${instance_id}:${event}`
  if (event !== 'heartbeat') return key
  const earlier = turn.entries.filter((entry) => entry.key.startsWith(key) && entry.page !== null)
  return `${key}:${earlier.length + 1}`
}

function sandboxKey(kind: EntryKind, { type, seq, slot_id, data }: SandboxEvent): string {
  const { beacon_id } = data
  if (kind === 'beacon' && type !== 'beacon.duplicate' && beacon_id) return `beacon:${beacon_id}`
  return kind === 'pending' || kind === 'decision' ? `${kind}:${slot_id}` : `${kind}:${seq}`
}

/** Two clocks never agree exactly: nothing arrives in the sandbox before its cause on the page. */
function sandboxSide(turn: TurnRecord, event: SandboxEvent, recorded_at: number): EntrySide {
  const { type, data, slot_id } = event
  const cause = type.startsWith('beacon.')
    ? (findEntry(causes, String(data.event)) ?? data.event)
    : type === 'frame.loaded'
      ? 'decision'
      : 'request'
  const caused_at = turn.entries.findLast(({ kind }) => kind === cause)?.at ?? turn.started_at
  const at = Math.max(recorded_at, caused_at)
  return { at, slot_id, sandbox: { event, at } }
}

/** The page event that precedes a beacon, where the names differ. */
const causes: Record<string, EntryKind> = { render: 'rendered' }

const displayOrder: readonly EntryKind[] = firstKinds

function inOrder(entries: readonly TurnEntry[]): TurnEntry[] {
  return entries.toSorted((a, b) => a.at - b.at || rank(a) - rank(b))
}

function rank({ kind }: TurnEntry): number {
  const place = displayOrder.indexOf(kind)
  if (kind === 'beacon') return firstKinds.length + 1
  return place === -1 ? firstKinds.length : place
}
