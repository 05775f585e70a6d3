/** SECURITY.md names a test for each line, or a case of a shipped suite: each is in its file, under that title. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const rows = readFileSync(join(root, '.github/SECURITY.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!It \||They \||Subject \|)/.test(line))
  .map((line) => {
    const [, file = '', title = ''] = /\| `([^`]+)`: (.+) \|$/.exec(line) ?? []
    return { line, file, title }
  })

test('every line of SECURITY.md names a test, and there is one in each part', () => {
  expect(rows.length).toBeGreaterThan(15)
  for (const { line, file } of rows)
    expect(file, line).toMatch(/^(tests|src|sandbox)\/.+\.test\.ts$|^src\/judge\/qa\/suites\/.+\.yaml$/)
})

test.each(rows)('$title', ({ file, title }) => {
  expect(existsSync(join(root, file)), file).toBe(true)
  const source = readFileSync(join(root, file), 'utf8')
  if (file.endsWith('.yaml')) return expect(source.split('\n')).toContain(`  - name: ${title}`)
  const titles = [...source.matchAll(/(?:\btest(?:\.each[^\n]*?\))?|\n *\]\))\(\s*(['"`])(.+?)\1, /g)].map(
    ([, , text]) => text,
  )
  expect(titles).toContain(title)
})
