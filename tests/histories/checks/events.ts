/** A follower gets each event once, in order, of whatever node it asks; and what happened has one event. */
import { type ActionOf, type Followed, type History, listDone, pickKind } from '../history.ts'
import { readSlots } from '../known.ts'
import type { State } from '../state.ts'
import { parseEntries } from './chains.ts'

export function checkEvents(history: History, state: State): string[] {
  return [
    ...checkStored(state),
    ...(state.isFinal ? checkCounts(state) : []),
    ...checkAcknowledged(history, state),
    ...history.followed.flatMap((each) => checkFollower(each, state)),
  ]
}

function checkFollower({ follower, events }: Followed, state: State): string[] {
  const problems: string[] = []
  for (const [index, { seq, type, slot_id }] of events.entries()) {
    const expected = (events[index - 1]?.seq ?? 0) + 1
    if (type === 'events.dropped' || seq !== expected) {
      return [...problems, `follower ${follower} gets event ${seq}, ${type}, where ${expected} comes`]
    }
    const row = state.events[seq - 1]
    if (row === undefined) problems.push(`follower ${follower} got event ${seq}, ${type}, which is not there`)
    else if (row.type !== type || row.slot_id !== slot_id) {
      problems.push(
        `follower ${follower} got ${type} of ${slot_id} as event ${seq}, which is ${row.type} of ${row.slot_id}`,
      )
    }
  }
  const last = state.events.at(-1)?.seq ?? 0
  const seen = events.at(-1)?.seq ?? 0
  return seen < last ? [...problems, `follower ${follower} got events up to ${seen} of ${last}`] : problems
}

/** Numbered without a gap; each thing has one event, and an event is about something that is there. */
function checkStored({ events, slots, beacons }: State): string[] {
  const gap = events.findIndex(({ seq }, index) => index > 0 && seq !== events[index - 1]!.seq + 1)
  if (gap !== -1) return [`event ${events[gap]!.seq} is stored after event ${events[gap - 1]!.seq}`]
  const decided = new Set(slots.flatMap(({ slot_id, fill }) => (fill === null ? [] : [slot_id])))
  const accepted = new Set(beacons.flatMap(({ beacon_id, verdict }) => (verdict === 'accepted' ? [beacon_id] : [])))
  const names = events.flatMap(({ type, slot_id, data }) => {
    if (type === 'placement.decided') return [`the decision of ${slot_id}`]
    return type === 'beacon.accepted' && data !== undefined ? [`the beacon ${slot_id}/${data.beacon_id}`] : []
  })
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  const early = events.find(
    ({ type, slot_id, data }) =>
      (type === 'placement.decided' && !decided.has(slot_id ?? '')) ||
      (type === 'beacon.accepted' && data !== undefined && !accepted.has(data.beacon_id ?? '')),
  )
  return [
    ...(twice === undefined ? [] : [`${twice} has two events`]),
    ...(early === undefined ? [] : [`event ${early.seq}, ${early.type}, is about something that is not there`]),
  ]
}

function checkCounts({ events, slots, beacons, chains }: State): string[] {
  const consents = [...chains.values()].flatMap(parseEntries).filter(({ kind }) => kind === 'consent').length
  const expected: [string, number][] = [
    ['placement.decided', slots.filter(({ fill }) => fill !== null).length],
    ['beacon.accepted', beacons.filter(({ verdict }) => verdict === 'accepted').length],
    ['consent.changed', consents],
  ]
  return expected.flatMap(([type, count]) => {
    const found = events.filter((event) => event.type === type).length
    return found === count ? [] : [`there are ${found} events ${type}, and ${count} of what they are about`]
  })
}

/** What was acknowledged in this state has an event. Those of an export do not name their beacons: they are counted. */
function checkAcknowledged(history: History, { events }: State): string[] {
  const decided = new Set(events.flatMap(({ type, slot_id }) => (type === 'placement.decided' ? [slot_id] : [])))
  const accepted = new Set(events.flatMap(({ type, data }) => (type === 'beacon.accepted' ? [data?.beacon_id] : [])))
  const placed = readSlots(history).filter(({ body, isEarlier }) => !isEarlier && body.decision !== null)
  const areNamed = events.every(({ type, data }) => type !== 'beacon.accepted' || data !== undefined)
  const counted = listDone<{ duplicate: boolean }, ActionOf<'beacon'>>(pickKind(history, 'beacon')).filter(
    ({ body, isEarlier }) => areNamed && !isEarlier && !body.duplicate,
  )
  return [
    ...placed.flatMap(({ body: { slot_id } }) =>
      decided.has(slot_id) ? [] : [`the decision of ${slot_id} has no event`],
    ),
    ...counted.flatMap(({ action: { slot_id, beacon_id } }) =>
      accepted.has(beacon_id) ? [] : [`the beacon ${slot_id}/${beacon_id} has no event`],
    ),
  ]
}
