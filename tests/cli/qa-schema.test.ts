import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtinNames, loadSuites } from '#qa/suite/builtin.ts'
import { qaSuiteSchema } from '#qa/suite/schema.ts'
import { root } from './process.ts'

test('the published schema is the one that suites are read with', () => {
  const published = readFileSync(join(root, 'fixtures/svc.qa.schema.json'), 'utf8')
  expect(JSON.parse(published)).toEqual(qaSuiteSchema())
})

test('every built-in suite is well formed, and names itself as its file does', () => {
  const names = builtinNames()
  expect(names.length).toBeGreaterThan(2)
  expect(loadSuites(names, (file) => file).map(({ name }) => name)).toEqual(names)
})
