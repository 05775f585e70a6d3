/**
 * Applies `svc.observe.yaml` to what a command found: `observe`, `qa hosts`, `beacons lint`, `contract check`. Entries that
 * no longer hold are findings too, at their place in the file.
 */
import type { SourceLocation } from '#foundation/finding.ts'
import type { AppliedFile, CaseResult, RunResult, StepResult } from '#qa/result.ts'
import type { LintFinding } from '../lint.ts'
import { toFileCase } from '../lint-run.ts'
import type { RuleText } from '../rule.ts'
import type { AcceptEntry, ObserveFile, OffEntry } from './observe-file.ts'

/** A finding of any of the commands. */
export interface Found<Item> {
  /** With its suite: `observe/pending-given-up`. */
  rule: string
  /** What it is about, the same in every run: `POST /v1/placements`. */
  where: string
  /** One or two sentences. */
  message: string
  /** The id of its case in reports; by default that of the rule. */
  case_id?: string
  /** In a file of the project, where there is one. */
  place?: SourceLocation
  item: Item
}

/** What is left of the findings of a command, and what became of the others. */
export interface Applied<Item> {
  /** Null without a file: then nothing else is there. */
  file: ObserveFile | null
  /** Neither accepted nor of a rule that is off. */
  kept: readonly Item[]
  accepted: readonly { found: Found<Item>; entry: AcceptEntry }[]
  /** Rules of this command that are off. */
  off: readonly OffEntry[]
  /** About the file, in the order of its lines. */
  findings: readonly LintFinding[]
}

interface Judged {
  /** Epoch milliseconds of the system clock: `until` is a day of the calendar. */
  now_ms: number
  /** Whether the command had something to judge such a finding by: then it does not occur when it was not found. */
  isJudged(entry: AcceptEntry): boolean
  /** The suite of the command: `observe`. */
  suite: string
  /** Findings about planned placements, for a command that sees placements. */
  planned?: readonly LintFinding[]
}

const dayMs = 86_400_000

/** Rules about the file itself. */
const fileRules = {
  'accepted-gone': {
    title: 'every accepted finding still occurs',
    severity: 'error',
    fix: 'Remove the entry: what it accepts would come back unseen.',
  },
  'accepted-expired': {
    title: 'no acceptance has passed its day',
    severity: 'error',
    fix: 'Correct what it accepts. Or give it a later day, with the reason.',
  },
  'planned-unseen': {
    title: 'every planned placement is seen',
    severity: 'error',
    fix: 'Request it in what is observed. Or remove it from expect.',
  },
  'unplanned-seen': {
    title: 'every placement that is seen is planned',
    severity: 'error',
    fix: 'Add it to expect. Or do not request it.',
  },
} as const satisfies Readonly<Record<string, Omit<RuleText, 'id'>>>

/** Returns a finding of one of these rules. */
export function fileFinding(
  code: keyof typeof fileRules,
  at: { line: number; column: number },
  message: string,
): LintFinding {
  const { severity, fix } = fileRules[code]
  return { line: at.line, column: at.column, severity, code, path: null, message, fix }
}

/** Applies a file to the findings of a command. Without one, all are kept. */
export function applyObserveFile<Item>(
  file: ObserveFile | null,
  found: readonly Found<Item>[],
  { now_ms, isJudged, suite, planned = [] }: Judged,
): Applied<Item> {
  if (file === null) return { file, kept: found.map(({ item }) => item), accepted: [], off: [], findings: [] }
  const own = file.accept.filter(({ rule }) => rule.startsWith(`${suite}/`))
  const off = file.off.filter(({ rule }) => rule.startsWith(`${suite}/`))
  const isOff = (rule: string) => off.some((entry) => entry.rule === rule)
  const judged = found.filter(({ rule }) => !isOff(rule))
  const matching = new Map(judged.map((each) => [each, own.filter((entry) => matches(entry, each))]))
  const used = new Set([...matching.values()].flat())
  const accepted = judged.flatMap((each) => {
    const entry = matching.get(each)?.find((one) => !hasEnded(one, now_ms))
    return entry === undefined ? [] : [{ found: each, entry }]
  })
  const known = new Set(accepted.map((each) => each.found))
  const stale = own.flatMap((entry) => {
    if (isOff(entry.rule)) return []
    const text = `${entry.rule} at ${entry.where}`
    if (!used.has(entry)) {
      return isJudged(entry) ? [fileFinding('accepted-gone', entry, `Not found any more: ${text}.`)] : []
    }
    return hasEnded(entry, now_ms)
      ? [fileFinding('accepted-expired', entry, `Accepted until ${entry.until} only: ${text}.`)]
      : []
  })
  return {
    file,
    kept: judged.filter((each) => !known.has(each)).map(({ item }) => item),
    accepted,
    off,
    findings: [...stale, ...planned].toSorted((a, b) => a.line - b.line),
  }
}

function hasEnded({ until }: AcceptEntry, now_ms: number): boolean {
  return now_ms >= Date.parse(until) + dayMs
}

function matches(entry: AcceptEntry, { rule, where }: Found<unknown>): boolean {
  return entry.rule === rule && matchesPattern(entry.where, where)
}

/** Whether a text matches a pattern in which `*` stands for any text. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...parts] = pattern.split('*')
  if (parts.length === 0) return text === pattern
  const last = parts.pop()!
  if (!text.startsWith(first)) return false
  let position = first.length
  for (const part of parts) {
    const at = text.indexOf(part, position)
    if (at === -1) return false
    position = at + part.length
  }
  return text.length - last.length >= position && text.endsWith(last)
}

/** Returns what a file changed, for reports: each entry with its line and the findings that it accepts. */
export function describeApplied({ file, accepted, off }: Applied<unknown>): AppliedFile | undefined {
  if (file === null) return undefined
  const groups = Map.groupBy(accepted, ({ entry }) => entry)
  return {
    path: file.path,
    accepted: [...groups].map(([{ rule, where, line, until, why }, of]) => ({
      ...{ rule, where, line, until, why },
      findings: of.length,
    })),
    off: off.map(({ rule, line, why }) => ({ rule, line, why })),
  }
}

/** Adds to a run what its file accepts, turns off and finds: a step for each accepted finding, a case for each own rule. */
export function withObserveFile(result: RunResult, applied: Applied<unknown>): RunResult {
  const { file, accepted, off, findings } = applied
  if (file === null) return result
  const isOfRule = (id: string, rule: string) => id === rule || id.startsWith(`${rule}: `)
  const cases = result.cases.map((item): CaseResult => {
    const reason = off.find(({ rule }) => isOfRule(item.id, rule))
    if (reason !== undefined) {
      const text = `off by ${file.path}:${reason.line}: ${reason.why}`
      return { ...item, outcome: 'not_applicable', reason: text, tags: ['off'], steps: [] }
    }
    const own = accepted.filter(({ found }) => (found.case_id ?? found.rule) === item.id)
    if (own.length === 0) return item
    const steps = own.map(({ found, entry }) => acceptedStep(found, entry, file.path))
    const isClean = item.outcome === 'passed' && item.reason === null
    return { ...item, tags: isClean ? ['accepted'] : item.tags, steps: [...item.steps, ...steps] }
  })
  const now_ms = result.started_at_ms
  // A case that passed would make a run green that looked at nothing.
  const broken = Object.entries(fileRules).flatMap(([id, rule]) => {
    const of = findings.filter(({ code }) => code === id)
    if (of.length === 0) return []
    return {
      ...toFileCase({ id, ...rule }, of, { suite: 'observe-file', file: file.path, started_at_ms: now_ms }),
      topic: 'qa-observe',
    }
  })
  return { ...result, cases: [...cases, ...broken], observe_file: describeApplied(applied)! }
}

function acceptedStep({ message, where, place }: Found<unknown>, entry: AcceptEntry, file: string): StepResult {
  const { line, column, until, why } = entry
  const text = `accepted by ${file}:${line} until ${until}: ${why}`
  return {
    title: message,
    place: place ?? { file, line, column },
    outcome: 'passed',
    reason: null,
    duration_ms: 0,
    exchanges: [],
    checks: [{ subject: entry.rule, passed: true, expected: where, actual: text }],
    screenshots: [],
    accepted: text,
  }
}

/** Returns the findings of a file of beacons as those that `svc.observe.yaml` names: `beacons.jsonl measurements.visible_ms`. */
export function toFoundInFile(name: string, findings: readonly LintFinding[]): Found<LintFinding>[] {
  return findings.map((item) => {
    const { code, path, message, line, column } = item
    const where = path === null ? name : `${name} ${path}`
    return { rule: `beacons-lint/${code}`, where, message, item, place: { file: name, line, column } }
  })
}
