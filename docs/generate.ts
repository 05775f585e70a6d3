/**
 * Writes what is computed: docs/reference.md and docs/openapi.json from the contract, the JSON schema of svc.config.json
 * from the table of settings, that of QA suites from their own.
 * With --check it writes nothing, and exits 1 when one of them is not current.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { configFileSchema } from '../src/cli/settings/settings.ts'
import { openapiDocument } from '../src/contract/openapi.ts'
import { referenceMarkdown } from '../src/contract/reference.ts'
import { qaSuiteSchema } from '../src/qa/suite/schema.ts'

const files = {
  'reference.md': referenceMarkdown(),
  'openapi.json': `${JSON.stringify(openapiDocument({ server_url: 'http://127.0.0.1:4010' }), null, 2)}\n`,
  '../fixtures/svc.config.schema.json': `${JSON.stringify(configFileSchema, null, 2)}\n`,
  '../fixtures/svc.qa.schema.json': `${JSON.stringify(qaSuiteSchema(), null, 2)}\n`,
}

const stale = Object.entries(files).filter(([name, text]) => current(name) !== text)

if (process.argv.includes('--check')) {
  for (const [name] of stale) console.error(`docs/${name} is not current. Write it anew: npm run docs`)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  for (const [name, text] of stale) writeFileSync(location(name), text)
  console.log(stale.length === 0 ? 'docs are current' : `wrote ${stale.map(([name]) => `docs/${name}`).join(', ')}`)
}

function current(name: string): string | null {
  try {
    return readFileSync(location(name), 'utf8')
  } catch {
    return null
  }
}

function location(name: string): URL {
  return new URL(name, import.meta.url)
}
