import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { locateKeys } from './key-sources.ts'
import type { PageSeen } from './page.ts'
import { secretKeysIn } from './served-files.ts'

const key = 'sk_test_abcdefgh'

/** A page that got a key in a script of its server, and sent it. */
const page = {
  keys: secretKeysIn(`\n const k = '${key}'`).map((found) => ({ file: 'http://localhost/app.js', ...found })),
  key_requests: [{ method: 'GET', url: 'http://localhost/a', where: 'headers', key: secretKeysIn(key)[0]! }],
} as unknown as PageSeen

async function placesIn(files: Readonly<Record<string, string>>) {
  const root = temporaryDirectory()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  const { keys, key_requests } = await locateKeys(page, root)
  return [...keys.map(({ source }) => source), ...key_requests.map((request) => request.key.source)]
}

const twice = (file: string, line: number, column: number) => [
  { file, line, column },
  { file, line, column },
]

test.each([
  ['src/app.js', `const a = 1\nconst key = '${key}'`, 2, 14],
  ['views/index.html.erb', `<%= "${key}" %>`, 1, 6],
  ['.env', `OTHER=1\nVITE_SVC_KEY=${key}`, 2, 14],
  ['.env.local', `export NEXT_PUBLIC_KEY="${key}"`, 1, 25],
])('%s has the key', async (name, text, line, column) => {
  expect(await placesIn({ [name]: text })).toEqual(twice(join(name), line, column))
})

test.each([
  ['.env', `SVC_SECRET_KEY=${key}`],
  ['dist/app.js', key],
  ['node_modules/a/app.js', key],
  ['src/other.js', `${key}x`],
  ['src/redacted.js', 'sk_test_redacted'],
])('%s is no place of the key', async (name, text) => {
  expect(await placesIn({ [name]: text })).toEqual([undefined, undefined])
})

test('the key itself is in no fact', () => {
  expect(JSON.stringify(page)).not.toContain(key)
})
