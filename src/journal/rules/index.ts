/** Every rule about traffic, in the order of the report. Their names are for good: reports and suppressions know them. */
import type { Rule } from '../rule.ts'
import {
  beaconBeforeRender,
  beaconClock,
  beaconDoubled,
  beaconExpired,
  beaconMissing,
  beaconRepeated,
  tokenMixed,
} from './beacons.ts'
import { askedAfterDenial, consentMissing, shownAfterWithdrawal, textNotShared, textWithoutConsent } from './consent.ts'
import { expiredAd, fillUnused, shownTwice, slotHintMisfit } from './fills.ts'
import { credentialRefused, liveKey, originRefused, secretKeyInBrowser, testOutcomeLive, wrongProject } from './keys.ts'
import { busyPolling, pendingGivenUp, polledAfterReady, polledOnce } from './polling.ts'
import { contentType, oldNames, requestRefused, unknownFields } from './requests.ts'
import { noFillRetried, retriedInVain, retryAfterIgnored, retryWithoutBackoff } from './retries.ts'
import { activationPerRequest, sessionForAll, sessionMissing, tokenShared } from './sessions.ts'

export const trafficRules = {
  'secret-key-in-browser': secretKeyInBrowser,
  'credential-refused': credentialRefused,
  'origin-refused': originRefused,
  'wrong-project': wrongProject,
  'test-outcome-live': testOutcomeLive,
  'live-key': liveKey,
  'unknown-fields': unknownFields,
  'request-refused': requestRefused,
  'content-type': contentType,
  'old-names': oldNames,
  'consent-missing': consentMissing,
  'asked-after-denial': askedAfterDenial,
  'shown-after-withdrawal': shownAfterWithdrawal,
  'text-without-consent': textWithoutConsent,
  'text-not-shared': textNotShared,
  'session-missing': sessionMissing,
  'session-for-all': sessionForAll,
  'activation-per-request': activationPerRequest,
  'token-shared': tokenShared,
  'token-mixed': tokenMixed,
  'pending-given-up': pendingGivenUp,
  'polled-once': polledOnce,
  'busy-polling': busyPolling,
  'polled-after-ready': polledAfterReady,
  'no-fill-retried': noFillRetried,
  'retry-after-ignored': retryAfterIgnored,
  'retry-without-backoff': retryWithoutBackoff,
  'retried-in-vain': retriedInVain,
  'fill-unused': fillUnused,
  'expired-ad': expiredAd,
  'shown-twice': shownTwice,
  'slot-hint-misfit': slotHintMisfit,
  'beacon-missing': beaconMissing,
  'beacon-doubled': beaconDoubled,
  'beacon-repeated': beaconRepeated,
  'beacon-before-render': beaconBeforeRender,
  'beacon-clock': beaconClock,
  'beacon-expired': beaconExpired,
} as const satisfies Record<string, Rule>

export type TrafficRuleName = keyof typeof trafficRules
