import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { referenceFiles } from '#build/docs/reference.ts'
import { compat, control, v1 } from '#contract/index.ts'

const parts = { v1, control }

test.each(['v1', 'control'] as const)('the contract has the endpoints in %s of every resource', async (part) => {
  const files = readdirSync(new URL('../../src/core/contract/resources/', import.meta.url), {
    recursive: true,
    encoding: 'utf8',
  })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replaceAll('\\', '/'))
  const declared = await Promise.all(
    files.map(async (name) => {
      const path = `../../src/core/contract/resources/${name.replace('.ts', '')}.ts`
      return (await import(path)) as { v1?: object; control?: object }
    }),
  )
  const ids = declared.flatMap((resource) => Object.keys(resource[part] ?? {}))
  expect(ids.toSorted()).toEqual(Object.keys(parts[part]).toSorted())
})

test('an endpoint has its key as its id, and its path under its own prefix', () => {
  for (const [id, endpoint] of Object.entries({ ...v1, ...compat, ...control })) expect(endpoint.id).toBe(id)
  for (const { path } of Object.values(v1)) expect(path).toMatch(/^\/v1\//)
  for (const { path, stability } of Object.values(compat)) {
    expect(path).toMatch(stability === 'deprecated' ? /^\/public\/(wrapper|browser)\/v1\// : /^\/v1\//)
  }
  for (const { path } of Object.values(control)) expect(path).toMatch(/^\/_sandbox\//)
})

test.each(Object.entries(referenceFiles()))('docs/%s is up to date: npm run docs', (file, written) => {
  expect(readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8') === written).toBe(true)
})
