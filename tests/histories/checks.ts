/** What every history has to keep, of one process or of nodes that share a database, whatever happened to them. */
import { checkBeacons } from './checks/beacons.ts'
import { checkBilling } from './checks/billing.ts'
import { checkCallbacks } from './checks/callbacks.ts'
import { checkCaps } from './checks/caps.ts'
import { checkChains } from './checks/chains.ts'
import { checkConsent } from './checks/consent.ts'
import { checkDecisions } from './checks/decisions.ts'
import { checkEvents } from './checks/events.ts'
import { checkSettings } from './checks/settings.ts'
import { checkTokens } from './checks/tokens.ts'
import type { History } from './history.ts'
import type { State } from './state.ts'

const checks = {
  beacons: checkBeacons,
  decisions: checkDecisions,
  consent: checkConsent,
  chains: checkChains,
  events: checkEvents,
  settings: checkSettings,
  callbacks: checkCallbacks,
  caps: checkCaps,
  tokens: checkTokens,
  billing: checkBilling,
}

export type CheckName = keyof typeof checks

export interface Problem<Check extends string = CheckName> {
  check: Check
  text: string
}

/** Returns what a history breaks, as a comparison with the state after it shows. */
export function checkHistory(history: History, state: State): Problem[] {
  return (Object.entries(checks) as [CheckName, (typeof checks)[CheckName]][]).flatMap(([check, find]) =>
    find(history, state).map((text) => ({ check, text })),
  )
}
