/** How reporters say things: names, times, counts and values, the same in each of them. */
/** What reporters are given. They know neither the command line nor the machine; `src/commands` fills this in. */
import type { Json } from '../../foundation/json.ts'
import type { CaseResult, Outcome, Place, RunResult, TargetSummary, Totals } from '../result.ts'

export const outcomes = ['failed', 'passed', 'not_applicable', 'not_run'] as const satisfies readonly Outcome[]

export const outcomeWords: Record<Outcome, string> = {
  passed: 'passed',
  failed: 'failed',
  not_applicable: 'not applicable',
  not_run: 'not run',
}

/** The name of a case, with the values of its matrix that the name does not already have, and its attempt. */
export function titleOf({ name, matrix, attempt }: Pick<CaseResult, 'name' | 'matrix' | 'attempt'>): string {
  const missing = Object.entries(matrix).filter(([, value]) => !name.includes(scalarText(value)))
  const values =
    missing.length === 0 ? '' : ` [${missing.map(([key, value]) => `${key}=${scalarText(value)}`).join(' ')}]`
  return visible(`${name}${values}${attempt > 1 ? ` (attempt ${attempt})` : ''}`)
}

export function placeText({ file, line, column }: Place): string {
  return visible(line === 0 ? file : `${file}:${line}:${column}`)
}

/** `412 ms`, `1.24 s`, `2 min 3 s`. */
export function durationText(duration_ms: number): string {
  if (duration_ms < 999.5) return `${Math.round(duration_ms)} ms`
  if (duration_ms < 59_950) return `${(duration_ms / 1000).toFixed(duration_ms < 9_995 ? 2 : 1)} s`
  const seconds = Math.round(duration_ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** `412 bytes`, `38 kB`, `1.4 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** `12 passed, 1 failed`: what there is none of is left out. */
export function countsText(totals: Totals): string {
  const parts = outcomes
    .filter((outcome) => totals[outcome] > 0)
    .map((outcome) => `${totals[outcome]} ${outcomeWords[outcome]}`)
  return parts.length === 0 ? 'no cases' : parts.join(', ')
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

const kinds: Record<TargetSummary['kind'], string> = {
  fresh: 'a fresh sandbox',
  sandbox: 'the running sandbox',
  service: 'the service',
}

/** `a fresh sandbox 0.1.0 at http://127.0.0.1:4010, test key`. */
export function targetText({ kind, version, base_url, key_mode }: TargetSummary): string {
  return visible(`${kinds[kind]}${version === null ? '' : ` ${version}`} at ${base_url}, ${key_mode} key`)
}

/** A value on one line. */
export function scalarText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Why a case did not pass, when it says so itself or a step that ended the same way does. */
export function reasonOf({ reason, outcome, steps }: Pick<CaseResult, 'reason' | 'outcome' | 'steps'>): string | null {
  return reason ?? steps.find((step) => step.outcome === outcome && step.reason !== null)?.reason ?? null
}

/** Reasons of the cases that ended so, with how many gave each; the most common first. */
export function reasonsOf(cases: readonly CaseResult[], outcome: Outcome): { reason: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const item of cases) {
    if (item.outcome !== outcome) continue
    const reason = reasonOf(item) ?? 'no reason was given'
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  return [...counts].map(([reason, count]) => ({ reason, count })).toSorted((a, b) => b.count - a.count)
}

/** Cases by suite, in the order in which suites first appear. */
export function bySuite(cases: readonly CaseResult[]): Map<string, CaseResult[]> {
  return Map.groupBy(cases, ({ suite }) => suite)
}

/** Case ids that both passed and failed over their attempts. */
export function flakyCases({ cases }: Pick<RunResult, 'cases'>): { id: string; failed: number; attempts: number }[] {
  return [...Map.groupBy(cases, ({ id }) => id)].flatMap(([id, attempts]) => {
    const failed = attempts.filter(({ outcome }) => outcome === 'failed').length
    const passed = attempts.filter(({ outcome }) => outcome === 'passed').length
    return failed > 0 && passed > 0 ? [{ id, failed, attempts: attempts.length }] : []
  })
}

/**
 * Text from the http, with what steers a terminal or turns the reading direction written out: `\u001b`. Tabs and line
 * ends stay.
 */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\p{Surrogate}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Colours of one stream; an instance of chalk is one. Without colours each answers its text. */
export interface Paint {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

/** A stream that text goes to. */
export interface Sink {
  write(text: string): void
  /** Whether a person looks at it, and lines may be drawn over. */
  readonly is_terminal: boolean
  /** Width in characters at this moment; undefined when it is not a terminal. */
  readonly columns: number | undefined
  readonly paint: Paint
}

export interface ReportTools {
  /** Where a reporter without a file writes. */
  stdout: Sink
  /** Where progress and notes go: stderr. */
  progress: Sink
  /** No progress and no notes: `--quiet`. */
  quiet: boolean
  /** Epoch milliseconds, for how long a run takes so far. */
  now(): number
  /** Writes a whole file, or leaves the old one as it was; `writeReportFile` does so. */
  writeFile(path: string, content: string): Promise<void>
}

/** Where one reporter writes: a stream at once, or a file when the run has ended. */
export interface Destination {
  write(text: string): void
  /** Null of a file. */
  readonly stream: Sink | null
  readonly paint: Paint
}

/** For files, and whatever else has no colours. */
export const plain: Paint = {
  bold: (text) => text,
  dim: (text) => text,
  red: (text) => text,
  green: (text) => text,
  yellow: (text) => text,
  cyan: (text) => text,
}
