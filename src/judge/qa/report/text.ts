/** The input of every reporter, and the wording they share: names, counts and values. */

import type { SourceLocation } from '#foundation/finding.ts'
import { isObject, type Json } from '#foundation/json.ts'
import { oneLine } from '#text/terminal.ts'
import { plural } from '#text/text.ts'
import {
  type AppliedFile,
  type CaseResult,
  type Check,
  type Outcome,
  type RunResult,
  type StepResult,
  type TargetSummary,
  type Totals,
  valueWords,
} from '../result.ts'
import type { EarlierRun } from './changes.ts'

export const outcomes = ['failed', 'passed', 'not_applicable', 'not_run'] as const satisfies readonly Outcome[]

export const outcomeWords: Record<Outcome, string> = {
  passed: 'passed',
  failed: 'failed',
  not_applicable: 'not applicable',
  not_run: 'not run',
}

/** Returns the name of a case, with its attempt and the values of its matrix that the name does not contain. */
export function caseTitle({ name, matrix, attempt }: Pick<CaseResult, 'name' | 'matrix' | 'attempt'>): string {
  const isNamed = (value: Json): boolean =>
    name.includes(valueWords(value)) || (isObject(value) && Object.values(value).some(isNamed))
  const missing = Object.entries(matrix).filter(([, value]) => !isNamed(value))
  const values =
    missing.length === 0 ? '' : ` [${missing.map(([key, value]) => `${key}=${valueWords(value)}`).join(' ')}]`
  return oneLine(`${name}${values}${attempt > 1 ? ` (attempt ${attempt})` : ''}`)
}

export function placeText({ file, line, column }: SourceLocation): string {
  return oneLine(line === 0 ? file : `${file}:${line}:${column}`)
}

/** Returns the counts that are not zero: `12 passed, 1 failed`. */
export function countsText(totals: Totals): string {
  const parts = outcomes
    .filter((outcome) => totals[outcome] > 0)
    .map((outcome) => `${totals[outcome]} ${outcomeWords[outcome]}`)
  return parts.length === 0 ? 'no cases' : parts.join(', ')
}

const kinds: Record<TargetSummary['kind'], string> = {
  fresh: 'a fresh sandbox',
  sandbox: 'the running sandbox',
  service: 'the service',
  file: 'the file',
}

/** Returns a target in words: `a fresh sandbox 0.1.0 at http://127.0.0.1:4010, test key, in Firefox 153.7.0`. */
export function targetText({ kind, version, base_url, key_mode, browser }: TargetSummary): string {
  if (kind === 'file') return oneLine(`${kinds.file} ${base_url}`)
  const where = browser === undefined ? '' : `, in ${browser}`
  return oneLine(`${kinds[kind]}${version === null ? '' : ` ${version}`} at ${base_url}, ${key_mode} key${where}`)
}

/** Returns a value on one line. */
function scalarText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns why a case did not pass: its own reason, or that of a step that ended the same way. */
export function findReason({
  reason,
  outcome,
  steps,
}: Pick<CaseResult, 'reason' | 'outcome' | 'steps'>): string | null {
  return reason ?? steps.find((step) => step.outcome === outcome && step.reason !== null)?.reason ?? null
}

/**
 * Returns what a failed or warning step found, as a sentence: a finding in its own words, which are the title of its
 * step, or `title: subject: expected fill, actual no_fill`.
 */
export function checkSentence({ title }: Pick<StepResult, 'title'>, check: Check): string {
  if (isOwnFinding({ title }, check)) return title
  const { subject, expected, actual, response_reason: reason } = check
  const why = reason === undefined ? '' : `; the response says ${reason}`
  return `${title}: ${subject}: expected ${scalarText(expected)}, actual ${scalarText(actual)}${why}`
}

/** Whether a check is a finding of `observe` or `beacons lint`, whose sentence is the title of its step. */
export function isOwnFinding({ title }: Pick<StepResult, 'title'>, { actual }: Pick<Check, 'actual'>): boolean {
  return typeof actual === 'string' && (actual === title || actual.startsWith(`${title} (`))
}

/** Returns why a case failed, briefly: its first failed check, or its reason. */
export function failureSentence(item: CaseResult): string {
  const step = item.steps.find(({ outcome }) => outcome === 'failed')
  const check = step?.checks.find(({ passed }) => !passed)
  if (step !== undefined && check !== undefined) return checkSentence(step, check)
  const reason = findReason(item) ?? 'failed'
  return step === undefined ? reason : `${step.title}: ${reason}`
}

/** Returns the reasons of the cases with an outcome and the number of cases of each, the most common first. */
export function countReasons(cases: readonly CaseResult[], outcome: Outcome): { reason: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const item of cases) {
    if (item.outcome !== outcome) continue
    const reason = findReason(item) ?? 'no reason was given'
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  return [...counts].map(([reason, count]) => ({ reason, count })).toSorted((a, b) => b.count - a.count)
}

/** Returns cases by suite, in the order in which suites first appear. */
export function bySuite(cases: readonly CaseResult[]): Map<string, CaseResult[]> {
  return Map.groupBy(cases, ({ suite }) => suite)
}

/** Returns the time of cases added up, milliseconds. Side by side they took less. */
export function sumDurations(cases: readonly CaseResult[]): number {
  return cases.reduce((sum, { duration_ms }) => sum + duration_ms, 0)
}

/** Returns the ids of cases that passed in some attempts and failed in others. */
export function flakyCases({ cases }: Pick<RunResult, 'cases'>): { id: string; failed: number; attempts: number }[] {
  return [...Map.groupBy(cases, ({ id }) => id)].flatMap(([id, attempts]) => {
    const failed = attempts.filter(({ outcome }) => outcome === 'failed').length
    const passed = attempts.filter(({ outcome }) => outcome === 'passed').length
    return failed > 0 && passed > 0 ? [{ id, failed, attempts: attempts.length }] : []
  })
}

/** Returns what a file changed, in words: `svc.observe.yaml: 3 findings accepted (lines 4, 9), 1 rule off (line 14)`. */
export function appliedText({ path, accepted, off }: AppliedFile): string {
  const lines = (entries: readonly { line: number }[]) =>
    entries.length === 0
      ? ''
      : ` (line${entries.length === 1 ? '' : 's'} ${entries.map(({ line }) => line).join(', ')})`
  const count = accepted.reduce((sum, { findings }) => sum + findings, 0)
  return `${path}: ${plural(count, 'finding')} accepted${lines(accepted)}, ${plural(off.length, 'rule')} off${lines(off)}`
}

/** Colours of one stream. Without colours each function returns its text. */
export type Paint = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>

/** A stream that text goes to. */
export interface Sink {
  write(text: string): void
  /** Whether lines may be redrawn. */
  readonly is_terminal: boolean
  /** Current width in characters; undefined when it is not a terminal. */
  readonly columns: number | undefined
  readonly paint: Paint
}

export interface ReportTools {
  /** For a reporter without a file. */
  stdout: Sink
  /** For progress and notes: stderr. */
  progress: Sink
  /** No progress and no notes: `--quiet`. */
  quiet: boolean
  /** Epoch milliseconds, for the elapsed time of a run. */
  now(): number
  /** Writes a whole file, or leaves the old one unchanged, as `replaceFile` does. */
  writeFile(path: string, content: string): Promise<void>
  /** Returns the address of a source file, relative to the root of the repository where it is in one. */
  sourceUri(file: string): string
  /** An earlier report that the run is compared with; null without. */
  earlier: EarlierRun | null
}

/** Where one reporter writes: a stream immediately, or a file when the run has ended. */
export interface Destination {
  write(text: string): void
  /** Null for a file. */
  readonly stream: Sink | null
  readonly paint: Paint
  sourceUri(file: string): string
}

const same = (text: string) => text
/** For files, and streams without colours. */
export const plain: Paint = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same }
