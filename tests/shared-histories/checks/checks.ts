/** What every history of nodes that share a database has to keep, whatever happened to them. */
import type { ExportedState, FinalState } from '../final-state.ts'
import { type History, pickKind } from '../history.ts'
import { checkBeacons } from './beacons.ts'
import { checkCallbacks } from './callbacks.ts'
import { checkChains } from './chains.ts'
import { checkConsent } from './consent.ts'
import { checkDecisions } from './decisions.ts'
import { checkEvents } from './events.ts'
import { describe } from './known.ts'
import { checkSettings } from './settings.ts'

export interface Problem {
  check: keyof typeof checks
  text: string
}

const checks = {
  beacons: checkBeacons,
  decisions: checkDecisions,
  consent: checkConsent,
  chains: checkChains,
  events: checkEvents,
  settings: checkSettings,
  callbacks: checkCallbacks,
  responses: checkResponses,
}

/**
 * @param exported the final state as one node exported it
 * @param reported the same as another one reported it
 */
export function checkHistory(history: History, exported: ExportedState, reported: FinalState): Problem[] {
  const problems = Object.entries(checks).flatMap(([check, find]) =>
    find(history, exported).map((text): Problem => ({ check: check as keyof typeof checks, text })),
  )
  return [...problems, ...compareStates(exported, reported).map((text): Problem => ({ check: 'responses', text }))]
}

/** Whatever fails is a 503 that may be sent again; and nothing that these clients send is wrong. */
function checkResponses(history: History): string[] {
  const bad = history.operations.flatMap(({ outcome, ...operation }) => {
    const name = `${describe({ outcome, ...operation })}, ${operation.action.kind},`
    if (outcome.kind === 'unknown' && /^5(?!03)/.test(outcome.why)) return [`${name} is answered with ${outcome.why}`]
    const isRefusable = operation.action.kind === 'beacon'
    if (outcome.kind !== 'refused' || isRefusable) return []
    return [`${name} is refused with ${outcome.status} ${JSON.stringify(outcome.body)}`]
  })
  const isEmpty = pickKind(history, 'place').every(({ outcome }) => outcome.kind !== 'done')
  return isEmpty ? [...bad, 'no placement was acknowledged: there is nothing to check'] : bad
}

/** All nodes report the same state. */
function compareStates(exported: FinalState, reported: FinalState): string[] {
  const texts = ({ slots, beacons, consents, chains, revisions, callbacks }: FinalState) => ({
    slots: slots.map(({ slot_id, client_id, session_id, fill, format }) =>
      [slot_id, client_id, session_id, fill, format].join(' '),
    ),
    beacons: beacons.map(({ slot_id, beacon_id, event }) => [slot_id, beacon_id, event].join(' ')),
    consents: consents.map(({ client_id, session_id, revision, lifecycle_state, semantic_targeting }) =>
      [client_id, session_id, revision, lifecycle_state, semantic_targeting].join(' '),
    ),
    chains: [...chains].flatMap(([project, chain]) => chain.map(({ seq, hash }) => [project, seq, hash].join(' '))),
    revisions: [...revisions].map((pair) => pair.join(' ')),
    callbacks: callbacks.map(({ slot_id, status }) => [slot_id, status].join(' ')),
  })
  const [one, other] = [texts(exported), texts(reported)]
  return (Object.keys(one) as (keyof typeof one)[]).flatMap((name) => {
    const [mine, theirs] = [new Set(one[name]), new Set(other[name])]
    const only = [...one[name], ...other[name]].find((text) => !mine.has(text) || !theirs.has(text))
    return only === undefined ? [] : [`two nodes report different ${name}: ${only}`]
  })
}
