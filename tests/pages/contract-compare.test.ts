/** `svc contract compare --renderer`: a recorded render.js and frame run in a real browser, beside those of the sandbox. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { svc, temporaryDirectory } from '#tests/cli/test-cli.ts'

const folder = temporaryDirectory()
const file = join(folder, 'page.har')
let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5 })
  await recordPage()
})
afterAll(() => sandbox?.close())

/** Writes what a browser records of a page with a banner: the parts of render.js, the placement, the frame. */
async function recordPage(): Promise<void> {
  const entries: object[] = []
  const record = async (path: string, body?: object) => {
    const url = sandbox.url + path
    const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
    const response = await fetch(url, body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    entries.push({
      startedDateTime: new Date().toISOString(),
      time: 5,
      request: {
        method: body === undefined ? 'GET' : 'POST',
        url: url.replace(sandbox.url, 'https://ads.example.com'),
        headers: [],
        ...(body === undefined ? {} : { postData: { mimeType: 'application/json', text: JSON.stringify(body) } }),
      },
      response: {
        status: response.status,
        headers: [...response.headers].map(([name, value]) => ({ name, value: moved(value) })),
        content: { text: moved(text), mimeType: response.headers.get('content-type') },
      },
    })
    return text
  }
  await record('/v1/render.js')
  await record('/assets/render/mounts.js')
  const about = { client_id: 'proj_demo', session_id: 'page-1', job_type: 'chat' }
  const placed = await record('/v1/placements', { ...about, overrides: { allowed_formats: ['banner'] } })
  await record(`/v1/render/${JSON.parse(placed).placement.asset_token}`)
  writeFileSync(file, JSON.stringify({ log: { version: '1.2', entries } }))
}

function moved(text: string): string {
  return text.replaceAll(sandbox.url, 'https://ads.example.com')
}

async function compare(path: string, flags = ''): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = `contract compare ${path} --renderer --browser-path ${await chromium.executablePath()} ${flags}`
  return svc(command, { env: { SVC_HOME: folder } })
}

test('our own renderer, recorded at another address, shows the same as ours', async () => {
  const { code, stdout } = await compare(file, '-o json')
  const { renderer, findings } = JSON.parse(stdout)
  expect(findings).toEqual([])
  expect(renderer).toMatchObject([{ format: 'banner', recorded: ['script', 'frame'], differs: [] }])
  expect(renderer[0].service.beacons).toEqual(expect.arrayContaining(['render OK', 'visible OK']))
  expect(code).toBe(0)
})

test('a renderer that reports no view differs in its beacons, which fails only with --strict', async () => {
  const altered = join(folder, 'altered.har')
  writeFileSync(altered, readFileSync(file, 'utf8').replaceAll('/v1/beacons', '/v1/beacons-of-another-version'))
  const { code, stdout } = await compare(altered, '--strict')
  expect([code, stdout]).toEqual([
    5,
    expect.stringContaining('  banner, with the script and the frame of the recording: beacons are none; with those'),
  ])
  expect((await compare(altered)).code).toBe(0)
  expect(await compare(join(import.meta.dirname, '../cli/recordings/proxy.har'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('proxy.har has no recorded render.js and no frame.'),
  })
})
