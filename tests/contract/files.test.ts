import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { referenceMarkdown } from '../../docs/reference.ts'
import { compat, control, v1 } from '../../src/contract/index.ts'

const parts = { v1, control }

test.each(['v1', 'control'] as const)(
  'the contract has every endpoint of every file of contract/%s',
  async (folder) => {
    const files = readdirSync(new URL(`../../src/contract/${folder}/`, import.meta.url))
    const declared = await Promise.all(
      files.map(async (name) => {
        return (await import(`../../src/contract/${folder}/${name.replace('.ts', '')}.ts`)) as { endpoints?: object }
      }),
    )
    const ids = declared.flatMap(({ endpoints = {} }) => Object.keys(endpoints))
    expect(ids.toSorted()).toEqual(Object.keys(parts[folder]).toSorted())
  },
)

test('an endpoint has its key as its id, and its path under its own prefix', () => {
  for (const [id, endpoint] of Object.entries({ ...v1, ...compat, ...control })) expect(endpoint.id).toBe(id)
  for (const { path } of Object.values(v1)) expect(path).toMatch(/^\/v1\//)
  for (const { path, stability } of Object.values(compat)) {
    expect(path).toMatch(stability === 'deprecated' ? /^\/public\/(wrapper|browser)\/v1\// : /^\/v1\//)
  }
  for (const { path } of Object.values(control)) expect(path).toMatch(/^\/_sandbox\//)
})

test('docs/reference.md is up to date: npm run docs', () => {
  const text = readFileSync(new URL('../../docs/reference.md', import.meta.url), 'utf8')
  expect(text === referenceMarkdown()).toBe(true)
})
