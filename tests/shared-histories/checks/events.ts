/** A follower gets each event once, in order, of whatever node it asks; and what happened has one event. */
import type { ExportedState } from '../final-state.ts'
import type { Followed, History } from '../history.ts'
import { parseEntries } from './chains.ts'

export function checkEvents({ followed }: History, state: ExportedState): string[] {
  const stored = checkStored(state)
  return [...stored, ...followed.flatMap((each) => checkFollower(each, state))]
}

function checkFollower({ follower, events }: Followed, state: ExportedState): string[] {
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

function checkStored({ events, slots, beacons, chains }: ExportedState): string[] {
  const gap = events.findIndex(({ seq }, index) => seq !== index + 1)
  if (gap !== -1) return [`event ${events[gap]!.seq} is stored in place ${gap + 1}`]
  const counts = (type: string) => events.filter((event) => event.type === type).length
  const decided = events.filter(({ type }) => type === 'placement.decided').map(({ slot_id }) => slot_id)
  const twice = decided.find((slot_id, index) => decided.indexOf(slot_id) !== index)
  const consents = [...chains.values()].flatMap(parseEntries).filter(({ kind }) => kind === 'consent').length
  const expected: [string, number][] = [
    ['placement.decided', slots.filter(({ fill }) => fill !== null).length],
    ['beacon.accepted', beacons.length],
    ['consent.changed', consents],
  ]
  return [
    ...(twice === undefined ? [] : [`the decision of ${twice} has two events`]),
    ...expected.flatMap(([type, count]) =>
      counts(type) === count ? [] : [`there are ${counts(type)} events ${type}, and ${count} of what they are about`],
    ),
  ]
}
