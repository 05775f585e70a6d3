import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listTemplates } from '../../src/scaffold/templates.ts'

test('every template has tests here', () => {
  const tested = globSync('*.test.ts', { cwd: import.meta.dirname }).map((file) => file.replace('.test.ts', ''))
  expect(tested.filter((name) => name !== 'templates').toSorted()).toEqual(
    listTemplates()
      .map(({ name }) => name)
      .toSorted(),
  )
})
