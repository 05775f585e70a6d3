/** Types and clients that four generators make of the document: they type-check strictly, and work with a sandbox. */
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { startSandbox } from '../../sandbox/index.ts'
import { openapiDocument } from '../../src/core/contract/openapi/document.ts'
import { checkout, run } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'

interface Integration {
  integrate(base_url: string): Promise<unknown>
}

const project = temporaryDirectory()
const modules = join(inject('tools'), 'node_modules')

const generators = {
  'openapi-fetch': ['openapi-typescript/bin/cli.js', 'openapi.json', '--output', 'openapi-typescript.ts'],
  'hey-api': [
    '@hey-api/openapi-ts/bin/run.js',
    ...['--input', 'openapi.json', '--output', 'hey-api', '--client', '@hey-api/client-fetch', '--no-log-file'],
  ],
  orval: ['orval/dist/bin/orval.mjs', '--config', 'orval.config.json'],
  'swagger-typescript-api': [
    'swagger-typescript-api/dist/cli.mjs',
    ...['generate', '--path', 'openapi.json', '--output', 'swagger-typescript-api', '--name', 'api.ts'],
    ...['--enum-style', 'union'],
  ],
} as const
const names = Object.keys(generators) as (keyof typeof generators)[]

beforeAll(async () => {
  symlinkSync(modules, join(project, 'node_modules'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'openapi.json'), JSON.stringify(openapiDocument({ server_url: 'http://127.0.0.1:4010' })))
  copyFileSync(join(import.meta.dirname, 'clients/orval-fetch.mts'), join(project, 'orval-fetch.ts'))
  writeFileSync(join(project, 'orval.config.json'), JSON.stringify({ api: orvalConfig }))
  await Promise.all(
    names.map(async (name) => {
      copyFileSync(join(import.meta.dirname, `clients/${name}.mts`), join(project, `${name}.ts`))
      const [script, ...args] = generators[name]
      await run(process.execPath, [join(modules, script), ...args], project, { DO_NOT_TRACK: '1' })
    }),
  )
})

describe.each(names)('%s', (name) => {
  test('type-checks strictly, and refuses mistakes', async () => {
    const config = join(project, `tsconfig.${name}.json`)
    const { compilerOptions } = strictest
    writeFileSync(config, JSON.stringify({ compilerOptions, files: [`${name}.ts`] }))
    await run(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '--project', config], project)
  })

  test('activates, stores consent, places, polls, sends beacons and reads errors', async () => {
    await using sandbox = await startSandbox({ seed: 1 })
    const { integrate } = (await import(join(project, `${name}.ts`))) as Integration
    expect(await integrate(sandbox.url)).toEqual({
      consent: 'granted',
      polled: 'ready',
      format: 'banner',
      accepted: ['OK', 'OK'],
      reasons: ['project_mismatch', 'not_found'],
      statuses: [403, 404],
      frozen: true,
      listed: [
        ['click', 'accepted'],
        ['render', 'accepted'],
      ],
    })
  })
})

/** Its functions take a base URL from a function of ours alone: without one, it is in the generated text. */
const orvalConfig = {
  input: 'openapi.json',
  output: {
    target: 'orval/api.ts',
    client: 'fetch',
    override: { mutator: { path: './orval-fetch.ts', name: 'send' } },
  },
}

const strictest = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
  },
}
