/**
 * The rules about integrations. `svc qa observe` judges an integration by `observeRules`, in this order; the checks of
 * `svc doctor` are selections of them and of its own rules. Rules about the computer are in `machine.ts`, and the rules
 * of `svc beacons lint` in `beacon-file.ts`. Ids are public and permanent.
 */
import { beaconCheckRules, beaconRules, fillCheckRules, fillRules } from './beacons.ts'
import { consentRules, sessionRules } from './consent.ts'
import { configRules, keyRules, originRules } from './keys.ts'
import { pageRules, servedRules } from './page.ts'
import { callbackRules, oldClientRules, requestRules, serviceRules } from './requests.ts'
import { pollingRules, retryRules } from './retries.ts'
import { turnRules } from './turns.ts'

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
  ...turnRules,
}

export const observeRules = { ...allPageRules, ...journalRules }

/** All rules that a check of `svc doctor` can select, including its own rules about requests. */
export const checkableRules = {
  ...journalRules,
  ...configRules,
  ...oldClientRules,
  ...serviceRules,
  ...callbackRules,
  ...originRules,
  ...fillCheckRules,
  ...beaconCheckRules,
}

export type PageRuleId = keyof typeof allPageRules
export type JournalRuleId = keyof typeof journalRules
