/** dist/openapi.json: the OpenAPI document as the build writes it. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withAddress } from '#foundation/http.ts'
import { type JsonObject, parseJsonObject } from '#foundation/json.ts'
import { startSandbox } from '#sandbox/index.ts'
import { root } from '#tests/cli/process.ts'
import { svc } from '#tests/cli/test-cli.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const built = parseJsonObject(readFileSync(new URL('../../dist/openapi.json', import.meta.url), 'utf8'))

test('the built document is the one that a sandbox serves, at its own address', async () => {
  await using sandbox = await startSandbox({ seed: 1 })
  const response = await fetch(`${sandbox.url}/_sandbox/openapi.json`)
  const served = (await response.json()) as JsonObject
  expect(served.servers).toEqual([{ url: sandbox.url }])
  expect(JSON.parse(withAddress(JSON.stringify(built), sandbox.url))).toEqual(served)
})

test.each(['openapi', 'openapi --v1', 'openapi --control'])('svc %s is a valid document of OpenAPI', async (args) => {
  const { stdout } = await svc(args, {})
  const file = join(temporaryDirectory(), 'openapi.json')
  writeFileSync(file, stdout)
  const { stdout: verdict } = spawnSync(join(root, 'node_modules/.bin/validate-api'), [file], { encoding: 'utf8' })
  expect(JSON.parse(verdict)).toEqual({ valid: true })
})
