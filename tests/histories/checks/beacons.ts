/** Exactly once: of each beacon one is accepted, however often and wherever it is sent, and everybody who repeats it learns so. */
import { type ActionOf, type History, isBefore, listDone, type Operation, pickKind } from '../history.ts'
import { describe } from '../known.ts'
import type { State } from '../state.ts'

const nameBeacon = ({ slot_id, beacon_id }: { slot_id: string; beacon_id: string }) => `${slot_id}/${beacon_id}`

export function checkBeacons(history: History, { beacons }: State): string[] {
  const sent = Map.groupBy(pickKind(history, 'beacon'), ({ action }) => nameBeacon(action))
  const accepted = Map.groupBy(
    beacons.filter(({ verdict }) => verdict === 'accepted'),
    nameBeacon,
  )
  const problems: string[] = []
  for (const [name, rows] of accepted) {
    if (rows.length > 1) problems.push(`${name} is accepted ${rows.length} times`)
    if (!sent.has(name)) problems.push(`${name} is accepted, and nobody has sent it`)
  }
  for (const [name, operations] of sent) {
    problems.push(...checkResponses(name, operations), ...checkKept(name, operations, accepted.get(name)?.[0] ?? null))
  }
  return [...problems, ...checkReads(history)]
}

function checkResponses(name: string, operations: readonly Operation<ActionOf<'beacon'>>[]): string[] {
  const acknowledged = listDone<{ duplicate: boolean }, ActionOf<'beacon'>>(operations)
  const fresh = acknowledged.filter(({ body }) => !body.duplicate)
  if (fresh.length > 1) return [`${name} is counted twice: ${fresh.map(describe).join(', ')}`]
  return operations.flatMap((operation) => {
    const earlier = acknowledged.find((other) => isBefore(other, operation))
    const { outcome } = operation
    if (outcome.kind === 'refused' && earlier !== undefined) {
      const { status, body } = outcome
      return [
        `${name}: ${describe(operation)} is refused with ${status} ${JSON.stringify(body)} after ${describe(earlier)}`,
      ]
    }
    if (outcome.kind !== 'done') return []
    if (!(outcome.body as { duplicate: boolean }).duplicate) {
      return earlier === undefined
        ? []
        : [`${name}: ${describe(operation)} counts it after ${describe(earlier)} was acknowledged`]
    }
    return operations.some((other) => other.number !== operation.number && other.called < operation.ended)
      ? []
      : [`${name}: ${describe(operation)} is a duplicate of nothing`]
  })
}

function checkKept(
  name: string,
  operations: readonly Operation<ActionOf<'beacon'>>[],
  row: { event: string } | null,
): string[] {
  const done = operations.filter(({ outcome }) => outcome.kind === 'done')
  if (done.length === 0) return []
  if (row === null) return [`${name} was acknowledged by ${describe(done[0]!)}, and is lost`]
  const other = done.find(({ action }) => action.event !== row.event)
  return other === undefined ? [] : [`${name} was a ${other.action.event}, and is a ${row.event}`]
}

/** A read sees what was acknowledged before it was called, at whatever node, and never two of it. */
function checkReads(history: History): string[] {
  const acknowledged = Map.groupBy(listDone(pickKind(history, 'beacon')), ({ action }) => action.beacon_id)
  return listDone<{ items: { verdict: string }[] }, ActionOf<'read_beacon'>>(pickKind(history, 'read_beacon')).flatMap(
    (read) => {
      const { beacon_id } = read.action
      const found = read.body.items.filter(({ verdict }) => verdict === 'accepted').length
      if (found > 1) return [`${describe(read)} sees ${beacon_id} accepted ${found} times`]
      const earlier = acknowledged.get(beacon_id)?.find((operation) => isBefore(operation, read))
      if (found === 1 || earlier === undefined) return []
      return [`${describe(read)} does not see ${beacon_id}, which ${describe(earlier)} was acknowledged before`]
    },
  )
}
