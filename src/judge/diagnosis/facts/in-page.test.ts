import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('what runs in the page takes its clock from the window: the build replaces the bare name with one that only Node has', () => {
  const source = readFileSync(join(import.meta.dirname, 'in-page.ts'), 'utf8')
  expect(source).toContain('window.performance.now()')
  expect(source.match(/(?<![.\w])(performance\.now|Date\.now|setTimeout|setInterval|queueMicrotask)\(/g)).toBeNull()
})
