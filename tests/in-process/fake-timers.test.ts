/** The sandbox and its fixtures in the process of a test that has fake timers, or the globals of a DOM environment. */
import { expect, test } from 'vitest'
import { runNode, writeProject } from './project.ts'

/** A placement by the client of the fixture. */
const turn = `
export async function turn(client, client_id) {
  const body = { client_id, session_id: 's1', job_type: 'chat' }
  const { slot_id } = await client.placements.create({ body })
  const { items } = await client.placements.list()
  return items[0].slot_id === slot_id
}
`

/** The sandbox alone, by node:http: neither fetch nor its client is under test. */
const alone = `
import { get } from 'node:http'
import { startSandbox } from 'svc-sandbox/sandbox'

export async function startAndStop() {
  const sandbox = await startSandbox({ port: 0 })
  const status = await new Promise((resolve, reject) => {
    get(sandbox.url + '/_sandbox/info', (response) => resolve(response.resume().statusCode)).on('error', reject)
  })
  await sandbox.close()
  return status
}
`

const vitestTest = (environment: string) => `
// @vitest-environment ${environment}
import { afterEach, beforeEach, vi } from 'vitest'
import { expect, sandboxTest } from 'svc-sandbox/vitest'
import { startAndStop } from './alone.js'
import { turn } from './turn.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())
sandboxTest({ isolation: 'test' })('a turn', async ({ sandbox }) => {
  expect(await turn(sandbox.client, sandbox.keys.client_id)).toBe(true)
  await expect(sandbox).not.toHaveAccepted('render', { timeout: 50 })
  await expect(sandbox.waitForBeacon('render', { timeout: 50 })).rejects.toThrow('No accepted render beacon')
  await sandbox.reset()
  expect(await startAndStop()).toBe(200)
})
`

test.each(['node', 'jsdom', 'happy-dom'])('Vitest with fake timers in %s', async (environment) => {
  const directory = writeProject(`vitest-${environment}`, {
    'turn.js': turn,
    'alone.js': alone,
    'a.test.js': vitestTest(environment),
  })
  const { code, output } = await runNode(directory, ['node_modules/vitest/vitest.mjs', 'run'])
  expect(output).toContain('1 passed')
  expect(code).toBe(0)
})

test.each(['node', 'jsdom'])('Jest with fake timers in %s', async (environment) => {
  const directory = writeProject(`jest-${environment}`, {
    'alone.js': alone,
    'jest.config.js': `export default { testEnvironment: '${environment}', transform: {}, fakeTimers: { enableGlobally: true } }`,
    'a.test.js': `
import { startAndStop } from './alone.js'
test('the sandbox starts and stops', async () => expect(await startAndStop()).toBe(200))
`,
  })
  const { code, output } = await runNode(directory, ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js'])
  expect(output).toContain('1 passed')
  expect(code).toBe(0)
})

test.each([
  ['Mocha', ['node_modules/mocha/bin/mocha.js', 'a.test.js'], '1 passing', "import 'mocha'"],
  ['node:test', ['--test', 'a.test.js'], 'pass 1', "import { it, mock } from 'node:test'; mock.timers.enable()"],
])('%s', async (name, args, passed, head) => {
  const directory = writeProject(name.replace(':', '-'), {
    'alone.js': alone,
    'a.test.js': `
import assert from 'node:assert'
import { startAndStop } from './alone.js'
${head}
it('the sandbox starts and stops', async () => assert.equal(await startAndStop(), 200))
`,
  })
  const { code, output } = await runNode(directory, args)
  expect(output).toContain(passed)
  expect(code).toBe(0)
})
