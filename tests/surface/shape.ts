/** Flattens JSON values into lines that a person can compare: one path a line, with its type. */

type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

/** What was seen at one path of one or more values. */
interface Shape {
  types: Set<string>
  objects: number
  fields: Map<string, { shape: Shape; count: number }>
  items: Shape | null
}

/**
 * Returns a function that prints a list of JSON texts as `path: type` lines: the keys and types that they have together, and no
 * value. An object that it has printed before is named by where that was.
 */
export function createShapePrinter(): (texts: readonly string[], title: string) => string[] {
  const printedAt = new Map<string, string>()
  return (texts, title) => {
    const shape = emptyShape()
    for (const text of texts) addValue(shape, JSON.parse(text) as Json)
    return printShape(shape, '$', '', (inner, path) => {
      const content = inner.join('\n')
      const earlier = printedAt.get(content)
      if (earlier === undefined) printedAt.set(content, `${path} of ${title}`)
      return earlier ?? null
    })
  }
}

function emptyShape(): Shape {
  return { types: new Set(), objects: 0, fields: new Map(), items: null }
}

function addValue(shape: Shape, value: Json): void {
  if (Array.isArray(value)) {
    shape.types.add('array')
    shape.items ??= emptyShape()
    for (const item of value) addValue(shape.items, item)
  } else if (typeof value === 'object' && value !== null) {
    shape.types.add('object')
    shape.objects += 1
    for (const [key, field] of Object.entries(value)) addField(shape, key, openFields.has(key) ? {} : field)
  } else {
    shape.types.add(value === null ? 'null' : typeof value)
  }
}

/** Which headers a client sends depends on the version of Node, which axes a case has on its suite. */
const openFields: ReadonlySet<string> = new Set(['request_headers', 'matrix'])

function addField(shape: Shape, key: string, value: Json): void {
  const name = /^[a-z]+_[0-9a-z]{11}/.test(key) ? '*' : key
  const field = shape.fields.get(name) ?? { shape: emptyShape(), count: 0 }
  field.count += 1
  shape.fields.set(name, field)
  addValue(field.shape, value)
}

/** Returns where these lines, relative to a path, were printed; null when they are new. */
type FindPrinted = (inner: readonly string[], path: string) => string | null

/** Sorted by path; `?` marks a field that some objects at this path do not have. */
function printShape(shape: Shape, path: string, mark: string, findPrinted: FindPrinted): string[] {
  const own = `${path}${mark}: ${[...shape.types].sort().join(' | ') || 'nothing'}`
  const inner = printInner(shape, '', () => null)
  const earlier = inner.length < 3 ? null : findPrinted(inner, path)
  return earlier === null ? [own, ...printInner(shape, path, findPrinted)] : [`${own} as ${earlier}`]
}

function printInner({ objects, fields, items }: Shape, path: string, findPrinted: FindPrinted): string[] {
  const inFields = [...fields]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { shape, count }]) => {
      return printShape(shape, `${path}.${name}`, count < objects ? '?' : '', findPrinted)
    })
  return [...inFields, ...(items === null ? [] : printShape(items, `${path}[]`, '', findPrinted))]
}
