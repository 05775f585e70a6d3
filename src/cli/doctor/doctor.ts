/** `svc doctor`: this computer and its sandbox, judged by their rules, and the report. */

import type { Rule, RuleFinding, RuleText } from '#diagnosis/rule.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { withCommandName } from '#text/command-name.ts'
import type { Style } from '#text/terminal.ts'
import { hangingLines, plural } from '#text/text.ts'
import type { Machine, SandboxReport } from './machine.ts'
import { agentFileRules, machineRules, sandboxRules } from './rules.ts'

/** `problem`: something does not work. `warning`: it will surprise. `unknown`: it could not be checked. */
type Level = 'ok' | 'warning' | 'problem' | 'unknown'

/** The result of a check. */
export interface Diagnosis {
  group: (typeof groups)[number]
  /** The id of its rule. */
  check: string
  level: Level
  /** The finding, one sentence. */
  message: string
  /** The fix; null when there is nothing to do. */
  fix: string | null
}

type Outcome = Pick<Diagnosis, 'level' | 'message' | 'fix'>

const groups = ['This machine', 'The sandbox'] as const

/** What is checked; without a sandbox that responds, only the computer. */
export interface Gathered {
  machine: Machine
  sandbox: SandboxReport | null
}

/** Runs every check whose facts are available. */
export function diagnose({ machine, sandbox }: Gathered): Diagnosis[] {
  const [ofMachine, ofSandbox] = groups
  const run = <Given>(group: Diagnosis['group'], rules: Readonly<Record<string, Rule<Given>>>, facts: Given) =>
    Object.values(rules).flatMap((rule) =>
      runRule(rule, facts).map(({ fix, ...outcome }) => ({
        ...{ group, check: rule.id, ...outcome },
        fix: fix && withCommandName(fix, machine.command_name),
      })),
    )
  return [
    ...run(ofMachine, machineRules, machine),
    ...(machine.agent_files === null ? [] : run(ofMachine, agentFileRules, machine)),
    ...(sandbox === null ? [] : run(ofSandbox, sandboxRules, sandbox)),
  ]
}

/** Returns what a rule found, or that it holds; nothing where it had nothing to judge. */
export function runRule<Given>(rule: Rule<Given>, facts: Given): Outcome[] {
  const { sample_size, findings, holds = '' } = rule.judge(facts)
  if (sample_size === 0 && findings.length === 0) return []
  return orWell(
    findings.map((finding) => toOutcome(rule, finding)),
    holds,
  )
}

function toOutcome(rule: RuleText, { message, fix = rule.fix, severity = rule.severity }: RuleFinding): Outcome {
  return { level: severity === 'error' ? 'problem' : severity, message, fix }
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
    unknown: count('unknown'),
  }
}

/** How each level is printed, the best first. */
const levels = {
  ok: { symbol: '✓', color: 'green', many: 'ok' },
  warning: { symbol: '!', color: 'yellow', many: 'warnings' },
  problem: { symbol: '✗', color: 'red', many: 'problems' },
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
