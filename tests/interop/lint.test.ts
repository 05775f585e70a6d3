/** Two linters, each with its strictest common rules, find nothing in the document or its parts. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { openapiDocument } from '../../src/contract/openapi.ts'
import type { JsonObject } from '../../src/foundation/json.ts'
import { run } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'

const tools = inject('tools')
const directory = temporaryDirectory()
writeFileSync(join(directory, 'spectral.yaml'), 'extends: ["spectral:oas"]\n')

type Linter = (document: JsonObject) => Promise<string[]>

/** Returns the findings of Redocly CLI, as `rule: message at pointer`. */
const redocly: Linter = async (document) => {
  const args = ['lint', '--extends', 'recommended-strict', '--format', 'json', written(document)]
  const { problems } = JSON.parse(await report('@redocly/cli/bin/cli.js', args)) as {
    problems: { ruleId: string; message: string; location: { pointer?: string }[] }[]
  }
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer}`)
}

/** The same of Spectral. */
const spectral: Linter = async (document) => {
  const args = ['lint', '--ruleset', join(directory, 'spectral.yaml'), '--format', 'json', '--quiet', written(document)]
  const text = await report('@stoplight/spectral-cli/dist/index.js', args)
  const findings = JSON.parse(text) as { code: string; message: string; path: (string | number)[] }[]
  return findings.map(({ code, message, path }) => `${code}: ${message} at ${path.join('/')}`)
}

const linters: [string, Linter][] = [
  ['Redocly recommended-strict', redocly],
  ['Spectral spectral:oas', spectral],
]

let count = 0

function written(document: JsonObject): string {
  const file = join(directory, `openapi-${count++}.json`)
  writeFileSync(file, JSON.stringify(document))
  return file
}

/** Returns the JSON that a linter prints. It exits with 1 when it has findings, which are in what `run` rejects with. */
async function report(script: string, args: readonly string[]): Promise<string> {
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const output = await run(process.execPath, [join(tools, 'node_modules', script), ...args], directory, quiet).catch(
    (error: Error) => error.message.slice(error.message.indexOf('\n') + 1),
  )
  // Up to the bracket that closes the first: what stderr says comes behind it.
  return /^(?:\[\]|[\s\S]*?\n[}\]])/.exec(output)?.[0] ?? output
}

describe.each(linters)('%s', (_, lint) => {
  test.each(['whole', 'v1', 'sandbox'] as const)('finds nothing: %s', async (part) => {
    const document = openapiDocument({ server_url: 'http://127.0.0.1:4010', only: part === 'whole' ? undefined : part })
    expect(await lint(document)).toEqual([])
  })

  test('finds a component that nothing refers to, and an example that is not valid', async () => {
    const document = JSON.parse(JSON.stringify(openapiDocument({ server_url: 'http://127.0.0.1:4010', only: 'v1' })))
    document.components.schemas.Unused = { type: 'string' }
    document.paths['/v1/beacons'].post.requestBody.content['application/json'].examples.render.value.event = 'seen'
    const findings = await lint(document)
    expect(findings.filter((finding) => finding.includes('Unused'))).toHaveLength(1)
    expect(findings.filter((finding) => finding.includes('example'))).not.toHaveLength(0)
  })
})
