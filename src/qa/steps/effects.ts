/** What endpoints need of a target, and what they change for everyone. */
import { contract, type EndpointId } from '../../contract/index.ts'
import type { Move, Need, StepData } from './step-kind.ts'

const moves: Readonly<Partial<Record<EndpointId, Move>>> = {
  'clock.advance': 'clock',
  'clock.set': 'clock',
  'clock.freeze': 'clock',
  'clock.resume': 'clock',
  'faults.add': 'faults',
  'faults.clear': 'faults',
  'faults.remove': 'faults',
  'scenario.use': 'scenario',
  'scenario.clear': 'scenario',
  'projects.update': 'project',
  'sandbox.reset': 'everything',
  'sandbox.import': 'everything',
  'snapshots.restore': 'everything',
}

export function movesOf(id: EndpointId): readonly Move[] {
  const move = moves[id]
  return move === undefined ? [] : [move]
}

export function needsOf(id: EndpointId, step: StepData): readonly Need[] {
  return [
    ...(contract[id]?.stability === 'sandbox' ? (['control'] as const) : []),
    ...(moves[id] === 'everything' ? (['erasable'] as const) : []),
    ...needsOfMembers(step),
  ]
}

/** What the credential and the body of a request step need. */
export function needsOfMembers(step: StepData): readonly Need[] {
  const { key } = step
  const needs: Need[] = []
  const wants = typeof key === 'object' && key !== null ? (key as Record<string, unknown>) : {}
  if (key === 'other' || Object.keys(wants).length > 0) needs.push('control')
  if (key === 'live') needs.push('live_key')
  if (key === 'publishable') needs.push('publishable_key')
  if (JSON.stringify(step).includes('test_outcome')) needs.push('test_key')
  return needs
}
