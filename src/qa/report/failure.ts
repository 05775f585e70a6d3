/** A failed case in full, as lines for people: what was looked at, the two values, what to do, how to repeat it. */
import type { JsonValue } from '../json.ts'
import type { CaseResult, Check, StepResult } from '../result.ts'
import { diffOf, valueText } from './diff.ts'
import type { Paint } from './tools.ts'
import { placeText, titleOf, visible } from './words.ts'

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

function valueLines(expected: JsonValue, actual: JsonValue, paint: Paint): string[] {
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

function named(name: string, value: JsonValue, paint: (text: string) => string): string[] {
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
