/** JSON files with comments of other programs, to which `svc agent setup` adds an entry and takes it away again. */
import { addEntry, JsonFileError, readEntry, removeEntry, replaceEntry } from '#agent-files/json-entry.ts'
import { check, checkSame, type FuzzTarget, readOrRefuse } from '../target.ts'

const value = { command: 'npx', args: ['svc-sandbox', 'agent', 'mcp'] }

export const target: FuzzTarget = {
  max_bytes: 400,
  words: [
    '{"mcpServers": {',
    '"mcpServers"',
    '}',
    '// a\n',
    '/* a */',
    ',',
    '\r\n',
    '\t',
    '"svc": 1',
    '{}',
    '"__proto__": {}',
    '[]',
    '\ufeff',
  ],
  run(bytes) {
    const text = bytes.toString('utf8')
    for (const path of [[], ['mcpServers']]) {
      const before = readOrRefuse(() => ({ found: readEntry(text, [...path, 'svc']) }), JsonFileError)
      if (before === null || before.found !== undefined) continue
      const added = readOrRefuse(() => addEntry(text, path, 'svc', value), JsonFileError)
      if (added === null) continue
      checkSame(readEntry(added.text, [...path, 'svc']), value, 'the entry that was added')
      checkSame(
        readEntry(replaceEntry(added.text, [...path, 'svc'], 1), [...path, 'svc']),
        1,
        'the entry that was replaced',
      )
      const removed = removeEntry(added.text, [...path, 'svc'], added.added_comma)
      check(readEntry(removed, [...path, 'svc']) === undefined, 'the entry that was removed is there')
      check(compact(removed) === compact(text), `a removal left another file: ${JSON.stringify(removed)}`)
    }
  },
}

/** Blanks inside of an object that was empty are not kept. */
function compact(text: string): string {
  return text.replaceAll(/\s+/g, '')
}
