import { describe, expect, test } from 'vitest'
import { addEntry, JsonFileError, readEntry, removeEntry, replaceEntry } from './json-entry.ts'

const value = { command: 'svc', args: ['mcp'] }

/** Files as people write them. */
const texts: Readonly<Record<string, string>> = {
  'of two servers': '{\n  "servers": {\n    "a": { "command": "x" },\n    "b": { "command": "y" }\n  }\n}\n',
  'with tabs and Windows line ends': '{\r\n\t"servers": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n',
  'on one line': '{"servers":{"a":{}},"other":1}',
  'on one line and empty': '{ "servers": {} }',
  'without servers yet': '{\n    "servers": {}\n}\n',
  'with comments everywhere':
    '// top\n{\n  // servers of the team\n  "servers": {\n    "a": {}, // the first\n    /* the\n       second */\n    "b": {} // the last\n    // end\n  } // closed\n}\n// bottom\n',
  'with a trailing comma': '{\n  "servers": {\n    "a": {}, // kept\n  },\n}\n',
  'with only a comment in the servers': '{\n  "servers": {\n    // none yet\n  }\n}\n',
}

describe.each(Object.entries(texts))('a file %s', (_name, text) => {
  test('keeps everything around an added property, and is the same again without it', () => {
    const added = addEntry(text, ['servers'], 'svc', value)
    expect(readEntry(added.text, ['servers', 'svc'])).toEqual(value)
    const others = (each: string) => each.replace(/"svc": \{[^}]*\}/, '').replace(/[\s,]+/g, '')
    expect(others(added.text)).toBe(others(text))
    expect(removeEntry(added.text, ['servers', 'svc'], added.added_comma)).toBe(text)
  })

  test('has a replaced value in the same place', () => {
    const { text: first, added_comma } = addEntry(text, ['servers'], 'svc', value)
    const second = replaceEntry(first, ['servers', 'svc'], { command: 'npx', args: [] })
    expect(readEntry(second, ['servers', 'svc'])).toEqual({ command: 'npx', args: [] })
    expect(removeEntry(second, ['servers', 'svc'], added_comma)).toBe(text)
  })

  test('gets an object of servers of its own, which leaves without a trace', () => {
    const { text: added, added_comma } = addEntry(text, [], 'mcp', { svc: value })
    expect(readEntry(added, ['mcp', 'svc'])).toEqual(value)
    expect(readEntry(added, ['servers'])).toEqual(readEntry(text, ['servers']))
    expect(removeEntry(added, ['mcp'], added_comma)).toBe(text)
  })
})

test('a property between others leaves them as they are', () => {
  const text = '{\n  "a": 1, // one\n  "svc": 2, // two\n  "b": 3\n}\n'
  expect(removeEntry(text, ['svc'], true)).toBe('{\n  "a": 1, // one // two\n  "b": 3\n}\n')
})

test('added properties look like their neighbours', () => {
  expect(addEntry(texts['of two servers']!, ['servers'], 'svc', value).text).toBe(
    '{\n  "servers": {\n    "a": { "command": "x" },\n    "b": { "command": "y" },\n    "svc": {\n      "command": "svc",\n      "args": [\n        "mcp"\n      ]\n    }\n  }\n}\n',
  )
  expect(addEntry(texts['on one line']!, ['servers'], 'svc', 1).text).toBe('{"servers":{"a":{}, "svc": 1},"other":1}')
  expect(addEntry('{\n  "servers": {\n    "a": {} // last\n  }\n}', ['servers'], 'svc', 1).text).toBe(
    '{\n  "servers": {\n    "a": {}, // last\n    "svc": 1\n  }\n}',
  )
})

test.each([
  ['{ "a": 1 "b": 2 }', 'it is not JSON. Line 1, column 10: A comma is missing here.'],
  ['[]', 'it is not a JSON object'],
  [`{ "a":\n${'['.repeat(50_000)}`, 'it cannot be read. Line 2, column 64: It nests deeper than 64 levels.'],
  ['', 'it is not JSON. Line 1, column 1: The text ends too early: a value, a comma or a bracket is missing.'],
  ['{ "servers": [] }', 'its servers is not an object'],
])('%s is refused', (text, message) => {
  expect(() => addEntry(text, ['servers'], 'svc', 1)).toThrow(new JsonFileError(message))
})
