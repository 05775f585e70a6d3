import type { ReasonCode } from '#contract/errors.ts'
import { isBeacon, isFrame, type JournaledExchange } from './exchange.ts'
import type { Machine, SandboxReport } from './facts/machine.ts'
import type { RendererSource, ServedFiles } from './facts/served-files.ts'
import type { Journal } from './journal.ts'
import type { Finding } from './rule.ts'
import type { checkableRules } from './rules/index.ts'

/**
 * `problem`: something does not work. `warning`: it will surprise. `not_seen`: there was nothing to check, which is not
 * `ok`. `unknown`: it could not be checked.
 */
export type Level = 'ok' | 'warning' | 'problem' | 'not_seen' | 'unknown'

export interface Outcome {
  level: Level
  /** The finding, one sentence. */
  message: string
  /** The fix; null when there is nothing to do. */
  fix: string | null
}

export interface Gathered {
  /** Null when the computer is not checked. */
  machine: Machine | null
  /** Null when no sandbox responds. */
  sandbox: SandboxReport | null
  /** Null without a sandbox, and when one of another version has a journal that cannot be read. */
  journal: Journal | null
  /** Empty when no place was named. */
  served: readonly (ServedFiles & RendererSource)[]
}

export const groups = ['This machine', 'The sandbox', "The integration's traffic", 'Served files'] as const

type RuleId = keyof typeof checkableRules

/** A check of an integration: rules under the name that is printed. */
export interface Check {
  name: string
  rules: readonly (RuleId | Selection)[]
  /** Printed when nothing was found. */
  holds: string
  /** Printed instead when there was nothing to check. */
  unseen: string
  /** The requests that it checks, when not all. */
  requests?: (exchange: JournaledExchange) => boolean
}

export interface Selection {
  id: RuleId
  /** The findings that belong to this check, when not all. */
  only?: (finding: Finding) => boolean
  /** The level of its findings, when it does not follow from their severity. */
  level?: Level
}

const refusedFor =
  (...reasons: readonly ReasonCode[]) =>
  ({ reason }: Finding) =>
    reason !== undefined && reasons.includes(reason)

/** Leaves out expired activation tokens: a page that activates again has made no mistake. */
const refusedForKey = refusedFor(
  'activation_token_invalid',
  'key_class',
  'publishable_key_malformed',
  'token_in_wrong_place',
  'key_unknown',
  'key_revoked',
  'credential_missing',
)

/** Whether an ad was mounted more than once. A frame that is loaded again may be a reload while you look at it. */
function isMountedAgain({ requests = [] }: Finding): boolean {
  const renders = requests.filter(isBeacon)
  return renders.length > new Set(renders.map(({ slot_id }) => slot_id)).size
}

/** The five points to check when migrating come first. */
export const checks: readonly Check[] = [
  {
    name: 'key type',
    rules: [
      { id: 'credential-refused', only: refusedForKey },
      { id: 'credential-refused', only: refusedFor('activation_token_expired'), level: 'warning' },
      { id: 'secret-key-in-browser', only: refusedFor('secret_key_in_browser') },
      'test-outcome-live',
      { id: 'secret-key-in-browser', only: ({ reason }) => reason === undefined, level: 'warning' },
      'live-key',
    ],
    holds: 'Every request had a kind of key that its endpoint accepts.',
    unseen: 'No request had a key.',
  },
  {
    name: 'allowed origins',
    rules: ['origin-refused', { id: 'token-mixed', only: refusedFor('origin_mismatch') }],
    holds: 'No origin was refused.',
    unseen: 'No page sent a request.',
  },
  {
    name: 'project config',
    rules: ['wrong-project', 'config-not-found', 'config-unread', 'config-stale'],
    holds: "No request named another key's project, and no old config is in use.",
    unseen: 'No request named a project.',
  },
  {
    name: 'endpoints',
    rules: ['path-unknown'],
    holds: 'Every request went to an endpoint of the contract.',
    unseen: 'No program sent a request.',
  },
  {
    name: 'old clients',
    rules: ['deprecated-route'],
    holds: 'No client uses a deprecated route.',
    unseen: 'No client sent a request.',
  },
  {
    name: 'request fields',
    rules: ['unknown-fields', 'request-refused', 'content-type'],
    requests: (exchange) => !isBeacon(exchange),
    holds: 'Every request had the fields and values of the contract.',
    unseen: 'Only beacons were sent to the API.',
  },
  {
    name: 'beacon fields',
    rules: [
      'unknown-fields',
      'request-refused',
      { id: 'token-mixed', only: refusedFor('asset_token_invalid', 'slot_mismatch') },
      'beacon-clock',
      'content-type',
      'old-names',
    ],
    requests: isBeacon,
    holds: 'Every beacon had the names of the contract.',
    unseen: 'No beacon was sent to the API.',
  },
  {
    name: 'consent',
    rules: [
      'consent-missing',
      { id: 'shown-after-withdrawal', only: ({ requests = [] }) => requests.every(isBeacon) },
      'asked-after-denial',
      'text-without-consent',
      'text-not-shared',
    ],
    holds: 'No request or beacon was refused because of consent, and no text was sent without it.',
    unseen: 'No request needed consent.',
  },
  {
    name: 'personal data',
    rules: ['personal-data-sent'],
    holds: 'No session id, topic, metadata or label seems to contain personal data.',
    unseen: 'No request had a session, a topic or metadata.',
  },
  {
    name: 'sessions',
    rules: ['session-missing', 'session-for-all', 'activation-per-request'],
    holds: 'Every request for an ad named a session, and no activation token was thrown away.',
    unseen: 'No ad was requested.',
  },
  {
    name: 'error envelopes',
    // A client that misreads the error body: when you migrate, that is more than a wasted request.
    rules: ['retry-after-ignored', { id: 'retried-in-vain', level: 'problem' }, 'retry-without-backoff'],
    holds: 'No failed request was repeated too soon or in vain.',
    unseen: 'No request failed.',
  },
  {
    name: 'failures',
    rules: ['service-failed'],
    holds: 'No request failed inside the sandbox.',
    unseen: 'No request was sent.',
  },
  {
    name: 'polling',
    rules: ['pending-given-up', 'polled-once', 'busy-polling', 'polled-after-ready'],
    holds: 'Every pending slot was polled until it was decided.',
    unseen: 'No slot was pending.',
  },
  {
    name: 'callbacks',
    rules: ['callback-failing'],
    holds: 'Every callback was delivered.',
    unseen: 'No job asked for a callback.',
  },
  {
    name: 'no-fill',
    rules: ['no-fill-retried'],
    holds: 'No request was repeated right after a no-fill.',
    unseen: 'There was no no-fill.',
  },
  {
    name: 'expired decisions',
    rules: [
      'fill-expired',
      'expired-ad',
      'beacon-expired',
      { id: 'shown-after-withdrawal', only: ({ requests = [] }) => requests.every(isFrame) },
    ],
    holds: 'No fill expired before it was shown, and no frame was refused.',
    unseen: 'There was no fill.',
  },
  {
    name: 'render beacons',
    rules: ['frame-silent', 'beacon-lost'],
    holds: 'Every loaded frame was reported as rendered.',
    unseen: 'No frame was loaded more than a few seconds ago.',
  },
  {
    name: 'beacon order',
    rules: ['beacon-before-render', 'beacon-doubled', 'beacon-repeated'],
    holds: 'Every beacon was sent once, after the render beacon of its ad.',
    unseen: 'No beacon was accepted.',
  },
  {
    name: 'views',
    rules: [
      'view-not-counted',
      { id: 'shown-twice', only: isMountedAgain, level: 'warning' },
      'frame-without-room',
      'ads-never-seen',
    ],
    holds: 'Every reported view counts.',
    unseen: 'No view has been reported yet.',
  },
  {
    name: 'turns',
    rules: ['turn-asked-again', 'counted-twice', 'lost-on-remount', 'two-in-one-slot'],
    holds: 'Every turn has one placement, in one slot, and counts once.',
    unseen: 'No ad has been reported yet.',
  },
  {
    name: 'slot size',
    rules: ['slot-hint-misfit'],
    holds: 'A creative fits every slot_hint.',
    unseen: 'No placement had a slot_hint.',
  },
  {
    name: 'fills',
    rules: ['fills-never-shown'],
    holds: 'Fills are shown.',
    unseen: 'No fill that is still valid is older than a few seconds.',
  },
  {
    name: 'local network access',
    rules: ['local-network'],
    holds: 'Every page that called the service is served from this machine.',
    unseen: 'No page called the service.',
  },
]

/** Returns the ids of the rules about requests that doctor runs. */
export function rulesOfDoctor(): Set<string> {
  return new Set(checks.flatMap(({ rules }) => rules.map((rule) => (typeof rule === 'string' ? rule : rule.id))))
}
