/** JSON with places: the value, and where in the text each member and item of it stands. Offsets count UTF-16 units. */

/** A value of the text. */
export interface JsonNode {
  value: unknown
  start: number
  end: number
  /** Of an object: each member, with the place of its name. The last of a name counts, as in JSON.parse. */
  members: ReadonlyMap<string, { name_start: number; node: JsonNode }> | null
  /** Of an array. */
  items: readonly JsonNode[] | null
}

export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

/** Deeper than any body of the contract; the service refuses it too. */
const deepest = 64

/** Parses the whole of `text` from `start` to `end`. Throws JsonSyntaxError. */
export function parseJsonText(text: string, start = 0, end = text.length): JsonNode {
  let at = start

  const fail = (message: string): never => {
    throw new JsonSyntaxError(message, Math.min(at, end))
  }
  const skipBlanks = () => {
    while (at < end && /[ \t\r\n]/.test(text[at] as string)) at++
  }
  const take = (character: string, what: string) => {
    skipBlanks()
    if (at >= end) fail(`The text ends where ${what} should follow.`)
    if (text[at] !== character) fail(`Here should be ${what}, not ${shown(text[at] as string)}.`)
    at++
  }
  const comes = (character: string) => {
    skipBlanks()
    return at < end && text[at] === character
  }

  const node = readValue(0)
  skipBlanks()
  if (at < end) fail('Something follows the JSON value.')
  return node

  function readValue(depth: number): JsonNode {
    skipBlanks()
    if (depth > deepest) fail(`It nests deeper than ${deepest} levels.`)
    if (at >= end) fail('The text ends where a value should be.')
    if (text[at] === '{') return readObject(depth)
    if (text[at] === '[') return readArray(depth)
    return readScalar()
  }

  function readObject(depth: number): JsonNode {
    const from = at++
    const members = new Map<string, { name_start: number; node: JsonNode }>()
    while (!comes('}')) {
      if (members.size > 0) take(',', 'a comma or }')
      skipBlanks()
      const name_start = at
      if (text[at] === '}') fail('A comma stands before }: remove it.')
      if (at < end && text[at] !== '"') fail('The name of a member must be in double quotes.')
      const name = readScalar().value as string
      take(':', 'a colon')
      members.set(name, { name_start, node: readValue(depth + 1) })
    }
    at++
    const value = Object.fromEntries([...members].map(([name, { node }]) => [name, node.value]))
    return { value, start: from, end: at, members, items: null }
  }

  function readArray(depth: number): JsonNode {
    const from = at++
    const items: JsonNode[] = []
    while (!comes(']')) {
      if (items.length > 0) take(',', 'a comma or ]')
      if (comes(']')) fail('A comma stands before ]: remove it.')
      items.push(readValue(depth + 1))
    }
    at++
    return { value: items.map(({ value }) => value), start: from, end: at, members: null, items }
  }

  /** A string, a number or a word: its extent is found here, JSON.parse says what it is. */
  function readScalar(): JsonNode {
    const from = at
    const pattern = text[at] === '"' ? /"(?:[^"\\\u0000-\u001f]|\\.)*"/y : /[^\s,:[\]{}"]+/y
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found === undefined || at + found.length > end) return fail(unreadable(text[at]))
    try {
      const value: unknown = JSON.parse(found)
      at += found.length
      return { value, start: from, end: at, members: null, items: null }
    } catch {
      return fail(`${shown(found.slice(0, 20))} is no JSON value.`)
    }
  }
}

/** The innermost node on the way to `path`, and whether that is the whole way. */
export function nodeAt(root: JsonNode, path: readonly PropertyKey[]): JsonNode {
  let node = root
  for (const key of path) {
    const inner = node.members?.get(String(key))?.node ?? node.items?.[Number(key)]
    if (inner === undefined) return node
    node = inner
  }
  return node
}

/** Where the name of a member stands; the place of what is around it when there is none. */
export function nameStart(root: JsonNode, path: readonly PropertyKey[]): number {
  const around = nodeAt(root, path.slice(0, -1))
  return around.members?.get(String(path.at(-1)))?.name_start ?? nodeAt(root, path).start
}

/** Line and column, both from 1, of offsets of one text. */
export function createPlaces(text: string): (offset: number) => { line: number; column: number } {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] as number) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] as number) + 1 }
  }
}

function unreadable(character: string | undefined): string {
  if (character === '"') return 'This string does not end, or holds a line break or control character.'
  return character === undefined ? 'The text ends where a value should be.' : `${shown(character)} is no JSON value.`
}

/** Control characters could steer a terminal. */
function shown(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?')
}
