/** A failed case in full, as lines for people: what was looked at, the two values, what to do, how to repeat it. */
/** How two values differ, line by line: for objects, lists and texts of several lines. */
import type { Json } from '../../foundation/json.ts'
import type { CaseResult, Check, StepResult } from '../result.ts'
import { type Paint, placeText, titleOf, visible } from './text.ts'

/** Lines of one value; the reports in files have all of it. */
const mostLines = 40
/** Characters of one line of a value. */
const widest = 500

export function failureLines(item: CaseResult, paint: Paint): string[] {
  const failed = item.steps.filter(({ outcome }) => outcome === 'failed')
  return [
    `${paint.red('✗')} ${paint.bold(`${visible(item.suite)} › ${titleOf(item)}`)}`,
    paint.dim(`  ${placeText(item.place)}`),
    ...(item.reason === null || failed.some(({ reason }) => reason === item.reason)
      ? []
      : indent(2, textLines(item.reason))),
    ...failed.flatMap((step) => ['', ...indent(2, stepLines(step, paint))]),
  ]
}

function stepLines(step: StepResult, paint: Paint): string[] {
  const checks = step.checks.filter(({ passed }) => !passed)
  const exchange = step.exchanges.at(-1)
  return [
    `${paint.cyan(visible(step.title))}  ${paint.dim(placeText(step.place))}`,
    ...(exchange === undefined ? [] : [paint.dim(visible(exchangeLine(exchange)))]),
    ...(step.reason === null
      ? []
      : indent(
          2,
          textLines(step.reason).map((line) => paint.red(line)),
        )),
    ...checks.flatMap((check) => indent(2, checkLines(check, step, paint))),
    ...(exchange === undefined ? [] : [paint.dim('repeat it with'), ...indent(2, textLines(exchange.curl))]),
  ]
}

/** `POST /v1/placements → 400 in 3 ms`. */
export function exchangeLine({ method, url, status, duration_ms, error }: StepResult['exchanges'][number]): string {
  const answer = status === 0 ? `no answer: ${error ?? 'unknown why'}` : String(status)
  return `${method} ${pathOf(url)} → ${answer} in ${Math.round(duration_ms)} ms`
}

function pathOf(url: string): string {
  return URL.canParse(url) ? url.slice(new URL(url).origin.length) : url
}

function checkLines(check: Check, step: StepResult, paint: Paint): string[] {
  const { subject, expected, actual, hint, place } = check
  const isElsewhere = place !== undefined && placeText(place) !== placeText(step.place)
  return [
    `${paint.bold(visible(subject))}${isElsewhere ? `  ${paint.dim(placeText(place))}` : ''}`,
    ...indent(2, valueLines(expected, actual, paint)),
    ...(hint === undefined
      ? []
      : textLines(hint).map((line, index) => `  ${index === 0 ? paint.cyan('hint') : '    '}      ${line}`)),
  ]
}

function valueLines(expected: Json, actual: Json, paint: Paint): string[] {
  const diff = diffOf(expected, actual)
  if (diff === null) return [...named('expected', expected, paint.green), ...named('actual  ', actual, paint.red)]
  const lines = diff.map(({ kind, text }) => {
    if (kind === 'gap') return paint.dim(`  … ${text}`)
    const line = shortened(visible(text))
    if (kind === 'same') return `  ${line}`
    return kind === 'expected' ? paint.green(`- ${line}`) : paint.red(`+ ${line}`)
  })
  return [`${paint.green('- expected')}  ${paint.red('+ actual')}`, ...cut(lines)]
}

function named(name: string, value: Json, paint: (text: string) => string): string[] {
  const isEmpty = value === ''
  const [first = '', ...rest] = cut(isEmpty ? ['""'] : textLines(valueText(value)).map(shortened))
  return [`${name}  ${paint(first)}`, ...rest.map((line) => `${' '.repeat(name.length)}  ${paint(line)}`)]
}

function cut(lines: string[]): string[] {
  return lines.length <= mostLines
    ? lines
    : [...lines.slice(0, mostLines), `… ${lines.length - mostLines} more lines: --reporter html=qa.html has them`]
}

function shortened(line: string): string {
  return line.length <= widest ? line : `${line.slice(0, widest)}… (${line.length} characters)`
}

function textLines(text: string): string[] {
  return visible(text).trimEnd().split('\n')
}

function indent(width: number, lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : ' '.repeat(width) + line))
}

export interface DiffLine {
  /** `gap`: equal lines that were left out. */
  kind: 'same' | 'expected' | 'actual' | 'gap'
  text: string
}

/** Equal lines that are shown around a difference. */
const context = 2
/** Characters of JSON that stay on one line. */
const shortest = 60
/** Lines of one side, above which a difference is shown as a whole block. */
const comparable = 400

/** The differences, or null when the values are better shown one after the other. */
export function diffOf(expected: Json, actual: Json): DiffLine[] | null {
  const sides = [linesOf(ordered(expected, actual)), linesOf(actual)] as const
  if (sides[0] === null || sides[1] === null) return null
  return withGaps(paired(compare(sides[0], sides[1])))
}

/** A value in full: a text as it is, what is short on one line, anything else as indented JSON. */
export function valueText(value: Json): string {
  if (typeof value === 'string') return value
  const line = JSON.stringify(value)
  return line.length <= shortest ? line : JSON.stringify(value, null, 2)
}

/** The order of members makes no difference: those that both have come in the order of the actual value. */
function ordered(expected: Json, actual: Json | undefined): Json {
  if (Array.isArray(expected)) {
    return Array.isArray(actual) ? expected.map((item, index) => ordered(item, actual[index])) : expected
  }
  if (!isObject(expected) || !isObject(actual)) return expected
  const names = [...Object.keys(actual).filter((name) => name in expected), ...Object.keys(expected)]
  return Object.fromEntries([...new Set(names)].map((name) => [name, ordered(expected[name]!, actual[name])]))
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function linesOf(value: Json): string[] | null {
  if (typeof value === 'string') return value.includes('\n') ? value.split('\n') : null
  return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2).split('\n') : null
}

/** Equal ends are set aside; between them, the longest common subsequence stays. */
function compare(expected: readonly string[], actual: readonly string[]): DiffLine[] {
  let start = 0
  while (start < expected.length && start < actual.length && bare(expected[start]!) === bare(actual[start]!)) start++
  let end = 0
  const most = Math.min(expected.length, actual.length) - start
  while (end < most && bare(expected.at(-1 - end)!) === bare(actual.at(-1 - end)!)) end++
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: 'same', text }))
  return [
    ...same(actual.slice(0, start)),
    ...middle(expected.slice(start, expected.length - end), actual.slice(start, actual.length - end)),
    ...same(actual.slice(actual.length - end)),
  ]
}

function middle(expected: readonly string[], actual: readonly string[]): DiffLine[] {
  if (expected.length > comparable || actual.length > comparable) {
    return [
      ...expected.map((text): DiffLine => ({ kind: 'expected', text })),
      ...actual.map((text): DiffLine => ({ kind: 'actual', text })),
    ]
  }
  const lengths = commonLengths(expected, actual)
  const lines: DiffLine[] = []
  let left = 0
  let right = 0
  while (left < expected.length || right < actual.length) {
    if (left < expected.length && right < actual.length && bare(expected[left]!) === bare(actual[right]!)) {
      lines.push({ kind: 'same', text: actual[right]! })
      left++
      right++
    } else if (
      left < expected.length &&
      (right === actual.length || lengths[left + 1]![right]! >= lengths[left]![right + 1]!)
    ) {
      lines.push({ kind: 'expected', text: expected[left++]! })
    } else {
      lines.push({ kind: 'actual', text: actual[right++]! })
    }
  }
  return lines
}

/** `lengths[i][j]`: how many lines the ends from i and from j have in common. */
function commonLengths(expected: readonly string[], actual: readonly string[]): number[][] {
  const lengths = Array.from({ length: expected.length + 1 }, () => new Array<number>(actual.length + 1).fill(0))
  for (let left = expected.length - 1; left >= 0; left--) {
    for (let right = actual.length - 1; right >= 0; right--) {
      lengths[left]![right] =
        bare(expected[left]!) === bare(actual[right]!)
          ? lengths[left + 1]![right + 1]! + 1
          : Math.max(lengths[left + 1]![right]!, lengths[left]![right + 1]!)
    }
  }
  return lengths
}

/** A comma says that another member follows, which is no difference. */
function bare(line: string): string {
  return line.replace(/,$/, '')
}

/** Within lines that differ, the two values of one member stand together. */
function paired(lines: readonly DiffLine[]): DiffLine[] {
  const shown: DiffLine[] = []
  let expected: DiffLine[] = []
  let actual: DiffLine[] = []
  for (const line of [...lines, null]) {
    if (line?.kind === 'expected') expected.push(line)
    else if (line?.kind === 'actual') actual.push(line)
    else {
      shown.push(...pairedBlock(expected, actual))
      if (line !== null) shown.push(line)
      expected = []
      actual = []
    }
  }
  return shown
}

/** Both sides keep their order; a line of the actual side brings along what is expected up to its own member. */
function pairedBlock(expected: readonly DiffLine[], actual: readonly DiffLine[]): DiffLine[] {
  const places = new Map(expected.map(({ text }, index) => [memberOf(text), index]))
  places.delete(null)
  const shown: DiffLine[] = []
  let told = 0
  for (const line of actual) {
    const place = places.get(memberOf(line.text))
    if (place !== undefined && place >= told) {
      shown.push(...expected.slice(told, place + 1))
      told = place + 1
    }
    shown.push(line)
  }
  return told === 0 ? [...expected, ...actual] : [...shown, ...expected.slice(told)]
}

/** `  "width":` of a line of JSON, with its indent; null of other lines. */
function memberOf(text: string): string | null {
  return /^\s*"(?:[^"\\]|\\.)*":/.exec(text)?.[0] ?? null
}

function withGaps(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ kind }) => kind !== 'same'),
  )
  // A gap of one line would be no shorter than the line.
  for (const index of isNear.keys()) {
    if (!isNear[index] && (isNear[index - 1] ?? true) && (isNear[index + 1] ?? true)) isNear[index] = true
  }
  const shown: DiffLine[] = []
  let skipped = 0
  for (const [index, line] of [...lines, null].entries()) {
    if (line !== null && !isNear[index]) {
      skipped++
      continue
    }
    if (skipped > 0) shown.push({ kind: 'gap', text: `${skipped} equal lines` })
    skipped = 0
    if (line !== null) shown.push(line)
  }
  return shown
}
