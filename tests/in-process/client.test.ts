/** `createClient` in the process of a test, with the fetch, the signals and the timers of DOM environments. */
import { expect, test } from 'vitest'
import { blocksOf } from '../docs/markdown.ts'
import { runNode, writeProject } from './project.ts'

/** A turn by the client alone: with a signal of the environment, a time limit, and a refusal. */
const turn = `
import { createClient, ServiceError } from 'svc-sandbox/client'
import { startSandbox } from 'svc-sandbox/sandbox'

export async function turn() {
  const sandbox = await startSandbox({ port: 0 })
  const client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
  const body = { client_id: sandbox.keys.client_id, session_id: 's1', job_type: 'chat' }
  const { signal } = new AbortController()
  const { slot_id } = await client.placements.create({ body }, { signal })
  const decision = await client.getDecision(slot_id, { signal, timeout_ms: 5000 })
  const refused = await client.placements.create({ body: { ...body, client_id: 'proj_other' } }).catch((error) => error)
  await sandbox.close()
  return [decision.status, refused instanceof ServiceError ? refused.reason_code : refused]
}
`
const expected = `['ready', 'project_mismatch']`

test.each(['node', 'jsdom', 'happy-dom'])('Vitest in %s, with fake timers', async (environment) => {
  const directory = writeProject(`client-vitest-${environment}`, {
    'turn.js': turn,
    'a.test.js': `
// @vitest-environment ${environment}
import { expect, test, vi } from 'vitest'
import { turn } from './turn.js'

test('a turn', async () => {
  vi.useFakeTimers()
  expect(await turn()).toEqual(${expected})
})
test('a fetch that the test replaces is the one of the client', async () => {
  const { createClient } = await import('svc-sandbox/client')
  const body = JSON.stringify({ status: 'ok' })
  vi.stubGlobal('fetch', async () => new Response(body, { headers: { 'content-type': 'application/json' } }))
  const client = createClient({ base_url: 'http://127.0.0.1:1', validate: false })
  expect(await client.health.live()).toEqual({ status: 'ok' })
})
`,
  })
  const { code, output } = await runNode(directory, ['node_modules/vitest/vitest.mjs', 'run'])
  expect(output).toContain('2 passed')
  expect(code).toBe(0)
})

test.each(['node', 'jsdom'])('Jest in %s, with fake timers', async (environment) => {
  const directory = writeProject(`client-jest-${environment}`, {
    'turn.js': turn,
    'jest.config.js': `export default {
  testEnvironment: '${environment}',
  // In jsdom Jest would take the client for pages, and there is no fetch.
  testEnvironmentOptions: { customExportConditions: ['node'] },
  transform: {},
  fakeTimers: { enableGlobally: true },
}`,
    'a.test.js': `
import { turn } from './turn.js'
test('a turn', async () => expect(await turn()).toEqual(${expected}))
`,
  })
  const { code, output } = await runNode(directory, ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js'])
  expect(output).toContain('1 passed')
  expect(code).toBe(0)
})

/** With patience for a busy computer. */
test.each([
  ['Jest', ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--testTimeout=60000'], '1 passed', ''],
  ['Mocha', ['node_modules/mocha/bin/mocha.js', '--timeout', '60000', 'mocha.test.js'], '1 passing', ''],
  ['node:test', ['--test', 'mocha.test.js'], 'pass 1', "import { after, before, describe, it } from 'node:test'\n"],
])('%s as the guide has it', async (name, args, passed, head) => {
  const blocks = blocksOf('docs/guides/testing.md').filter(({ flags }) => flags.apart === 'in-process')
  // Those of Python have a test of their own.
  const files = blocks.filter(({ flags }) => flags.file!.endsWith('.js'))
  expect(files.map(({ flags }) => flags.file)).toEqual(['jest.config.js', 'jest.test.js', 'mocha.test.js'])
  const own = files.filter(({ flags }) => flags.file!.startsWith(name === 'Jest' ? 'jest' : 'mocha'))
  const directory = writeProject(
    `guide-${name.replace(':', '-')}`,
    Object.fromEntries(own.map(({ flags, text }) => [flags.file!, `${head}${text}`])),
  )
  const { code, output } = await runNode(directory, args)
  expect(output).toContain(passed)
  expect(code).toBe(0)
})
