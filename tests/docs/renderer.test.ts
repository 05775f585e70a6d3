/** docs/renderer.md lists every event, code and option, and no others. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '#tests/cli/process.ts'

const page = readFileSync(join(root, 'docs/renderer.md'), 'utf8')
const host = (file: string) => readFileSync(join(root, 'sandbox/pages/renderer/host', file), 'utf8')

/** Returns the strings of `type Name = | 'a' | 'b'`. */
function union(source: string, name: string): string[] {
  const [, body = ''] = new RegExp(`type ${name} =([^}]*?)\\n\\n`).exec(source) ?? []
  return [...body.matchAll(/'([\w:]+)'/g)].map(([, name]) => name!)
}

/** Returns the property names of an interface. */
function properties(source: string, name: string): string[] {
  const [, body = ''] = new RegExp(`interface ${name} {\\n([\\s\\S]*?)\\n}`).exec(source) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?'?([\w:]+)'?[?]?[:(<]/gm)].map(([, name]) => name!)
}

/** Returns the names in the first column of the table under a heading. */
function firstColumn(heading: string): string[] {
  const [, section = ''] = new RegExp(`\\n#+ ${heading}\\n([\\s\\S]*?)(?=\\n#|$)`).exec(page) ?? []
  return [...section.matchAll(/^\| ((?:`[^`]+`[ ,]*)+)\|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  )
}

test.each([
  ['error', () => union(host('events.ts'), 'ErrorCode')],
  ['blocked', () => union(host('consent.ts'), 'ConsentReason')],
  ['Events', () => properties(host('events.ts'), 'EventDetails')],
  ['Run a turn with your backend', () => properties(host('turn.ts'), 'TurnOptions')],
] as const)('the table of %s is complete', (heading, names) => {
  expect(names().length).toBeGreaterThan(3)
  expect(firstColumn(heading).toSorted()).toEqual(names().toSorted())
})

test('every entry point is documented', () => {
  const entries = properties(host('main.ts'), 'SponsoredPlacement')
  expect(entries).toContain('startTurn')
  for (const entry of entries) expect(page).toMatch(new RegExp(`\`${entry}[\`(]|SponsoredPlacement\\.${entry}\\(`))
})
