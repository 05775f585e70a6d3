/**
 * The rules about integrations: `svc observe` judges by them, in this order. Rules about the computer are in
 * `machine.ts`, and those of `svc beacons lint` in `beacons/file.ts`. Ids are public and permanent.
 */
import { beaconRules } from './beacons/beacons.ts'
import { callbackRules } from './callbacks.ts'
import { consentRules } from './consent.ts'
import { fillRules } from './fills.ts'
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
  ...originRules,
  ...configRules,
  ...requestRules,
  ...oldClientRules,
  ...serviceRules,
  ...consentRules,
  ...personalDataRules,
  ...sessionRules,
  ...pollingRules,
  ...callbackRules,
  ...retryRules,
  ...fillRules,
  ...beaconRules,
  ...turnRules,
}

export const observeRules = { ...allPageRules, ...journalRules }

export type PageRuleId = keyof typeof allPageRules
export type JournalRuleId = keyof typeof journalRules
