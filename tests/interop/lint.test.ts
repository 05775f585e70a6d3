/** Two linters, each with its strictest common rules, find nothing in the document or its parts. */
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { openapiDocument } from '../../src/core/contract/openapi/document.ts'
import type { JsonObject } from '../../src/core/foundation/json.ts'
import { run } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'

const tools = inject('tools')
const directory = temporaryDirectory()
writeFileSync(join(directory, 'spectral.yaml'), 'extends: ["spectral:oas"]\n')

/** Returns the findings in documents by their names, as `name: rule: message at pointer`. */
type Linter = (documents: Record<string, JsonObject>) => Promise<string[]>

/** Redocly CLI, which prints a report of JSON for each document, not one of all: a process each. */
const redocly: Linter = async (documents) => {
  const findings: string[] = []
  for (const [name, document] of Object.entries(documents)) {
    const args = ['lint', '--extends', 'recommended-strict', '--format', 'json', ...written({ [name]: document })]
    const { problems } = JSON.parse(await report('@redocly/cli/bin/cli.js', args)) as {
      problems: { ruleId: string; message: string; location: { pointer?: string }[] }[]
    }
    for (const { ruleId, message, location } of problems)
      findings.push(`${name}: ${ruleId}: ${message} at ${location[0]?.pointer}`)
  }
  return findings
}

/** Spectral, in one process: most of the time of one is what its rules take to load and to compile. */
const spectral: Linter = async (documents) => {
  const flags = ['--ruleset', join(directory, 'spectral.yaml'), '--format', 'json', '--quiet']
  const text = await report('@stoplight/spectral-cli/dist/index.js', ['lint', ...flags, ...written(documents)])
  const findings = JSON.parse(text) as { code: string; message: string; path: (string | number)[]; source: string }[]
  return findings.map(
    ({ code, message, path, source }) => `${basename(source, '.json')}: ${code}: ${message} at ${path.join('/')}`,
  )
}

const linters: [string, Linter][] = [
  ['Redocly recommended-strict', redocly],
  ['Spectral spectral:oas', spectral],
]

/** Writes each to a file that is named after it. */
function written(documents: Record<string, JsonObject>): string[] {
  return Object.entries(documents).map(([name, document]) => {
    const file = join(directory, `${name}.json`)
    writeFileSync(file, JSON.stringify(document))
    return file
  })
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

const server_url = 'http://127.0.0.1:4010'

describe.each(linters)('%s', (_, lint) => {
  test('finds nothing in the whole document and its parts but what is damaged in one', async () => {
    // A part by itself would be linted twice: whatever else is wrong with it is found here too.
    const v1 = JSON.parse(JSON.stringify(openapiDocument({ server_url, only: 'v1' })))
    // A component that nothing refers to, and an example that is not valid.
    v1.components.schemas.Unused = { type: 'string' }
    v1.paths['/v1/beacons'].post.requestBody.content['application/json'].examples.render.value.event = 'seen'
    const findings = await lint({
      whole: openapiDocument({ server_url }),
      v1,
      sandbox: openapiDocument({ server_url, only: 'sandbox' }),
    })
    expect(findings).toEqual([
      expect.stringMatching(/^v1: [\w-]+example[\w-]*: .+ at \S+\/examples\/render\/value\/event$/),
      expect.stringMatching(/^v1: [\w-]+unused-component[\w-]*: .+ at \S*components\/schemas\/Unused$/),
    ])
  })
})
