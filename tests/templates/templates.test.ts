import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listTemplates } from '#scaffold/templates.ts'

/** Test files here that are about no single template. */
const others = ['playback', 'assistant-ui', 'templates', 'test-frameworks']

test('every template has tests here', () => {
  const tested = globSync('*.test.ts', { cwd: import.meta.dirname }).map((file) => file.replace('.test.ts', ''))
  expect(tested.filter((name) => !others.includes(name)).toSorted()).toEqual(
    listTemplates()
      .map(({ name }) => name)
      .toSorted(),
  )
})
