/** Each placement is decided once, every reader is given that decision, and nobody is given less after another had it. */
import { type History, isBefore, pickKind } from '../history.ts'
import { describe, readPolls, readSlots, readViews, type View } from '../known.ts'
import type { State } from '../state.ts'
import { parseEntries } from './chains.ts'

export function checkDecisions(history: History, state: State): string[] {
  return [
    ...checkSlots(history, state),
    ...[...readViews(history)].flatMap(([slot_id, views]) => checkViews(slot_id, views, history)),
    ...checkEntries(state),
    ...checkNotFound(history),
  ]
}

/** What was acknowledged is there, as it was decided, under a name of its own. */
function checkSlots(history: History, { slots, isFinal }: State): string[] {
  const stored = new Map(slots.map((slot) => [slot.slot_id, slot]))
  const problems = slots.length === stored.size ? [] : [`${slots.length - stored.size} slots are listed twice`]
  const named = new Map<string, number>()
  for (const { body, ...operation } of readSlots(history)) {
    const { slot_id } = body
    const other = named.get(slot_id)
    if (other !== undefined) problems.push(`${slot_id} is that of operation ${other} and of ${describe(operation)}`)
    named.set(slot_id, operation.number)
    const slot = stored.get(slot_id)
    const { project, session } = operation.action
    if (slot === undefined) problems.push(`${slot_id} was acknowledged by ${describe(operation)}, and is lost`)
    else if (slot.client_id !== project || slot.session_id !== session) {
      problems.push(`${slot_id} was placed for ${project}/${session}, and is of ${slot.client_id}/${slot.session_id}`)
    }
  }
  for (const { slot_id, fill } of isFinal ? slots : []) if (fill === null) problems.push(`${slot_id} is still pending`)
  for (const [slot_id, [view]] of readViews(history)) {
    const slot = stored.get(slot_id)
    if (slot === undefined || (slot.fill === view!.fill && slot.format === view!.format)) continue
    problems.push(`${slot_id} was decided as ${view!.fill} ${view!.format}, and is ${slot.fill} ${slot.format}`)
  }
  return problems
}

function checkViews(slot_id: string, views: readonly View[], history: History): string[] {
  const terms = ({ fill, format, asset_token, declared, consent }: View) => {
    const state = consent?.lifecycle_state === 'expired' ? 'granted' : consent?.lifecycle_state
    return JSON.stringify([fill, format, asset_token, declared, consent?.revision, state])
  }
  const present = views.filter(({ isExpired }) => !isExpired)
  const [first] = present
  const other = present.find((view) => terms(view) !== terms(first!))
  const problems: string[] = []
  if (other !== undefined) {
    const both = [first!, other].map((view) => `${describe(view.operation)} ${terms(view)}`)
    problems.push(`${slot_id} has two decisions: ${both.join(', ')}`)
  }
  for (const poll of readPolls(history)) {
    if (poll.action.slot_id !== slot_id || poll.body.decision !== null) continue
    const earlier = views.find(({ operation }) => isBefore(operation, poll))
    if (earlier === undefined) continue
    problems.push(
      `${slot_id} is pending for ${describe(poll)}, and ${describe(earlier.operation)} had its decision before`,
    )
  }
  return problems
}

/** One entry of the chain for each decision. */
function checkEntries({ chains, slots }: State): string[] {
  return [...chains].flatMap(([project, chain]) => {
    const entries = parseEntries(chain).filter(({ kind }) => kind === 'decision')
    const bySlot = Map.groupBy(entries, ({ slot_id }) => slot_id)
    const own = slots.filter(({ client_id, fill }) => client_id === project && fill !== null)
    const problems = own.flatMap(({ slot_id, fill }) => {
      const of = bySlot.get(slot_id) ?? []
      if (of.length !== 1) return [`${slot_id} has ${of.length} decisions in the chain of ${project}`]
      return of[0]!.fill === fill ? [] : [`${slot_id} is ${fill}, and ${of[0]!.fill} in the chain of ${project}`]
    })
    const known = new Set(own.map(({ slot_id }) => slot_id))
    const extra = entries.find(({ slot_id }) => !known.has(slot_id))
    return extra === undefined
      ? problems
      : [...problems, `entry ${extra.seq} of ${project} decides ${extra.slot_id}, which is not there`]
  })
}

/** Clients poll only what was acknowledged to them. */
function checkNotFound(history: History): string[] {
  return pickKind(history, 'poll').flatMap((operation) => {
    const { outcome, action } = operation
    if (outcome.kind !== 'refused') return []
    return [`${action.slot_id} was acknowledged, and is a ${outcome.status} for ${describe(operation)}`]
  })
}
