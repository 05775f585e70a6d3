/**
 * What happened in each turn, seen from two sides. The page knows what the renderer tells it, the sandbox what has
 * arrived; a decision or a beacon is one entry with both sides, never two.
 */
import type { BeaconItem } from '../../../src/contract/control/beacons.ts'
import type { SandboxEvent } from '../../../src/contract/control/events.ts'
import type { PlacementDetail } from '../../../src/contract/control/placements.ts'
import type { JobType } from '../../../src/contract/fields.ts'
import type { RendererEvent } from '../../renderer/host/renderer.ts'
import type { Choices } from '../choices.ts'

/** Something that this page did by itself. */
export interface PageNote {
  type: 'asked' | 'consent'
  [member: string]: unknown
}

export interface Entry {
  key: string
  kind: EntryKind
  /** `performance.now()` of the side that knew first. */
  at: number
  slot_id: string | null
  page: { event: RendererEvent | PageNote; at: number } | null
  sandbox: { event: SandboxEvent; at: number } | null
}

export type EntryKind =
  | 'asked'
  | 'consent'
  | 'activated'
  | 'request'
  | 'pending'
  | 'decision'
  | 'frame'
  | 'beacon'
  | 'reset'
  | Exclude<RendererEvent['type'], 'decision' | 'no_fill' | 'beacon' | 'turn:started'>

export interface TurnRecord {
  id: string
  number: number
  job_type: JobType
  text: string
  choices: Choices
  began_at: number
  slot_id: string | null
  entries: Entry[]
  /** The sandbox's own account of the slot, as it is now. */
  detail: PlacementDetail | null
}

export interface Recorder {
  readonly turns: readonly TurnRecord[]
  begin(turn: Pick<TurnRecord, 'id' | 'job_type' | 'text' | 'choices'>, session_id: string): void
  note(note: PageNote): void
  hearPage(event: RendererEvent): void
  hearSandbox(event: SandboxEvent, at: number): void
  /** A slot is this turn's for certain. */
  bind(turn_id: string, slot_id: string): void
  setDetail(detail: PlacementDetail): void
}

const most_turns = 20

/** `changed` is told of a turn whenever there is something new in it. */
export function openRecorder(changed: (turn: TurnRecord, entry: Entry | null) => void): Recorder {
  let turns: TurnRecord[] = []
  let count = 0
  const sessions = new Set<string>()
  const slotTurns = new Map<string, string>()
  const consents: SandboxEvent[] = []

  const current = () => turns[0]
  const turnOf = (id: string | undefined) => turns.find((turn) => turn.id === id)
  const turnOfSlot = (slot_id: string): TurnRecord | undefined => {
    if (!slotTurns.has(slot_id) && current() !== undefined) slotTurns.set(slot_id, current()?.id ?? '')
    return turnOf(slotTurns.get(slot_id))
  }

  function put(turn: TurnRecord, key: string, kind: EntryKind, side: Partial<Entry> & { at: number }): void {
    const known = turn.entries.find((entry) => entry.key === key)
    const entry: Entry = known ?? { key, kind, at: side.at, slot_id: null, page: null, sandbox: null }
    entry.page ??= side.page ?? null
    entry.sandbox ??= side.sandbox ?? null
    entry.slot_id ??= side.slot_id ?? null
    entry.at = Math.min(entry.at, side.at)
    if (known === undefined) turn.entries.push(entry)
    turn.entries.sort((a, b) => a.at - b.at || rank(a) - rank(b))
    changed(turn, entry)
  }

  const recorder: Recorder = {
    get turns() {
      return turns
    },
    begin(turn, session_id) {
      sessions.add(session_id)
      count += 1
      const record = { ...turn, number: count, began_at: performance.now(), slot_id: null, entries: [], detail: null }
      turns = [record, ...turns].slice(0, most_turns)
      recorder.note({ type: 'asked', job_type: turn.job_type, prompt: turn.text, ...turn.choices })
    },
    note(event) {
      const turn = current()
      if (turn === undefined) return
      const at = performance.now()
      const key = event.type === 'consent' ? `consent:${event.consent_id}:${at}` : event.type
      put(turn, key, event.type, { at, page: { event, at } })
      const recorded = consents.findLast(({ data }) => data.consent_id === event.consent_id)
      if (event.type === 'consent' && recorded !== undefined) attachConsent(recorded)
    },
    hearPage(event) {
      const at = performance.now()
      const turn = turnOf(event.turn_id) ?? (event.turn_id === undefined ? current() : undefined)
      if (turn === undefined) return
      if (event.slot_id !== undefined) recorder.bind(turn.id, event.slot_id)
      const slot_id = event.slot_id ?? null
      const side = { at, slot_id, page: { event, at } }
      if (event.type === 'no_fill') return
      if (event.type === 'turn:started') return put(turn, 'request', 'request', side)
      if (event.type === 'decision') return put(turn, `decision:${slot_id}`, 'decision', side)
      if (event.type === 'beacon') return put(turn, beaconKey(turn, event), 'beacon', side)
      put(turn, `${event.type}:${event.instance_id ?? ''}:${turn.entries.length}`, event.type, side)
    },
    hearSandbox(event, at) {
      const { slot_id, type, data } = event
      if (type === 'consent.changed') {
        consents.push(event)
        attachConsent(event)
        return
      }
      const own = slot_id === null ? undefined : turnOf(slotTurns.get(slot_id))
      const isOurs = own !== undefined || sessions.has(String(data.session_id))
      if (type === 'browser.activated' || type === 'sandbox.reset') {
        const turn = current()
        if (turn === undefined || (type === 'browser.activated' && turn.choices.integration === 'server')) return
        return put(
          turn,
          `${type}:${event.seq}`,
          type === 'sandbox.reset' ? 'reset' : 'activated',
          sideOf(turn, event, at),
        )
      }
      if (slot_id === null || !isOurs) return
      const turn = own ?? turnOfSlot(slot_id)
      if (turn === undefined) return
      turn.slot_id ??= slot_id
      const side = sideOf(turn, event, at)
      if (type === 'job.created') put(turn, `pending:${slot_id}`, 'pending', side)
      else if (type === 'placement.decided') put(turn, `decision:${slot_id}`, 'decision', side)
      else if (type === 'frame.loaded') put(turn, `frame:${event.seq}`, 'frame', side)
      else put(turn, sandboxBeaconKey(event), 'beacon', side)
    },
    bind(turn_id, slot_id) {
      const turn = turnOf(turn_id)
      const guess = turnOf(slotTurns.get(slot_id))
      slotTurns.set(slot_id, turn_id)
      if (turn === undefined) return
      turn.slot_id = slot_id
      if (guess === undefined || guess === turn) return
      const moved = guess.entries.filter((entry) => entry.slot_id === slot_id)
      guess.entries = guess.entries.filter((entry) => entry.slot_id !== slot_id)
      if (guess.slot_id === slot_id) guess.slot_id = null
      turn.entries = [...turn.entries, ...moved].sort((a, b) => a.at - b.at || rank(a) - rank(b))
      changed(guess, null)
      changed(turn, null)
    },
    setDetail(detail) {
      const turn = turnOf(slotTurns.get(detail.slot_id))
      if (turn === undefined) return
      turn.detail = detail
      changed(turn, null)
    },
  }

  /** The event of a consent that this page has stored; those of others are not shown. */
  function attachConsent(event: SandboxEvent): void {
    for (const turn of turns) {
      const entry = turn.entries.findLast(({ kind, sandbox, page }) => {
        const note = page?.event as PageNote | undefined
        return kind === 'consent' && sandbox === null && note?.consent_id === event.data.consent_id
      })
      if (entry === undefined) continue
      consents.splice(consents.indexOf(event), 1)
      entry.sandbox = { event, at: entry.at }
      changed(turn, entry)
      return
    }
  }
  return recorder
}

/** `<instance>:<event>[:n]`, as the renderer names its beacons. Heartbeats are counted in the order they are told. */
function beaconKey(turn: TurnRecord, { instance_id, event }: RendererEvent<'beacon'>): string {
  const key = `beacon:${instance_id}:${event}`
  if (event !== 'heartbeat') return key
  const told = turn.entries.filter((entry) => entry.key.startsWith(key) && entry.page !== null)
  return `${key}:${told.length + 1}`
}

function sandboxBeaconKey({ type, seq, data }: SandboxEvent): string {
  const { beacon_id } = data as Partial<BeaconItem>
  return type === 'beacon.duplicate' || !beacon_id ? `beacon:${seq}` : `beacon:${beacon_id}`
}

/** Two clocks are never quite alike: nothing arrives in the sandbox before the page has done it. */
function sideOf(turn: TurnRecord, event: SandboxEvent, told_at: number): Partial<Entry> & { at: number } {
  const at = Math.max(told_at, causeOf(turn, event))
  return { at, slot_id: event.slot_id, sandbox: { event, at } }
}

function causeOf(turn: TurnRecord, { type, data }: SandboxEvent): number {
  const cause = type.startsWith('beacon.')
    ? causes[String(data.event)]
    : type === 'frame.loaded'
      ? 'decision'
      : 'request'
  return turn.entries.findLast(({ kind }) => kind === cause)?.at ?? turn.began_at
}

const causes: Record<string, EntryKind> = {
  render: 'rendered',
  visible: 'visible',
  click: 'click',
  play_started: 'play_started',
  play_completed: 'play_completed',
}

/** What comes first of things that happened at the same time. */
const order: readonly EntryKind[] = [
  'asked',
  'consent',
  'activated',
  'request',
  'pending',
  'decision',
  'frame',
  'rendered',
]

function rank({ kind }: Entry): number {
  const place = order.indexOf(kind)
  if (kind === 'beacon') return order.length + 1
  return place === -1 ? order.length : place
}
