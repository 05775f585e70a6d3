/** `--template`: a Handlebars template over the JSON, with the helpers of docs/guides/output.md, compiled before anything is sent. */

import { isObject } from '#foundation/json.ts'
import { readMessage } from '#foundation/system-error.ts'
import { CliError } from '../run/errors.ts'
import { timeChoices } from '../settings/table.ts'
import { colorNames, jsonText, oneLine, type Style } from './terminal.ts'
import { cutText, formatValue, padEnd, textWidth, timeText } from './text.ts'

/** Stands for the table until all rows are known. */
const tablePlace = '\u0000'

/** Returns a function that applies a template to a value. Throws CliError when it does not compile. */
export async function compileTemplate(text: string, style: Style): Promise<(value: unknown) => string> {
  const { default: Handlebars } = await import('handlebars')
  const engine = Handlebars.create()
  let rows: string[][] = []
  const helpers: Record<string, (...args: unknown[]) => unknown> = {
    table: (...args) => {
      rows.push(args.slice(0, -1).map(formatValue))
      return rows.length === 1 ? tablePlace : ''
    },
    time: (value, choice) => {
      if (typeof value !== 'number') return formatValue(value)
      const time = timeChoices.find((each) => each === choice)
      if (typeof choice === 'string' && time === undefined) throw new Error(`time takes ${timeChoices.join(', ')}`)
      return timeText(value, { ...style, view: { ...style.view, time: time ?? style.view.time } }, true)
    },
    color: (name, value) => {
      const color = colorNames.find((each) => each === name)
      if (color === undefined) throw new Error(`color takes ${colorNames.join(', ')}`)
      return style[color](formatValue(value))
    },
    json: (value) => jsonText(value ?? null),
    truncate: (width, value) => cutText(formatValue(value), Number(width)),
    pad: (width, value) => padEnd(formatValue(value), Number(width)),
    join: (value, separator) =>
      Array.isArray(value)
        ? value.map(formatValue).join(typeof separator === 'string' ? separator : ', ')
        : formatValue(value),
    eq: (one, other) => one === other,
  }
  for (const [name, helper] of Object.entries(helpers)) engine.registerHelper(name, helper)
  engine.registerHelper('helperMissing', (...args: unknown[]) => {
    const { name } = args.at(-1) as { name: string }
    if (args.length > 1) throw new Error(`there is no helper ${name}. There are: ${Object.keys(helpers).join(', ')}`)
    return undefined
  })
  try {
    engine.parse(text)
  } catch (error) {
    throw templateError('template_malformed', error)
  }
  const template = engine.compile(text, { noEscape: true })
  return (value) => {
    rows = []
    try {
      const data = style.columns === undefined ? value : withoutLineEnds(value)
      const output = template(data, { allowProtoPropertiesByDefault: false })
      return output.replace(`${tablePlace}\n`, tablePlace).replace(tablePlace, () => tableText(rows))
    } catch (error) {
      throw templateError('template_failed', error)
    }
  }
}

/** Returns rows with their cells below each other. */
function tableText(rows: readonly (readonly string[])[]): string {
  const count = Math.max(0, ...rows.map(({ length }) => length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => textWidth(oneLine(row[column] ?? '')))),
  )
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => padEnd(cell, widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

/** On a terminal a value cannot start its own line; the lines of the template stay. */
function withoutLineEnds(value: unknown): unknown {
  if (typeof value === 'string') return oneLine(value)
  if (Array.isArray(value)) return value.map(withoutLineEnds)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutLineEnds(inner)]))
}

/** Handlebars writes `Parse error on line 2:`, a line of text, and an arrow below the place. */
function templateError(code: string, error: unknown): CliError {
  const message = readMessage(error)
  const [first = '', text = '', arrow = '', expecting = ''] = message.split('\n')
  const [, line] = /^(?:Parse|Lexical) error on line (\d+)/.exec(first) ?? []
  const hint = 'Its helpers: svc docs output'
  if (line === undefined) return new CliError('usage', code, `--template: ${first.replace(/\.$/, '')}.`, hint)
  const near = text.slice(Math.max(0, arrow.indexOf('^') - 20)).trim()
  const what = expecting.split(', got ')[1]
  const problem = what === undefined ? 'it cannot be read' : `unexpected ${what.replaceAll("'", '')}`
  return new CliError('usage', code, `--template, line ${line}, near "${near}": ${problem}.`, hint)
}
