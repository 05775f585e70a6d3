/** Exactly once: of each beacon one is accepted, however often and wherever it is sent, and everybody who repeats it learns so. */
import type { FinalState } from '../final-state.ts'
import { type ActionOf, type History, isBefore, listDone, type Operation, pickKind } from '../history.ts'
import { describe } from './known.ts'

const nameBeacon = ({ slot_id, beacon_id }: { slot_id: string; beacon_id: string }) => `${slot_id}/${beacon_id}`

export function checkBeacons(history: History, { beacons }: FinalState): string[] {
  const sent = Map.groupBy(pickKind(history, 'beacon'), ({ action }) => nameBeacon(action))
  const accepted = Map.groupBy(beacons, nameBeacon)
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
  const problems: string[] = []
  for (const { body, ...operation } of acknowledged) {
    if (!body.duplicate) {
      const earlier = acknowledged.find((other) => isBefore(other, operation))
      if (earlier !== undefined)
        problems.push(`${name}: ${describe(operation)} counts it after ${describe(earlier)} was acknowledged`)
    } else if (!operations.some((other) => other.number !== operation.number && other.called_ms < operation.ended_ms)) {
      problems.push(`${name}: ${describe(operation)} is a duplicate of nothing`)
    }
  }
  for (const operation of operations) {
    if (operation.outcome.kind !== 'refused') continue
    const earlier = acknowledged.find((other) => isBefore(other, operation))
    if (earlier !== undefined) {
      const { status, body } = operation.outcome
      problems.push(
        `${name}: ${describe(operation)} is refused with ${status} ${JSON.stringify(body)} after ${describe(earlier)}`,
      )
    }
  }
  return problems
}

function checkKept(
  name: string,
  operations: readonly Operation<ActionOf<'beacon'>>[],
  row: { event: string } | null,
): string[] {
  const first = operations.find(({ outcome }) => outcome.kind === 'done')
  if (first === undefined) return []
  if (row === null) return [`${name} was acknowledged by ${describe(first)}, and is lost`]
  return row.event === first.action.event ? [] : [`${name} was a ${first.action.event}, and is a ${row.event}`]
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
