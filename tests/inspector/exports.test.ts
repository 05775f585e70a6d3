/** What is exported is run: by a shell, by Node and by the qa runner, and sends what the playground sends. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { curlExport, type ExportedCall, pythonExport, typescriptExport } from '#inspector/views/playground/exports.ts'
import { playgroundSuite } from '#inspector/views/playground/playground-suite.ts'
import { defaultState, type PlaygroundState, placementBody } from '#inspector/views/playground/state.ts'
import { suiteText } from '#inspector/views/requests/qa-suite.ts'
import { expand } from '#qa/run/plan.ts'
import { loadSuite } from '#qa/suite/load.ts'
import { key, publishable, type Stage, stage } from '#tests/http/stage.ts'
import { runCases } from '#tests/mutations/suites.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
let here: Stage
beforeAll(async () => {
  here = await stage()
})
afterAll(() => here?.[Symbol.asyncDispose]())

/** Text that ends a string, a command, a comment or a variable of any of the languages. */
const hostile = `it's "x" \`y\` $(id) \${z} {{secret_key}} \\ </script> # */\u2028é\n\t😀`
const state: PlaygroundState = { ...defaultState, topic: hostile, overrides: '{"bidfloor":0.5,"gdpr_applies":false}' }
const open = { client_id: 'proj_demo', session_id: 'exported-1' }
const call = (as: 'server' | 'browser'): ExportedCall => ({
  id: 'placements.create',
  method: 'POST',
  path: '/v1/placements',
  body: placementBody(state, open),
  as,
})
const env = (more: Record<string, string> = {}) => ({
  ...process.env,
  SVC_SECRET_KEY: key,
  SVC_PUBLISHABLE_KEY: publishable,
  SVC_BASE_URL: here.sandbox.url,
  ...more,
})
const target = () => ({ base_url: here.sandbox.url, origin: here.sandbox.url })

/** The body of the newest placement request of the journal. */
async function lastBody(): Promise<unknown> {
  const query = { path: '/v1/placements', limit: '1', details: 'true' }
  const [entry] = (await here.api.accept('requests.list', { query })).body.items
  return JSON.parse(entry?.request_body ?? 'null')
}

test.each(['server', 'browser'] as const)('the curl command of a %s sends the same request', async (as) => {
  const { stdout } = await run('sh', ['-c', curlExport(call(as), target())], { env: env() })
  expect(JSON.parse(stdout)).toMatchObject({ decision: { fill: true } })
  expect(await lastBody()).toEqual(placementBody(state, open))
})

test('the TypeScript of a server runs with the typed client and sends the same request', async () => {
  const args = ['--input-type=module-typescript', '-e', typescriptExport(call('server'), target())]
  const { stdout } = await run(process.execPath, args, { env: env(), cwd: root })
  expect(JSON.parse(stdout)).toMatchObject({ decision: { fill: true } })
  expect(await lastBody()).toEqual(placementBody(state, open))
})

test('the TypeScript of a page calls render.js with the body, which names no project', () => {
  const text = typescriptExport(call('browser'), target())
  expect(text).toContain('await SponsoredPlacement.withTurn(')
  expect(text).not.toContain('client_id')
  expect(text).not.toContain('</script> #')
})

test.each(['server', 'browser'] as const)('the Python of a %s sends the same request', async (as) => {
  const { stdout } = await run('python3', ['-c', pythonExport(call(as), target())], { env: env({ no_proxy: '*' }) })
  expect(JSON.parse(stdout)).toMatchObject({ decision: { fill: true } })
  expect(await lastBody()).toEqual(placementBody(state, open))
})

test.each(['server', 'browser'] as const)('the suite of a %s passes', async (as) => {
  const own = { ...state, as, format: 'banner' as const, scenario: 'banner_ok' }
  const outcome = { status: 200, reason_code: null, fill: true, format: 'banner' }
  const suite = playgroundSuite(own, placementBody(own, open), outcome)
  const text = await suiteText({ suite, notes: [] })
  const cases = expand([loadSuite(text, 'saved.yaml', '.')])
  const keys = { secret_key: key, publishable_key: publishable }
  const result = await runCases(cases, { url: here.sandbox.url, keys }, { bail: false })
  expect(JSON.stringify(result.cases.filter(({ outcome }) => outcome !== 'passed'))).toBe('[]')
  expect(await lastBody()).toMatchObject({ prompt: { topic: hostile }, overrides: { bidfloor: 0.5 } })
})
