/** `svc doctor`: its checks as selections of rules, their findings, and the report. */

import type { Style } from '#cli/output/terminal.ts'
import { hangingLines, plural } from '#cli/output/text.ts'
import type { ReasonCode } from '#contract/errors.ts'
import { tableNames } from '#foundation/table-entry.ts'
import type { Machine, SandboxReport } from './facts/machine.ts'
import type { RendererSource, ServedFiles } from './facts/served-files.ts'
import { isBeacon, isFrame, type Journal, type RecordedExchange } from './journal.ts'
import type { Facts, Finding, Observed, Rule, RuleText } from './rule.ts'
import { checkableRules } from './rules/index.ts'
import { machineRules, sandboxRules } from './rules/machine.ts'
import { servedRules, sourceRules } from './rules/page.ts'

/**
 * `problem`: something does not work. `warning`: it will surprise. `not_seen`: there was nothing to check, which is not
 * `ok`. `unknown`: it could not be checked.
 */
type Level = 'ok' | 'warning' | 'problem' | 'not_seen' | 'unknown'

/** The result of a check. */
export interface Diagnosis extends Outcome {
  group: string
  check: string
}

interface Outcome {
  level: Level
  /** The finding, one sentence. */
  message: string
  /** The fix; null when there is nothing to do. */
  fix: string | null
}

interface Gathered {
  /** Null when the computer is not checked. */
  machine: Machine | null
  /** Null when no sandbox responds. */
  sandbox: SandboxReport | null
  /** Null without a sandbox, and when one of another version has a journal that cannot be read. */
  journal: Journal | null
  /** Empty when no place was named. */
  served: readonly (ServedFiles & RendererSource)[]
}

const groups = ['This machine', 'The sandbox', "The integration's traffic", 'Served files'] as const

type RuleId = keyof typeof checkableRules

/** A check of an integration: rules under the name that is printed. */
interface Check {
  name: string
  rules: readonly (RuleId | Selection)[]
  /** Printed when nothing was found. */
  holds: string
  /** Printed instead when there was nothing to check. */
  unseen: string
  /** The requests that it checks, when not all. */
  requests?: (exchange: RecordedExchange) => boolean
}

interface Selection {
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

/** What a report of doctor is based on, apart from this computer and the sandbox. */
export interface LookedAt {
  /** Requests of an integration, and callbacks to it. */
  requests: number
  /** Requests to the API that svc itself sent, which are left out. */
  own_requests: number
  /** Served files that were searched for keys. */
  files: number
}

/** Returns how much of an integration a report is based on. */
export function lookedAt({ journal, served }: Pick<Gathered, 'journal' | 'served'>): LookedAt {
  return {
    requests: journal === null ? 0 : journal.exchanges.length + journal.callbacks.length,
    own_requests: journal?.own_requests ?? 0,
    files: served.reduce((sum, { files }) => sum + files, 0),
  }
}

/** Runs every check whose facts are available; without a journal, the result says why. */
export function diagnose({ machine, sandbox, journal, served }: Gathered): Diagnosis[] {
  const [ofMachine, ofSandbox, ofJournal, ofFiles] = groups
  const results = (group: string, check: string, outcomes: readonly Outcome[]) =>
    outcomes.map((outcome) => ({ group, check, ...outcome }))
  const observed = journal === null ? null : { ...journal, is_ended: false, is_whole: false }
  return [
    ...Object.values(machine === null ? {} : machineRules).flatMap((rule) =>
      results(ofMachine, rule.id, runRule(rule, machine!)),
    ),
    ...Object.values(sandbox === null ? {} : sandboxRules).flatMap((rule) =>
      results(ofSandbox, rule.id, runRule(rule, sandbox!)),
    ),
    ...(observed === null || observed.exchanges.length + observed.callbacks.length === 0
      ? results(ofJournal, 'journal', [nothingSeen(sandbox, machine, journal)])
      : checks.flatMap((check) => results(ofJournal, check.name, runCheck(check, observed)))),
    ...served.flatMap((files) => [
      ...results(ofFiles, 'served files', runRule(servedRules['secret-key-served'], files)),
      ...(files.renderer_uses.length === 0
        ? []
        : results(ofFiles, 'stub', runRule(sourceRules['stub-missing'], files))),
    ]),
  ]
}

function nothingSeen(sandbox: SandboxReport | null, machine: Machine | null, read: Journal | null): Outcome {
  const command_name = machine?.command_name ?? sandbox?.command_name ?? 'svc'
  const unknown = (message: string, fix: string): Outcome => ({ level: 'unknown', message, fix })
  if (sandbox === null) {
    const service = machine?.service
    if (typeof service === 'object') {
      const message = 'The sandbox cannot be read, so neither can its journal.'
      return { level: 'unknown', message, fix: service.hint }
    }
    return unknown('No sandbox responds, so its journal cannot be read.', `Start one: ${command_name} start`)
  }
  const { journal, url, version } = sandbox.info
  if (read === null) {
    return unknown(
      `The journal of svc ${version} cannot be read by svc ${sandbox.version}.`,
      `Restart it: ${command_name} sandbox stop, then ${command_name} start`,
    )
  }
  return journal.enabled
    ? unknown(
        `The journal has no requests from an integration.${read.own_requests === 0 ? '' : ` ${plural(read.own_requests, 'request')} of svc itself ${read.own_requests === 1 ? 'is' : 'are'} left out.`}`,
        `Point the integration at ${url}, use it once, and run this again.`,
      )
    : unknown('The journal is off.', 'Start the sandbox without --journal-limit 0.')
}

/** Returns what a rule found, or that it holds. */
export function runRule<Kind extends keyof Facts>(rule: Rule<Kind>, facts: Facts[Kind]): Outcome[] {
  const { sample_size, findings, holds = '' } = rule.judge(facts)
  if (sample_size === 0 && findings.length === 0) return [{ level: 'unknown', message: holds, fix: null }]
  return orWell(
    findings.map((finding) => toOutcome(rule, finding)),
    holds,
  )
}

/** Returns what the rules of a check found, or that they hold. */
export function runCheck({ rules, holds, unseen, requests = () => true }: Check, observed: Observed): Outcome[] {
  const facts = { ...observed, exchanges: observed.exchanges.filter(requests) }
  const judged = rules.map((selected) => {
    const { id, only = () => true, level }: Selection = typeof selected === 'string' ? { id: selected } : selected
    const { sample_size, findings } = checkableRules[id].judge(facts)
    return { sample_size, outcomes: findings.filter(only).map((each) => toOutcome(checkableRules[id], each, level)) }
  })
  const found = judged.flatMap(({ outcomes }) => outcomes)
  if (found.length === 0 && judged.every(({ sample_size }) => sample_size === 0)) {
    return [{ level: 'not_seen', message: unseen, fix: null }]
  }
  return orWell(found, holds)
}

function toOutcome(rule: RuleText, finding: Finding, level?: Level): Outcome {
  const { message, fix = rule.fix, severity = rule.severity, cites_last, requests = [] } = finding
  const last = requests.at(-1)
  return {
    level: level ?? (severity === 'error' ? 'problem' : severity),
    message: cites_last === true && last !== undefined ? `${message} Last: ${last.request_id}.` : message,
    fix,
  }
}

function orWell(outcomes: Outcome[], message: string): Outcome[] {
  return outcomes.length === 0 ? [{ level: 'ok', message, fix: null }] : outcomes
}

export type Summary = Record<Level, number>

export function summarize(results: readonly Diagnosis[]): Summary {
  const count = (level: Level) => results.filter((result) => result.level === level).length
  return {
    ok: count('ok'),
    warning: count('warning'),
    problem: count('problem'),
    not_seen: count('not_seen'),
    unknown: count('unknown'),
  }
}

/** How each level is printed, the best first. */
const levels = {
  ok: { symbol: '✓', color: 'green', many: 'ok' },
  warning: { symbol: '!', color: 'yellow', many: 'warnings' },
  problem: { symbol: '✗', color: 'red', many: 'problems' },
  not_seen: { symbol: '-', color: 'dim', many: 'not seen' },
  unknown: { symbol: '?', color: 'dim', many: 'unknown' },
} as const

/**
 * Returns the results as text: grouped, with a fix below each finding, and a summary. On a terminal, lines fit its
 * width.
 */
export function reportLines(results: readonly Diagnosis[], style: Style): string[] {
  const widest = Math.max(...results.map(({ check }) => check.length))
  const { columns = Number.POSITIVE_INFINITY } = style
  const lines = ({ level, check, message, fix }: Diagnosis) => [
    ...hangingLines(
      `  ${style[levels[level].color](levels[level].symbol)} ${check.padEnd(widest)}  `,
      message,
      columns,
    ),
    ...(fix === null ? [] : hangingLines(`${' '.repeat(widest + 6)}${style.cyan('fix')}: `, fix, columns)),
  ]
  const counts = summarize(results)
  return [
    ...groups.flatMap((group) => {
      const own = results.filter((result) => result.group === group)
      return own.length === 0 ? [] : [style.bold(group), ...own.flatMap(lines), '']
    }),
    tableNames(counts)
      .filter((level) => level === 'ok' || counts[level] > 0)
      .map((level) => style[levels[level].color](plural(counts[level], level.replace('_', ' '), levels[level].many)))
      .join(', '),
  ]
}
