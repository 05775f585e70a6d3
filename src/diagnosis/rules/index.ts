/**
 * The rules about integrations. `svc observe` judges an integration by `observeRules`, in this order; the checks of
 * `svc doctor` are selections of them and of its own rules. Rules about the computer are in `machine.ts`, and the rules
 * of `svc beacons lint` in `beacon-file.ts`. Ids are public and permanent.
 */
import { beaconCheckRules, beaconRules } from './beacons/beacons.ts'
import { callbackRules } from './callbacks.ts'
import { consentRules } from './consent.ts'
import { fillCheckRules, fillRules } from './fills.ts'
import { keyRules } from './keys.ts'
import { originRules } from './origins.ts'
import { pageRules, servedRules } from './page.ts'
import { pageAdRules } from './page-ads.ts'
import { personalDataRules } from './personal-data.ts'
import { pollingRules } from './polling.ts'
import { configRules } from './project-config.ts'
import { oldClientRules, requestRules, serviceRules } from './requests.ts'
import { retryRules } from './retries.ts'
import { sessionRules } from './sessions.ts'
import { turnRules } from './turns.ts'

/** Rules about the page, and what it is served. */
export const allPageRules = { ...servedRules, ...pageRules, ...pageAdRules }

/** Rules about requests. */
export const journalRules = {
  ...keyRules,
  ...requestRules,
  ...consentRules,
  ...personalDataRules,
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
