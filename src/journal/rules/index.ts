/**
 * The rule set. `svc qa observe` judges an integration by `observeRules`, in this order; the checks of `svc doctor` are
 * selections of them, of the rules for itself alone and of those about the computer; `svc beacons lint` has the rules about
 * files. Ids are public and permanent.
 */
import type { AnyRule } from '../rule.ts'
import { beaconFileRules, beaconSlotRules } from './beacon-file.ts'
import { beaconCheckRules, beaconRules } from './beacons.ts'
import { consentRules } from './consent.ts'
import { fillCheckRules, fillRules } from './fills.ts'
import { configRules, keyRules } from './keys.ts'
import { machineRules, sandboxRules } from './machine.ts'
import { originRules } from './origins.ts'
import { pageRules, servedRules } from './page.ts'
import { pollingRules } from './polling.ts'
import { requestRules } from './requests.ts'
import { retryRules } from './retries.ts'
import { sessionRules } from './sessions.ts'

/** Rules about the page, and what it is served. */
export const allPageRules = { ...servedRules, ...pageRules }

/** Rules about requests. */
export const journalRules = {
  ...keyRules,
  ...requestRules,
  ...consentRules,
  ...sessionRules,
  ...pollingRules,
  ...retryRules,
  ...fillRules,
  ...beaconRules,
}

export const observeRules = { ...allPageRules, ...journalRules }

/** Rules about requests for `svc doctor` alone. */
const doctorRules = { ...configRules, ...originRules, ...fillCheckRules, ...beaconCheckRules }

/** All that a check of `svc doctor` may select. */
export const checkableRules = { ...journalRules, ...doctorRules }

export type PageRuleId = keyof typeof allPageRules
export type JournalRuleId = keyof typeof journalRules

/** Every rule. */
export const rules: readonly AnyRule[] = [
  ...Object.values(observeRules),
  ...Object.values(doctorRules),
  ...Object.values({ ...machineRules, ...sandboxRules }),
  ...Object.values({ ...beaconFileRules, ...beaconSlotRules }),
]
