/** Cases that differ only in a value of their matrix, side by side: one row, with a column for each value. */
import { isObject, type Json } from '../../../foundation/json.ts'
import { type Outcome, valueWords } from '../../result.ts'
import { outcomeWords, placeText, titleOf, visible } from '../text.ts'
import type { Numbered } from './case.ts'
import { glyphs, html, type Markup } from './markup.ts'

interface Row {
  suite: string
  title: string
  cells: Map<string, Numbered[]>
}

/** Returns one table for each axis that is used, the most used first. A case stands in one table only. */
export function matrixMarkup(cases: readonly Numbered[]): Markup | null {
  const tables: Markup[] = []
  let left = cases.filter(({ item }) => Object.keys(item.matrix).length > 0)
  while (left.length > 0) {
    const axis = mostUsed(left)
    tables.push(
      tableMarkup(
        axis,
        left.filter(({ item }) => axis in item.matrix),
      ),
    )
    left = left.filter(({ item }) => !(axis in item.matrix))
  }
  if (tables.length === 0) return null
  return html`<section id="matrix" aria-labelledby="matrix-title"><h2 id="matrix-title">Matrix</h2>${tables}</section>`
}

/** Returns the axis that most cases have; of several, the one with the fewest values makes the narrowest table. */
function mostUsed(cases: readonly Numbered[]): string {
  const values = new Map<string, { uses: number; values: Set<string> }>()
  for (const { item } of cases) {
    for (const [name, value] of Object.entries(item.matrix)) {
      const entry = values.get(name) ?? { uses: 0, values: new Set<string>() }
      entry.uses++
      entry.values.add(valueWords(value))
      values.set(name, entry)
    }
  }
  const [first] = [...values].toSorted(([, a], [, b]) => b.uses - a.uses || a.values.size - b.values.size)
  return first![0]
}

function tableMarkup(axis: string, cases: readonly Numbered[]): Markup {
  const columns = [...new Set(cases.map(({ item }) => valueWords(item.matrix[axis]!)))]
  const rows = rowsOf(axis, cases).toSorted((a, b) => Number(hasFailed(b)) - Number(hasFailed(a)))
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Cases by ${axis}"><table class="matrix">
<thead><tr><th scope="col">By <b>${axis}</b></th>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({ suite, title, cells }) =>
      html`<tr><th scope="row"><span class="soft">${suite}</span> ${title}</th>${columns.map((column) => html`<td>${cellMarkup(cells.get(column) ?? [])}</td>`)}</tr>
`,
  )}</tbody></table></div>
`
}

/** Groups cases from one place of a suite file, with the same values on other axes, into rows. */
function rowsOf(axis: string, cases: readonly Numbered[]): Row[] {
  const rows = new Map<string, Row>()
  for (const numbered of cases) {
    const { suite, place, matrix, name } = numbered.item
    const { [axis]: value, ...others } = matrix as Record<string, Json>
    const key = `${suite}\n${placeText(place)}\n${JSON.stringify(others)}`
    const column = valueWords(value!)
    const row = rows.get(key) ?? {
      suite,
      title: titleOf({ name: without(name, axis, value!), matrix: others, attempt: 1 }),
      cells: new Map(),
    }
    row.cells.set(column, [...(row.cells.get(column) ?? []), numbered])
    rows.set(key, row)
  }
  return [...rows.values()]
}

/** Returns the name of a case without the value of its column, or without its fields: `a {format} fills`. */
function without(name: string, axis: string, value: Json): string {
  const words = valueWords(value)
  const bracketed = [` [${axis}=${words}]`, ` (${axis}=${words})`, ` {${axis}: ${words}}`].find((text) =>
    name.includes(text),
  )
  if (bracketed !== undefined) return name.replace(bracketed, '')
  // Whole words only, in any language.
  const escaped = words.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const whole = new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'u')
  if (words !== '' && whole.test(name)) return name.replace(whole, () => `{${axis}}`)
  if (!isObject(value)) return name
  return Object.entries(value).reduce((text, [field, inner]) => without(text, `${axis}.${field}`, inner), name)
}

const severity: readonly Outcome[] = ['failed', 'not_run', 'passed', 'not_applicable']

function cellMarkup(attempts: readonly Numbered[]): Markup | null {
  const [worst] = attempts.toSorted((a, b) => severity.indexOf(a.item.outcome) - severity.indexOf(b.item.outcome))
  if (worst === undefined) return null
  const { outcome } = worst.item
  const label = `${outcomeWords[outcome]}: ${visible(worst.item.name)}`
  return html`<a class="mark ${outcome}" href="#case-${worst.number}" aria-label="${label}" title="${label}">${glyphs[outcome]}</a>`
}

function hasFailed({ cells }: Row): boolean {
  return [...cells.values()].some((attempts) => attempts.some(({ item }) => item.outcome === 'failed'))
}
