/** dist/openapi.json: the OpenAPI document as the build writes it. */
import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { withAddress } from '#foundation/http.ts'
import { type JsonObject, parseJsonObject } from '#foundation/json.ts'
import { startSandbox } from '#sandbox/index.ts'
import { svc } from '#tests/cli/test-cli.ts'

const built = parseJsonObject(readFileSync(new URL('../../dist/openapi.json', import.meta.url), 'utf8'))

test('the built document is the one that a sandbox serves, at its own address', async () => {
  await using sandbox = await startSandbox({ seed: 1 })
  const response = await fetch(`${sandbox.url}/_sandbox/openapi.json`)
  const served = (await response.json()) as JsonObject
  expect(served.servers).toEqual([{ url: sandbox.url }])
  expect(JSON.parse(withAddress(JSON.stringify(built), sandbox.url))).toEqual(served)
})

test.each(['contract openapi', 'contract openapi --v1', 'contract openapi --control'])(
  'svc %s is a valid document of OpenAPI',
  async (args) => {
    const { stdout } = await svc(args, {})
    expect(await new Validator().validate(JSON.parse(stdout))).toEqual({ valid: true })
  },
)
