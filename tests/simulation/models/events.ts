/**
 * Events: a follower gets each one once, numbered without a gap, also over a crash. What has happened is there and has one
 * event; an event of something that is not there was sent too early.
 */

import type { Acknowledged } from '../acknowledged.ts'
import type { Facts } from '../history/facts.ts'
import type { Project } from '../steps/steps.ts'

export interface SeenEvent {
  seq: number
  type: string
  at_ms: number
  client_id: Project | null
  slot_id: string | null
  data: { beacon_id?: string }
}

export interface Follower {
  /** The number of the last event. */
  readonly seq: number
  readonly count: number
  /** When the frame of a slot was first loaded, in any state. */
  readonly frames: ReadonlyMap<string, number>
  /** The events of the present state so far. */
  events(): readonly SeenEvent[]
  /** Another connection begins. */
  connect(): void
  /** The process has lost everything, and says so when the next connection has a number that it does not know. */
  mayStartOver(): void
  /** Everything is read again, from the first event. */
  startOver(): void
  /** Reads the text of a stream. Returns what is wrong with it. */
  read(text: string): string[]
  /** Compares the events of the present state with what is there. */
  check(facts: Facts, acknowledged: Acknowledged): string[]
}

/** Returns the events of a stream that are whole, and the text after them. */
export function readEvents(text: string): { events: SeenEvent[]; rest: string } {
  const blocks = text.split('\n\n')
  const rest = blocks.pop() ?? ''
  const events = blocks.flatMap((block) => {
    const data = block.split('\n').find((line) => line.startsWith('data: '))
    return data === undefined ? [] : [JSON.parse(data.slice('data: '.length)) as SeenEvent]
  })
  return { events, rest }
}

export function createFollower(): Follower {
  const frames = new Map<string, number>()
  let seq = 0
  let count = 0
  let rest = ''
  let mayBeGone = false
  /** Those of the present state: since it replaced another one. */
  let events: SeenEvent[] = []

  return {
    get seq() {
      return seq
    },
    get count() {
      return count
    },
    frames,
    events: () => events,
    connect() {
      rest = ''
    },
    mayStartOver() {
      mayBeGone = true
    },
    startOver() {
      events = []
      seq = 0
    },
    read(text) {
      const read = readEvents(rest + text)
      rest = read.rest
      return read.events.flatMap(take)
    },
    check: (facts, acknowledged) => [...checkThere(facts), ...checkSeen(acknowledged)],
  }

  function take(event: SeenEvent): string[] {
    count++
    const last = seq
    const replaces = event.type === 'sandbox.reset' || event.type === 'sandbox.restored'
    if (replaces) events = []
    events.push(event)
    if (event.type === 'frame.loaded' && event.slot_id !== null && !frames.has(event.slot_id)) {
      frames.set(event.slot_id, event.at_ms)
    }
    if (event.seq === 0 && !mayBeGone) return [`events up to ${last} were sent, and are gone`]
    seq = event.seq
    mayBeGone = false
    if (event.seq === 0) return []
    if (event.seq === last + 1 || (replaces && event.seq > last)) return []
    return [`event ${event.seq}, ${event.type}, comes after event ${last}`]
  }

  function checkThere({ placements, beacons }: Facts): string[] {
    const decided = new Set(placements.flatMap(({ slot_id, fill }) => (fill === null ? [] : [slot_id])))
    const accepted = new Set(beacons.flatMap(({ beacon_id, verdict }) => (verdict === 'accepted' ? [beacon_id] : [])))
    const names = events.flatMap(({ type, slot_id, data }) => {
      if (type === 'placement.decided') return [`the decision of ${slot_id}`]
      return type === 'beacon.accepted' ? [`the beacon ${data.beacon_id}`] : []
    })
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    const early = events.find(
      ({ type, slot_id, data }) =>
        (type === 'placement.decided' && !decided.has(slot_id ?? '')) ||
        (type === 'beacon.accepted' && !accepted.has(data.beacon_id ?? '')),
    )
    return [
      ...(twice === undefined ? [] : [`${twice} has two events`]),
      ...(early === undefined ? [] : [`event ${early.seq}, ${early.type}, is about something that is not there`]),
    ]
  }

  function checkSeen({ known, generation }: Acknowledged): string[] {
    const has = (type: string, isOf: (event: SeenEvent) => boolean) =>
      events.some((event) => event.type === type && isOf(event))
    const problems: string[] = []
    for (const slot of known.slots.values()) {
      if (slot.generation !== generation || slot.fill === null) continue
      if (!has('placement.decided', (event) => event.slot_id === slot.slot_id)) {
        problems.push(`the decision of ${slot.slot_id} has no event`)
      }
    }
    for (const beacon of known.beacons.values()) {
      if (beacon.generation !== generation) continue
      if (!has('beacon.accepted', ({ data }) => data.beacon_id === beacon.beacon_id)) {
        problems.push(`the beacon ${beacon.beacon_id} has no event`)
      }
    }
    return problems
  }
}
