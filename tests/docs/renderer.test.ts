/** docs/renderer.md names every event, code and option there is, and none that is not. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../cli/process.ts'

const page = readFileSync(join(root, 'docs/renderer.md'), 'utf8')
const host = (file: string) => readFileSync(join(root, 'sandbox/renderer/host', file), 'utf8')

/** Members of `type Name = | 'a' | 'b'`. */
function union(source: string, name: string): string[] {
  const [, body = ''] = new RegExp(`type ${name} =([^}]*?)\\n\\n`).exec(source) ?? []
  return [...body.matchAll(/'([\w:]+)'/g)].map(([, member]) => member!)
}

/** Members of an interface, by name. */
function members(source: string, name: string): string[] {
  const [, body = ''] = new RegExp(`interface ${name} {\\n([\\s\\S]*?)\\n}`).exec(source) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?'?([\w:]+)'?[?]?[:(<]/gm)].map(([, member]) => member!)
}

/** What stands in the first column of the table under a heading. */
function firstColumn(heading: string): string[] {
  const [, section = ''] = new RegExp(`\\n#+ ${heading}\\n([\\s\\S]*?)(?=\\n#|$)`).exec(page) ?? []
  return [...section.matchAll(/^\| ((?:`[^`]+`[ ,]*)+)\|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  )
}

test.each([
  ['error', () => union(host('events.ts'), 'ErrorCode')],
  ['blocked', () => union(host('consent.ts'), 'ConsentReason')],
  ['Events', () => members(host('events.ts'), 'EventDetails')],
  ['A turn, with your own backend', () => members(host('turn.ts'), 'TurnOptions')],
] as const)('the table of %s is complete', (heading, names) => {
  expect(names().length).toBeGreaterThan(3)
  expect(firstColumn(heading).toSorted()).toEqual(names().toSorted())
})

test('every entry point is told of', () => {
  const entries = members(host('api.ts'), 'SponsoredPlacement')
  expect(entries).toContain('startTurn')
  for (const entry of entries) expect(page).toMatch(new RegExp(`\`${entry}[\`(]|SponsoredPlacement\\.${entry}\\(`))
})
