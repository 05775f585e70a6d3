/** `svc doctor`: its checks as selections of rules, their findings, and the report. */
import type { Style } from '#cli/output/terminal.ts'
import { hangingLines, plural } from '#cli/output/text.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { type Check, checks, type Gathered, groups, type Level, type Outcome, type Selection } from './checks.ts'
import type { Machine, SandboxReport } from './facts/machine.ts'
import type { Journal } from './journal.ts'
import type { Facts, Finding, Observed, Rule, RuleText } from './rule.ts'
import { checkableRules } from './rules/index.ts'
import { agentFileRules, machineRules, sandboxRules } from './rules/machine.ts'
import { servedRules, sourceRules } from './rules/page.ts'

/** The result of a check. */
export interface Diagnosis extends Outcome {
  group: string
  check: string
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
    ...(machine === null || machine.agent_files === null
      ? []
      : results(ofMachine, 'agent files', runRule(agentFileRules['agent files'], machine))),
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
