/** `svc sandbox gameday --url`: the pages of an app, opened at the planned times while its sandbox has faults. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import type { GamedayReport } from '#gameday/report.ts'
import { startSandbox } from '#sandbox/index.ts'
import { svc, temporaryDirectory } from '#tests/cli/test-cli.ts'

/** Serves a page with one ad, whose backend requests it with the secret key, and responds with 502 when it gets none. */
async function startApp(base_url: string, credential: string) {
  const client = createClient({ base_url, credential })
  const page = `<!doctype html><title>App</title><link rel="icon" href="data:,"><script src="${base_url}/v1/render.js"></script>
<div id="slot" style="min-height:330px"></div>
<script>SponsoredPlacement.startTurn({ target: '#slot', endpoint: '/placement', turnId: 'one' })</script>`
  let asked = 0
  const server = createServer(async (request, response) => {
    if (request.url === '/') return void response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    const body = { client_id: 'proj_demo', session_id: `sess_${asked++}`, job_type: 'chat' } as const
    const placement = await client.placements.create({ body }).catch(() => null)
    response.writeHead(placement === null ? 502 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(placement))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const day = `\
gameday: pages
seed: 7
rate: 0.5
length: 4s
view: 1500ms
patience: 3s
timeline: [{ fault: away, at: 0s, for: 3s }]
expect: { fills: 10 % }
`

test('pages that are opened while the service is away show no ad, and its rules are gone afterwards', async () => {
  const sandbox = await startSandbox({ database: ':memory:', seed: 1 })
  const home = temporaryDirectory()
  writeFileSync(join(home, 'day.yaml'), day)
  try {
    await using app = await startApp(sandbox.url, sandbox.keys.secret_key)
    const path = await chromium.executablePath()
    const { code, stdout, stderr } = await svc(
      `sandbox gameday day.yaml --url ${app.url} --browser-path ${path} --base-url ${sandbox.url} -o json`,
      { env: { SVC_HOME: home }, cwd: home, system: { now: () => Date.now() } },
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`its first ad frame.\n`) })
    const { runs, phases, looked_at }: GamedayReport = JSON.parse(stdout)
    expect(runs.without.waits.map(({ latency_ms }) => latency_ms !== null)).toEqual([true, true])
    // The first page opens in the first second and has no render.js, so its ad never comes; the second one in the last.
    expect(runs.with.waits.map(({ latency_ms }) => latency_ms !== null)).toEqual([false, true])
    expect(phases.map(({ name, without }) => [name, without.turns > 0])).toEqual([
      ['away', true],
      ['after away', true],
    ])
    expect(looked_at[0]).toMatch(/^The turns are the requests for an ad in the running sandbox: 2 without faults, /)
    const { faults } = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
    expect((await faults.list()).items).toEqual([])
  } finally {
    await sandbox.close()
  }
})
