/** The recipe that polls without the typed client, as it stands in the guide, against a service that is late and limits it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { blocksOf } from './markdown.ts'
import { openPage, type Page, writeFile } from './shell.ts'

const block = blocksOf('docs/guides/server.md').find(({ flags }) => flags.file === 'poll.ts')!

interface Told {
  response: { status: string; decision: { fill: boolean } | null } | null
  /** Status and time of each request to the service, the oldest first. */
  requests: { what: string; at_ms: number }[]
}

let page: Page
let recipe: ChildProcessByStdio<Writable, Readable, null>
let lines: AsyncIterator<string>

beforeAll(async () => {
  page = await openPage()
  const { url, keys } = page.sandbox
  writeFile(page, 'poll.ts', block.text)
  const main = `
    import { createInterface } from 'node:readline'
    // What the recipe grants to one request, a busy computer may exceed.
    const { timeout } = AbortSignal
    AbortSignal.timeout = (limit_ms) => timeout.call(AbortSignal, 20 * limit_ms)
    const { adFor } = await import('./poll.ts')
    for await (const line of createInterface(process.stdin))
      console.log(JSON.stringify(await adFor('docs', timeout.call(AbortSignal, Number(line)))))`
  writeFileSync(join(page.directory, 'main.ts'), main)
  const env = { SVC_BASE_URL: url, SVC_SECRET_KEY: keys.secret_key, SVC_CLIENT_ID: keys.client_id }
  recipe = spawn(process.execPath, ['main.ts'], { cwd: page.directory, env, stdio: ['pipe', 'pipe', 'inherit'] })
  lines = createInterface(recipe.stdout)[Symbol.asyncIterator]()
})
beforeEach(() => control().sandbox.reset({ body: {} }))
afterAll(async () => {
  recipe.kill()
  await page[Symbol.asyncDispose]()
})

/** Runs the recipe for a turn that is over after a while. */
async function poll(turn_ms = 60_000): Promise<Told> {
  recipe.stdin.write(`${turn_ms}\n`)
  const { value } = await lines.next()
  const { items } = await control().requests.list({ query: { path: '/v1/', limit: 100 } })
  const requests = items.map(({ method, status, at_ms }) => ({ what: `${method} ${status}`, at_ms }))
  return { response: JSON.parse(value), requests: requests.toReversed() }
}

function control() {
  const { url, keys } = page.sandbox
  return createClient({ base_url: url, credential: keys.secret_key })
}

test('it waits as Retry-After says, in seconds and as a date, polls until the decision and asks for nothing twice', async () => {
  const { faults, scenario } = control()
  await scenario.use({ params: { name: 'pending_then_ready' }, body: {} })
  await faults.add({ body: { method: 'POST', path: '/v1/placements', status: 429, retry_after_s: 1, times: 1 } })
  const poll429 = { method: 'GET', path: '/v1/decisions', status: 429, times: 1 } as const
  await faults.add({ body: { ...poll429, retry_after_s: 2, retry_after_format: 'http_date' } })
  const { response, requests } = await poll()
  expect(response).toMatchObject({ status: 'ready', decision: { fill: true } })
  const order = requests.map(({ what }) => what)
  expect(order.slice(0, 4)).toEqual(['POST 429', 'POST 200', 'GET 429', 'GET 200'])
  expect(order.slice(4).filter((what) => what !== 'GET 200')).toEqual([])
  const pauses = requests.slice(1).map(({ at_ms }, index) => at_ms - requests[index]!.at_ms)
  expect(pauses[0]).toBeGreaterThanOrEqual(1_000)
  // A date of HTTP has whole seconds.
  expect(pauses[2]).toBeGreaterThanOrEqual(1_000)
})

test('a poll is repeated after a 503, a request for a placement is not, nor anything that is refused', {
  tags: 'depth',
}, async () => {
  const { faults, scenario, sandbox } = control()
  await scenario.use({ params: { name: 'pending_then_ready' }, body: {} })
  await faults.add({ body: { method: 'GET', path: '/v1/decisions', status: 503, times: 1 } })
  const late = await poll()
  expect(late.response).toMatchObject({ status: 'ready' })
  expect(late.requests.map(({ what }) => what)).toContain('GET 503')
  for (const status of [503, 400, 429]) {
    await sandbox.reset({ body: {} })
    await faults.add({ body: { method: 'POST', path: '/v1/placements', status, retry_after_format: 'none' } })
    const { response, requests } = await poll()
    expect({ response, requests: requests.map(({ what }) => what) }).toEqual({
      response: null,
      requests: [`POST ${status}`],
    })
  }
})

test('it ends with its turn', { tags: 'depth' }, async () => {
  await control().scenario.use({ params: { name: 'pending_forever' }, body: {} })
  expect((await poll(2_500)).response).toBeNull()
})
