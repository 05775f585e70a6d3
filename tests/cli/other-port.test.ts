/**
 * A sandbox on another port than the default one: everything that is printed, served or written has its own address. What
 * still says 4010 is about the default port itself, or about containers, whose ports are their own.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPages } from '#build/docs/pages.ts'
import { startInProcess } from './in-process.ts'
import { startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
  expect(cli.sandbox.port).not.toBe(4010)
})
afterAll(() => cli[Symbol.asyncDispose]())

/** The usual address in any spelling. */
const usual = /(127\.0\.0\.1|localhost|\[::1\]):4010/

describe('what commands print', () => {
  test.each([
    'sandbox env',
    'sandbox env -o shell',
    'sandbox env -o json',
    'config get base_url',
    'config list',
    'open',
    'open console',
    'placements create --format banner --topic coffee',
    'explain',
    'api render.frame',
    'sandbox ps',
    'sandbox status',
    'docs --text',
    'docs getting-started --text',
    'docs browser --text',
    'docs server --text',
    'docs agents --text',
    'docs key_class --text',
    'contract openapi',
    'contract openapi --v1',
    'contract show -o json',
    'requests show --curl',
    'doctor',
    'placements create --set slot_hint.max_width=0 -o json',
  ])('svc %s', async (args) => {
    const { stdout, stderr } = await cli.svc(args, { cwd: cli.home })
    expect(stdout + stderr).not.toMatch(usual)
    expect(stdout + stderr).not.toBe('')
  })

  test('svc start --port 0: its block, as text and as JSON', async () => {
    for (const format of ['text', 'json']) {
      const sandbox = await startInProcess(`-o ${format}`, { env: { SVC_HOME: temporaryDirectory() } })
      const { stdout, stderr } = await sandbox.end()
      expect(stdout).toMatch(/http:\/\/127\.0\.0\.1:\d+\/_sandbox\//)
      expect(stdout + stderr).not.toMatch(/\b4010\b/)
    }
  })
})

describe('what the sandbox serves', () => {
  const get = async (path: string) => (await fetch(cli.sandbox.url + path)).text()

  test.each([
    '/_sandbox/',
    '/_sandbox/demo',
    '/_sandbox/console',
    '/v1/render.js',
    '/_sandbox/info',
    '/_sandbox/contract',
    '/_sandbox/openapi.json',
    '/_sandbox/docs/index.json',
    '/nowhere',
  ])('%s', async (path) => {
    expect(await get(path)).not.toMatch(usual)
  })

  test('the OpenAPI document, with its own address in the examples', async () => {
    const text = await get('/_sandbox/openapi.json')
    for (const path of ['/v1/render.js', '/v1/test-assets/banner', '/_sandbox/docs/errors/not_found'])
      expect(text).toContain(`"${cli.sandbox.url}${path}`)
  })

  test('the documentation, except where containers publish ports of their own', async () => {
    const named: string[] = []
    for (const { topic } of readPages()) {
      const page = await get(`/_sandbox/docs/${topic === 'index' ? '' : topic}`)
      if (usual.test(page)) named.push(topic)
    }
    expect(named).toEqual(['containers'])
  })

  test('creatives and frames of a placement', async () => {
    const { stdout } = await cli.svc('placements create --session other-port --format banner -o json')
    const addresses = stdout.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? []
    expect(new Set(addresses)).toEqual(new Set([cli.sandbox.url]))
  })
})

test('svc init writes the address of the running sandbox into .env.example, and the usual one without a sandbox', {
  tags: 'depth',
}, async () => {
  const cwd = temporaryDirectory()
  const { stderr } = await cli.svc('init node-server mine', { cwd })
  expect(stderr).toContain(`Its .env.example names the running sandbox: ${cli.sandbox.url}\n`)
  expect(readFileSync(join(cwd, 'mine/.env.example'), 'utf8')).toContain(`\nSVC_BASE_URL=${cli.sandbox.url}\n`)
  const alone = await cli.svc('init node-server other', { cwd, env: { SVC_HOME: temporaryDirectory() } })
  expect(alone.stderr).not.toContain('.env.example')
  expect(readFileSync(join(cwd, 'other/.env.example'), 'utf8')).toContain('\nSVC_BASE_URL=http://127.0.0.1:4010\n')
})
