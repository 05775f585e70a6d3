/** dist/openapi.json: the OpenAPI document as the build writes it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startSandbox } from '../../sandbox/index.ts'
import { type JsonObject, parseJsonObject } from '../../src/foundation/json.ts'

const built = parseJsonObject(readFileSync(new URL('../../dist/openapi.json', import.meta.url), 'utf8'))

test('the built document is the one that a sandbox serves, at its own address', async () => {
  await using sandbox = await startSandbox({ seed: 1 })
  const response = await fetch(`${sandbox.url}/_sandbox/openapi.json`)
  const served = (await response.json()) as JsonObject
  expect(served.servers).toEqual([{ url: sandbox.url }])
  expect(built).toEqual({ ...served, servers: [{ url: 'http://127.0.0.1:4010' }] })
})

test('every $ref of the built document resolves', () => {
  const references = [...JSON.stringify(built).matchAll(/"\$ref":"#\/components\/([^"/]+)\/([^"]+)"/g)]
  expect(references.length).toBeGreaterThan(100)
  expect(JSON.stringify(built).match(/"\$ref"/g)).toHaveLength(references.length)
  const components = built?.components as Record<string, JsonObject>
  for (const [reference, kind = '', name = ''] of references) {
    expect(components[kind], reference).toHaveProperty([name])
  }
})
