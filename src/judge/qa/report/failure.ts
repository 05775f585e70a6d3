/** A failed case in full, as lines for people: what was checked, the two values, what to do, how to repeat the request. */

import { diffArrays } from 'diff'
import { isObject, type Json } from '#foundation/json.ts'
import { oneLine, printable } from '#text/terminal.ts'
import type { CaseExchange, CaseResult, Check, StepResult } from '../result.ts'
import { caseTitle, type Paint, placeText } from './text.ts'

/** Lines of one value; the reports in files have all of it. */
const maxLines = 40
/** Characters of one line of a value. */
const widest = 500

/** Returns the failed steps of a case, by default with the commands that repeat them. */
export function failureLines(item: CaseResult, paint: Paint, hasCommands = true): string[] {
  const failed = item.steps.filter(({ outcome }) => outcome === 'failed')
  const isOwnReason = item.reason !== null && !failed.some(({ reason }) => reason === item.reason)
  return [
    `${paint.red('✗')} ${paint.bold(`${oneLine(item.suite)} › ${caseTitle(item)}`)}`,
    paint.dim(`  ${placeText(item.place)}`),
    ...(isOwnReason ? indent(2, textLines(item.reason ?? '')) : []),
    ...failed.flatMap((step) => [
      '',
      ...indent(2, stepLines(step, paint)),
      ...(hasCommands ? commandLines(step, paint) : []),
    ]),
  ]
}

function stepLines(step: StepResult, paint: Paint): string[] {
  const checks = step.checks.filter(({ passed }) => !passed)
  const exchange = step.exchanges.at(-1)
  const reason = step.reason === null ? [] : textLines(step.reason).map((line) => paint.red(line))
  return [
    `${paint.cyan(oneLine(step.title))}  ${paint.dim(placeText(step.place))}`,
    ...(exchange === undefined ? [] : [paint.dim(oneLine(exchangeLine(exchange)))]),
    ...indent(2, reason),
    ...checks.flatMap((check) => indent(2, checkLines(check, step, paint))),
  ]
}

/** Returns the command that repeats a step, at the margin: the end of a script in it must not be indented. */
function commandLines({ exchanges }: StepResult, paint: Paint): string[] {
  const exchange = exchanges.at(-1)
  return exchange === undefined ? [] : [paint.dim('  repeat it with'), ...textLines(exchange.curl)]
}

/** Returns an exchange on one line: `POST /v1/placements → 400 in 3 ms`, `... → no response in 3 ms: ECONNRESET`. */
export function exchangeLine({ method, url, status, duration_ms, error }: CaseExchange): string {
  const why = status > 0 || error === null ? '' : `: ${error.replace(/^no response came: /, '')}`
  const path = URL.canParse(url) ? url.slice(new URL(url).origin.length) : url
  return `${method} ${path} → ${status || 'no response'} in ${Math.round(duration_ms)} ms${why}`
}

function checkLines(check: Check, step: StepResult, paint: Paint): string[] {
  const { subject, expected, actual, hint, response_reason: reason, place } = check
  const isElsewhere = place !== undefined && placeText(place) !== placeText(step.place)
  const hints = hint === undefined ? [] : textLines(hint)
  return [
    `${paint.bold(oneLine(subject))}${isElsewhere ? `  ${paint.dim(placeText(place))}` : ''}`,
    ...indent(2, valueLines(expected, actual, paint)),
    ...(reason === undefined ? [] : [`  response  ${oneLine(reason)}`]),
    ...hints.map((line, index) => `  ${index === 0 ? paint.cyan('hint') : '    '}      ${line}`),
  ]
}

function valueLines(expected: Json, actual: Json, paint: Paint): string[] {
  const diff = diffValues(expected, actual)
  if (diff === null) return [...named('expected', expected, paint.green), ...named('actual  ', actual, paint.red)]
  const lines = diff.map(({ kind, text }) => {
    if (kind === 'gap') return paint.dim(`  … ${text}`)
    const line = shortened(printable(text))
    if (kind === 'same') return `  ${line}`
    return kind === 'expected' ? paint.green(`- ${line}`) : paint.red(`+ ${line}`)
  })
  return [`${paint.green('- expected')}  ${paint.red('+ actual')}`, ...cut(lines)]
}

function named(name: string, value: Json, paint: (text: string) => string): string[] {
  const [first = '', ...rest] = cut(value === '' ? ['""'] : textLines(valueText(value)).map(shortened))
  return [`${name}  ${paint(first)}`, ...rest.map((line) => `${' '.repeat(name.length)}  ${paint(line)}`)]
}

function cut(lines: string[]): string[] {
  if (lines.length <= maxLines) return lines
  const left = lines.length - maxLines
  return [...lines.slice(0, maxLines), `… ${left} more lines: --reporter html=qa.html has them`]
}

function shortened(line: string): string {
  return line.length <= widest ? line : `${line.slice(0, widest)}… (${line.length} characters)`
}

function textLines(text: string): string[] {
  return printable(text).trimEnd().split('\n')
}

function indent(width: number, lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : ' '.repeat(width) + line))
}

/** A line of the difference of two values. */
interface DiffLine {
  /** `gap`: equal lines that were left out. */
  kind: 'same' | 'expected' | 'actual' | 'gap'
  text: string
}

/** Equal lines that are shown around a difference. */
const context = 2
/** Characters of JSON that stay on one line. */
const shortest = 60
/** Differing lines above which a difference is shown as one block, without searching for what is equal in it. */
const maxEdits = 800

/** Returns the difference of two objects, lists or texts of several lines; null for other values. */
export function diffValues(expected: Json, actual: Json): DiffLine[] | null {
  const sides = [splitLines(sortLikeActual(expected, actual)), splitLines(actual)] as const
  if (sides[0] === null || sides[1] === null) return null
  return withGaps(paired(compare(sides[0], sides[1])))
}

/** Returns a value in full: text unchanged, short JSON on one line, other JSON indented. */
export function valueText(value: Json): string {
  if (typeof value === 'string') return value
  const line = JSON.stringify(value)
  return line.length <= shortest ? line : JSON.stringify(value, null, 2)
}

/** Returns the expected value with its fields in the order of the actual value: key order is ignored. */
function sortLikeActual(expected: Json, actual: Json | undefined): Json {
  if (Array.isArray(expected)) {
    return Array.isArray(actual) ? expected.map((item, index) => sortLikeActual(item, actual[index])) : expected
  }
  if (!isObject(expected) || !isObject(actual)) return expected
  const names = [...Object.keys(actual).filter((name) => name in expected), ...Object.keys(expected)]
  return Object.fromEntries([...new Set(names)].map((name) => [name, sortLikeActual(expected[name]!, actual[name])]))
}

function splitLines(value: Json): string[] | null {
  if (typeof value === 'string') return value.includes('\n') ? value.split('\n') : null
  return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2).split('\n') : null
}

/** Whether two lines differ at most in a trailing comma. */
function isSame(line: string, other: string): boolean {
  return line.replace(/,$/, '') === other.replace(/,$/, '')
}

/** Compares line by line. Equal ends are removed first: they are what two long blocks usually share. */
function compare(expected: readonly string[], actual: readonly string[]): DiffLine[] {
  const most = Math.min(expected.length, actual.length)
  let start = 0
  while (start < most && isSame(expected[start]!, actual[start]!)) start++
  let end = 0
  while (end < most - start && isSame(expected.at(-1 - end)!, actual.at(-1 - end)!)) end++
  const before = expected.slice(start, expected.length - end)
  const after = actual.slice(start, actual.length - end)
  const parts = diffArrays(before, after, { comparator: isSame, maxEditLength: maxEdits }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ]
  const lines = (kind: DiffLine['kind'], texts: readonly string[]) => texts.map((text): DiffLine => ({ kind, text }))
  return [
    ...lines('same', actual.slice(0, start)),
    ...parts.flatMap(({ value, added, removed }) => lines(added ? 'actual' : removed ? 'expected' : 'same', value)),
    ...lines('same', actual.slice(actual.length - end)),
  ]
}

/** Puts the two values of one field next to each other within lines that differ. */
function paired(lines: readonly DiffLine[]): DiffLine[] {
  const shown: DiffLine[] = []
  let block: DiffLine[] = []
  for (const line of [...lines, null]) {
    if (line !== null && line.kind !== 'same') {
      block.push(line)
      continue
    }
    const expected = block.filter(({ kind }) => kind === 'expected')
    const actual = block.filter(({ kind }) => kind === 'actual')
    shown.push(...pairedBlock(expected, actual), ...(line === null ? [] : [line]))
    block = []
  }
  return shown
}

/** Both sides keep their order; a line of the actual side follows the expected lines up to its own field. */
function pairedBlock(expected: readonly DiffLine[], actual: readonly DiffLine[]): DiffLine[] {
  const places = new Map(expected.map(({ text }, index) => [fieldName(text), index]))
  places.delete(null)
  const shown: DiffLine[] = []
  let next = 0
  for (const line of actual) {
    const place = places.get(fieldName(line.text))
    if (place !== undefined && place >= next) {
      shown.push(...expected.slice(next, place + 1))
      next = place + 1
    }
    shown.push(line)
  }
  return next === 0 ? [...expected, ...actual] : [...shown, ...expected.slice(next)]
}

/** Returns `  "width":` of a line of JSON, with its indent; null of other lines. */
function fieldName(text: string): string | null {
  return /^\s*"(?:[^"\\]|\\.)*":/.exec(text)?.[0] ?? null
}

/** Replaces equal lines far from a difference with their count; a gap of one line would be no shorter than the line. */
function withGaps(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ kind }) => kind !== 'same'),
  )
  const isShown = isNear.map((near, index) => near || ((isNear[index - 1] ?? true) && (isNear[index + 1] ?? true)))
  const shown: DiffLine[] = []
  let skipped = 0
  for (const [index, line] of [...lines, null].entries()) {
    if (line !== null && !isShown[index]) {
      skipped++
      continue
    }
    if (skipped > 0) shown.push({ kind: 'gap', text: `${skipped} equal lines` })
    skipped = 0
    if (line !== null) shown.push(line)
  }
  return shown
}
