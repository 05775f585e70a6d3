/** `svc doctor`: its checks as selections of rules, what they find, and the report of it. */
import type { Style } from '../cli/output/style.ts'
import type { ReasonCode } from '../contract/errors.ts'
import { type Exchange, isBeacon, isFrame, type Journal } from './exchange.ts'
import type { Machine } from './facts/machine.ts'
import type { SandboxFacts } from './facts/sandbox.ts'
import type { ServedFiles } from './facts/served-files.ts'
import type { Facts, Finding, Judgement, Observed, Rule } from './rule.ts'
import { beaconCheckRules, beaconRules } from './rules/beacons.ts'
import { consentRules } from './rules/consent.ts'
import { fillCheckRules, fillRules } from './rules/fills.ts'
import { configRules, keyRules } from './rules/keys.ts'
import { machineRules, sandboxRules } from './rules/machine.ts'
import { originRules } from './rules/origins.ts'
import { servedRules } from './rules/page.ts'
import { pollingRules } from './rules/polling.ts'
import { requestRules } from './rules/requests.ts'
import { retryRules } from './rules/retries.ts'
import { sessionRules } from './rules/sessions.ts'

export const levels = ['ok', 'warning', 'problem', 'unknown'] as const
/** `problem`: something does not work. `warning`: it will surprise. `unknown`: it could not be looked at. */
export type Level = (typeof levels)[number]

/** What a check found, or that all is well. */
export interface Diagnosis extends Outcome {
  group: string
  check: string
}

export interface Outcome {
  level: Level
  /** What is the case, one sentence. */
  message: string
  /** What to do; null when there is nothing to do. */
  fix: string | null
}

export interface Gathered {
  machine: Machine
  /** Null when no sandbox answers. */
  sandbox: SandboxFacts | null
  journal: Journal | null
  /** Empty when no place was named. */
  served: readonly ServedFiles[]
}

export const groups = ['This machine', 'The sandbox', "The integration's traffic", 'Served files'] as const

/** A check over one kind of facts: rules under the name that is printed. */
export interface Check<Kind extends keyof Facts> {
  name: string
  rules: readonly Selection<Kind>[]
  /** Printed when nothing was found; without it the judgement of its rule says it. */
  holds?: string
  /** Printed when there was nothing to look at. */
  unseen?: string
}

export interface JournalCheck extends Check<'journal'> {
  /** The requests that it looks at, when not all. */
  requests?: (exchange: Exchange) => boolean
}

interface Selection<Kind extends keyof Facts> {
  rule: Rule<Kind>
  /** The findings that belong to this check, when not all. */
  only?: (finding: Finding) => boolean
  /** The level of its findings, when not that of their severity. */
  level?: Level
}

const because =
  (...reasons: readonly ReasonCode[]) =>
  ({ reason }: Finding) =>
    reason !== undefined && reasons.includes(reason)

/** That an activation token expires is no mistake of the integration. */
const wrongKey: readonly ReasonCode[] = [
  'key_class',
  'publishable_key_malformed',
  'token_in_wrong_place',
  'key_unknown',
  'key_revoked',
  'credential_missing',
]

const isAboutFrames = ({ requests = [] }: Finding) => requests.every(isFrame)

const machineChecks = Object.values(machineRules).map((rule) => ({ name: rule.id, rules: [{ rule }] }))
const sandboxChecks = Object.values(sandboxRules).map((rule) => ({ name: rule.id, rules: [{ rule }] }))

/** Checks of what an integration did. The five points to check when migrating come first. */
export const journalChecks: readonly JournalCheck[] = [
  {
    name: 'key type',
    rules: [
      { rule: keyRules['credential-refused'], only: because(...wrongKey) },
      { rule: keyRules['secret-key-in-browser'], only: because('secret_key_in_browser') },
      { rule: keyRules['test-outcome-live'] },
      { rule: keyRules['secret-key-in-browser'], only: ({ reason }) => reason === undefined, level: 'warning' },
    ],
    holds: 'Every request came with a kind of key that its endpoint takes.',
  },
  {
    name: 'allowed origins',
    rules: [
      { rule: keyRules['origin-refused'] },
      { rule: sessionRules['token-mixed'], only: because('origin_mismatch') },
    ],
    holds: 'No origin was refused.',
  },
  {
    name: 'project config',
    rules: [
      { rule: keyRules['wrong-project'] },
      { rule: configRules['config-not-found'] },
      { rule: configRules['config-unread'] },
      { rule: configRules['config-stale'] },
    ],
    holds: 'No request named a project of another key, and no old config is in use.',
  },
  {
    name: 'beacon fields',
    rules: [
      { rule: requestRules['unknown-fields'] },
      { rule: requestRules['request-refused'], only: because('schema_invalid', 'batch_not_supported') },
      { rule: beaconRules['beacon-clock'] },
      { rule: requestRules['content-type'] },
      { rule: requestRules['old-names'] },
    ],
    requests: isBeacon,
    holds: 'Every beacon had the names of the contract.',
    unseen: 'No beacon was sent to the API.',
  },
  {
    name: 'error envelopes',
    rules: [
      { rule: retryRules['retry-after-ignored'] },
      // Who migrates reads the error body wrong: that is more than a wasted request.
      { rule: retryRules['retried-in-vain'], level: 'problem' },
    ],
    holds: 'No failed request was repeated too soon or in vain.',
  },
  {
    name: 'polling',
    rules: [{ rule: pollingRules['pending-given-up'] }],
    holds: 'Every pending slot was asked for again.',
  },
  {
    name: 'no-fill',
    rules: [{ rule: retryRules['no-fill-retried'] }],
    holds: 'No no-fill was asked for again at once.',
  },
  {
    name: 'expired decisions',
    rules: [
      { rule: fillCheckRules['fill-expired'] },
      { rule: fillRules['expired-ad'] },
      { rule: consentRules['shown-after-withdrawal'], only: isAboutFrames },
    ],
    holds: 'No fill expired unseen, and no frame was refused.',
  },
  {
    name: 'render beacons',
    rules: [{ rule: beaconCheckRules['frame-silent'] }],
    holds: 'Every loaded frame was reported as rendered.',
    unseen: 'No frame was loaded yet.',
  },
  {
    name: 'fills',
    rules: [{ rule: fillCheckRules['fills-never-shown'] }],
    holds: 'Fills are shown.',
    unseen: 'No fill is older than a few seconds.',
  },
  {
    name: 'local network access',
    rules: [{ rule: originRules['local-network'] }],
    holds: 'Every page that was seen is served from this machine.',
    unseen: 'No page was seen; nothing to say.',
  },
]

export const servedCheck: Check<'served'> = {
  name: 'served files',
  rules: [{ rule: servedRules['secret-key-served'] }],
}

/** Runs every check for which there are facts, and says so of the others. */
export function diagnose({ machine, sandbox, journal, served }: Gathered): Diagnosis[] {
  const [ofMachine, ofSandbox, ofJournal, ofFiles] = groups
  const observed = journal === null ? null : { ...journal, is_ended: false, is_whole: false }
  const results = (group: string, check: string, outcomes: readonly Outcome[]) =>
    outcomes.map((outcome) => ({ group, check, ...outcome }))
  return [
    ...machineChecks.flatMap((check) => results(ofMachine, check.name, runCheck(check, machine))),
    ...(sandbox === null
      ? []
      : sandboxChecks.flatMap((check) => results(ofSandbox, check.name, runCheck(check, sandbox)))),
    ...(observed === null || observed.exchanges.length === 0
      ? results(ofJournal, 'journal', [nothingSeen(sandbox, machine)])
      : journalChecks.flatMap((check) => results(ofJournal, check.name, runJournalCheck(check, observed)))),
    ...served.flatMap((files) => results(ofFiles, servedCheck.name, runCheck(servedCheck, files))),
  ]
}

function nothingSeen(sandbox: SandboxFacts | null, { command_name }: Machine): Outcome {
  const unknown = (message: string, fix: string): Outcome => ({ level: 'unknown', message, fix })
  if (sandbox === null) {
    return unknown('No sandbox answers, so its journal cannot be read.', `Start one: ${command_name} start`)
  }
  const { journal, url } = sandbox.info
  return journal.enabled
    ? unknown('The journal holds no request.', `Point the integration at ${url}, use it once, and look again.`)
    : unknown('The journal is off.', 'Start the sandbox without --journal-limit 0.')
}

export function runJournalCheck({ requests, ...check }: JournalCheck, observed: Observed): Outcome[] {
  const exchanges = requests === undefined ? observed.exchanges : observed.exchanges.filter(requests)
  return runCheck(check, { ...observed, exchanges })
}

/** Returns what a check found, or one line that says that all is well. */
export function runCheck<Kind extends keyof Facts>(
  { rules, holds, unseen }: Omit<Check<Kind>, 'name'>,
  facts: Facts[Kind],
): Outcome[] {
  const judged = rules.map((selection) => ({ ...selection, judgement: selection.rule.judge(facts) }))
  const found = judged.flatMap(({ rule, only = () => true, level, judgement }) =>
    judgement.findings.filter(only).map((finding) => ({
      level: level ?? levelOf(finding.severity ?? rule.severity),
      message: finding.message + citation(finding),
      fix: finding.fix ?? rule.fix,
    })),
  )
  if (found.length > 0) return found
  const judgements = judged.map(({ judgement }) => judgement)
  return [{ level: 'ok', message: wellText(judgements, holds, unseen), fix: null }]
}

function levelOf(severity: NonNullable<Finding['severity']>): Level {
  return severity === 'error' ? 'problem' : severity
}

/** Names the newest request, when the message names nothing. */
function citation({ cites_last, requests = [] }: Finding): string {
  return cites_last === true && requests.length > 0 ? ` Last: ${requests.at(-1)!.request_id}.` : ''
}

function wellText(judgements: readonly Judgement[], holds: string | undefined, unseen: string | undefined): string {
  const isUnseen = judgements.every(({ looked_at }) => looked_at === 0)
  return (isUnseen ? unseen : undefined) ?? holds ?? judgements[0]?.holds ?? ''
}

const symbols: Readonly<Record<Level, string>> = { ok: '✓', warning: '!', problem: '✗', unknown: '?' }

export type Summary = Record<Level, number>

export function summaryOf(results: readonly Diagnosis[]): Summary {
  const count = (level: Level) => results.filter((result) => result.level === level).length
  return { ok: count('ok'), warning: count('warning'), problem: count('problem'), unknown: count('unknown') }
}

/** Returns the results as text: grouped, with one line for each fix, and a summary. */
export function reportLines(results: readonly Diagnosis[], style: Style): string[] {
  const width = Math.max(...results.map(({ check }) => check.length))
  return [
    ...groups.flatMap((group) => {
      const own = results.filter((result) => result.group === group)
      return own.length === 0 ? [] : [style.bold(group), ...own.flatMap((result) => lines(result, width, style)), '']
    }),
    summaryLine(summaryOf(results), style),
  ]
}

function lines({ level, check, message, fix }: Diagnosis, width: number, style: Style): string[] {
  const margin = ' '.repeat(width + 6)
  return [
    `  ${paint(level, symbols[level], style)} ${check.padEnd(width)}  ${message}`,
    ...(fix === null ? [] : [`${margin}${style.cyan('fix')}: ${fix}`]),
  ]
}

function summaryLine(summary: Summary, style: Style): string {
  const words: Record<Level, string> = {
    ok: 'ok',
    warning: summary.warning === 1 ? 'warning' : 'warnings',
    problem: summary.problem === 1 ? 'problem' : 'problems',
    unknown: 'not known',
  }
  return levels
    .filter((level) => level === 'ok' || summary[level] > 0)
    .map((level) => paint(level, `${summary[level]} ${words[level]}`, style))
    .join(', ')
}

function paint(level: Level, text: string, style: Style): string {
  const paints = { ok: style.green, warning: style.yellow, problem: style.red, unknown: style.dim }
  return paints[level](text)
}
