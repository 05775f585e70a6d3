import { expect, test } from 'vitest'
import { commands } from '#src/program.ts'
import { firstWords, withCommandName } from './command-name.ts'

test('every command of the first level is known by its name', () => {
  expect([...firstWords].sort()).toEqual([...commands.map(({ name }) => name), 'help'].sort())
})

test.each([
  ['Update svc to that version.', null],
  ['This looks like a bug in svc.', null],
  ['Run /opt/svc start, ./svc start or bin/svc start.', null],
  ['Start one: npx svc start', null],
  ['Start one: npx --no svc-sandbox start', null],
  ['svc needs Node 22, and svc startles nobody.', null],
  ['Start one: svc start', 'Start one: npx svc start'],
  ['svc docs errors, or: svc sandbox ps', 'npx svc docs errors, or: npx svc sandbox ps'],
])('%s', (advice, named) => {
  expect(withCommandName(advice, 'npx svc')).toBe(named ?? advice)
})
