/** JSON of files that are committed, in lines of up to 120 columns: plain values share a line, objects do not. */
import { isObject, type Json } from '#foundation/json.ts'

const width = 120

/** Returns the text of a value without a line feed at its end. `indent` is that of its line, `used` what precedes it there. */
export function formatJson(value: Json, indent = '', used = 0): string {
  const line = printLine(value)
  // A comma may follow.
  if (typeof value !== 'object' || value === null || indent.length + used + line.length < width) return line
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    const items = value.map((item) => ({ text: formatJson(item, inner), isPlain: !isObject(item) }))
    return `[\n${fillLines(items, inner)}\n${indent}]`
  }
  const fields = Object.entries(value).map(([name, field]) => {
    const key = `${JSON.stringify(name)}: `
    return { text: key + formatJson(field, inner, key.length), isPlain: typeof field !== 'object' || field === null }
  })
  return `{\n${fillLines(fields, inner)}\n${indent}}`
}

function fillLines(parts: readonly { text: string; isPlain: boolean }[], indent: string): string {
  const lines: string[] = []
  let canFollow = false
  for (const { text, isPlain } of parts) {
    const last = lines.at(-1)
    const joined = `${last}, ${text}`
    if (canFollow && isPlain && joined.length < width) lines[lines.length - 1] = joined
    else lines.push(indent + text)
    canFollow = isPlain
  }
  return lines.join(',\n')
}

function printLine(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(printLine).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${printLine(field)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}
