/** `svc record`, in front of a real sandbox: what it prints, what it writes, and what a kill leaves. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownCertificate } from '#cli/process/certificate.ts'
import { createClient } from '#client/index.ts'
import { readRecording } from '#contract/recordings/recording.ts'
import { startSandbox } from '#sandbox/index.ts'
import { recordingLeaks } from '#tests/reliability/recording-leaks.ts'
import { runInProcess } from './in-process.ts'
import { keptStream, noon, startTestCli, type TestCli, temporaryDirectory, testHost } from './test-cli.ts'

const key = 'sk_test_sandbox_demo'
let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

const fields = { client_id: 'proj_demo', session_id: 'sess_1' }

/** Records in front of the sandbox of a test until `end`. */
async function recordFrom(cli: TestCli, args = '') {
  const recording = await runInProcess(
    `record --upstream ${cli.sandbox.url} --port 0 --out turn.har -o jsonl ${args}`,
    {
      env: { SVC_HOME: cli.home },
    },
  )
  const lines = () =>
    recording
      .printed()
      .stdout.trim()
      .split('\n')
      .map((each) => JSON.parse(each) as Record<string, unknown>)
  return { url: String(lines()[0]!.url), lines, file: join(cli.home, 'turn.har'), end: () => recording.end('SIGINT') }
}

async function pushedDecision(url: string, slot_id: string): Promise<unknown> {
  const path = `/public/wrapper/v1/slots/${slot_id}`
  const ticket = await fetch(`${url}${path}/decision-ticket`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  })
  const { ticket: text } = (await ticket.json()) as { ticket: string }
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}/decision/ws?ticket=${text}`)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  socket.addEventListener('message', ({ data }) => resolve(String(data)))
  socket.addEventListener('error', () => reject(new Error('no socket')))
  const message = await promise
  socket.close()
  return JSON.parse(message)
}

test('an app goes through it as to the service, push included, and the file has every exchange without its secrets', async () => {
  const recording = await recordFrom(cli)
  const client = createClient({ base_url: recording.url, credential: key })
  await client.consent.set({ body: { ...fields, decision: 'granted' } })
  const { placement, slot_id } = await client.placements.create({
    body: { ...fields, job_type: 'chat', prompt: { topic: 'coffee', text: 'which grinder for my mother?' } },
  })
  const { frame_url } = placement!.render
  expect(new URL(frame_url).origin).toBe(recording.url)
  const decision = await client.decisions.get({ params: { slot_id }, query: { wait_ms: 100 } })
  expect(decision).toMatchObject({ status: 'ready' })
  expect(await pushedDecision(recording.url, slot_id)).toMatchObject({ slot_id, fill: true })
  const frame = await (await fetch(frame_url)).text()
  expect(frame).not.toContain(cli.sandbox.url)
  const { asset_token } = placement!
  const beacon = { beacon_id: 'beacon.1', asset_token, event: 'render' as const, occurred_at_ms: noon }
  expect(await client.beacons.send({ body: beacon })).toMatchObject({ accepted: true })
  await expect(client.decisions.get({ params: { slot_id: 'slot_00000000000' } })).rejects.toThrow()
  const { code, stderr } = await recording.end()
  expect([code, stderr]).toEqual([0, ''])
  const text = readFileSync(recording.file, 'utf8')
  const { exchanges, creator, left_out } = readRecording(text)
  expect([creator, left_out]).toEqual([
    'svc 0.0.0-source',
    { not_of_api: 0, preflight: 0, no_response: 0, unreadable: 0 },
  ])
  expect(exchanges.map(({ endpoint, status }) => [endpoint, status])).toEqual([
    ['consent.set', 200],
    ['placements.create', 200],
    ['decisions.get', 200],
    ['wrapper.ticket', 200],
    ['wrapper.socket', 101],
    ['render.frame', 200],
    ['beacons.send', 200],
    ['decisions.get', 404],
  ])
  expect(exchanges.every(({ base_url }) => base_url === cli.sandbox.url)).toBe(true)
  expect(text).not.toContain(asset_token.slice(-43))
  expect(text).not.toMatch(/sk_test_(?!redacted)|mother|grinder|bt_\w{11}_(?!redacted)|wst_\w{11}_(?!redacted)/)
  expect(text).not.toContain(new URL(recording.url).host)
  const [ready, first] = recording.lines()
  expect(ready).toEqual({ type: 'recording', url: recording.url, upstream: cli.sandbox.url, file: recording.file })
  expect(first).toMatchObject({
    method: 'POST',
    path: '/v1/consent',
    status: 200,
    session_id: 'sess_1',
    key: 'sk_test',
  })
  expect(recording.lines().at(-1)).toEqual({
    type: 'summary',
    file: recording.file,
    exchanges: 8,
    endpoints: {
      'consent.set': 1,
      'placements.create': 1,
      'decisions.get': 2,
      'wrapper.ticket': 1,
      'wrapper.socket': 1,
      'render.frame': 1,
      'beacons.send': 1,
    },
    left_out: {},
  })
})

test('headers and cookies of ordinary apps change nothing: the recording plays, and compares without a difference', async () => {
  const recording = await recordFrom(cli, '--force')
  const plain = {
    cookie: 'variant=hosted_frame; consent=semantic_targeting; return_to=/v1/placements; ts=1764533161000',
    'x-cache-key': '/v1/placements',
    'x-routing-key': 'placements.create',
    'x-session-id': '100000000042',
    'idempotency-key': '1764533161000',
  }
  const ask = async (url: string, session_id: string) => {
    const response = await fetch(`${url}/v1/placements`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...plain },
      body: JSON.stringify({ ...fields, session_id, job_type: 'chat', prompt: { topic: 'coffee', text: 'hm' } }),
    })
    return (await response.json()) as { decision: { reason_code: string }; placement: { format: string } }
  }
  const asked = [await ask(recording.url, 'task_test_1'), await ask(recording.url, 'task_test_2')]
  await recording.end()
  const text = readFileSync(recording.file, 'utf8')
  const { exchanges } = readRecording(text)
  expect(exchanges.map(({ path, session_id }) => [path, session_id])).toEqual([
    ['/v1/placements', 'task_test_1'],
    ['/v1/placements', 'task_test_2'],
  ])
  const { code, stdout } = await cli.svc(`contract compare ${recording.file} -o json`, { system: { now: Date.now } })
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, ok: true, compared: 2, findings: [] })
  await using playing = await startSandbox({ playback: text, max_age_ms: 1e15 })
  expect((await ask(playing.url, 'later')).placement.format).toBe(asked[0]!.placement.format)
})

test('the file has what viewers of HAR 1.2 need', async () => {
  const recording = await recordFrom(cli, '--force')
  await fetch(`${recording.url}/v1/render.js?x=1`)
  await recording.end()
  const { log } = JSON.parse(readFileSync(recording.file, 'utf8'))
  expect(log).toMatchObject({ version: '1.2', creator: { name: 'svc', version: expect.any(String) } })
  expect(log.entries).toEqual([
    {
      startedDateTime: new Date(noon).toISOString(),
      time: expect.any(Number),
      request: {
        method: 'GET',
        url: `${cli.sandbox.url}/v1/render.js?x=[removed]`,
        httpVersion: 'HTTP/1.1',
        cookies: [],
        headers: expect.arrayContaining([{ name: 'host', value: new URL(cli.sandbox.url).host }]),
        queryString: [{ name: 'x', value: '[removed]' }],
        headersSize: -1,
        bodySize: 0,
      },
      response: {
        status: 200,
        statusText: 'OK',
        httpVersion: 'HTTP/1.1',
        cookies: [],
        headers: expect.arrayContaining([{ name: 'access-control-allow-origin', value: '*' }]),
        content: { size: expect.any(Number), mimeType: 'text/javascript; charset=utf-8', text: expect.any(String) },
        redirectURL: '',
        headersSize: -1,
        bodySize: expect.any(Number),
      },
      cache: {},
      timings: { send: 0, wait: expect.any(Number), receive: expect.any(Number) },
      _request_id: expect.any(String),
    },
  ])
  // Recorded as the service has it, without its compression.
  const script = await (await fetch(`${cli.sandbox.url}/v1/render.js`)).text()
  expect(log.entries[0].response.content.text).toBe(script)
})

test('what cannot be recorded is refused before anything is written', async () => {
  const { url, port } = cli.sandbox
  const existing = join(cli.home, 'existing.har')
  writeFileSync(existing, 'mine')
  const refused = async (args: string) => {
    const { code, stderr } = await cli.svc(`record ${args}`)
    return [code, stderr.split('\n')[0]]
  }
  expect(await refused('')).toEqual([2, expect.stringContaining('--upstream')])
  expect(await refused('--upstream ads.example')).toEqual([2, expect.stringContaining('must be an http or https URL')])
  expect(await refused('--upstream http://ads.example --port 0')).toEqual([
    2,
    'error: Nothing was sent. A key would travel to http://ads.example/ without encryption.',
  ])
  expect(await refused(`--upstream ${url} --port 0 --out existing.har`)).toEqual([2, `error: ${existing} exists.`])
  expect(readFileSync(existing, 'utf8')).toBe('mine')
  expect(await refused(`--upstream ${url} --port 0 --out none/turn.har`)).toEqual([
    2,
    `error: ${join(cli.home, 'none/turn.har')} cannot be written: its directory does not exist.`,
  ])
  expect(await refused(`--upstream http://127.0.0.1:1 --port ${port}`)).toEqual([
    8,
    expect.stringContaining(`error: Port ${port} is taken by`),
  ])
  expect(await refused(`--upstream ${url} --port ${port}`)).toEqual([
    2,
    `error: --upstream ${url} is this command itself.`,
  ])
})

test('with --force it replaces a file, even when nothing comes', async () => {
  writeFileSync(join(cli.home, 'turn.har'), 'mine')
  const recording = await recordFrom(cli, '--force')
  await recording.end()
  expect(recording.lines().at(-1)).toMatchObject({ type: 'summary', exchanges: 0 })
  expect(readRecording(readFileSync(recording.file, 'utf8')).exchanges).toEqual([])
})

test('in text it prints where it listens, and a line for each exchange; a production key is refused', async () => {
  const { home, sandbox } = cli
  const words = `record --upstream ${sandbox.url} --port 0`
  const recording = await runInProcess(words, { env: { SVC_HOME: home } }, ({ stderr }) => stderr.includes('Ctrl-C'))
  const [, url] = /Base URL for the app: (\S+)/.exec(recording.printed().stderr)!
  const call = (authorization: string) => fetch(`${url}/v1/projects/proj_demo/config`, { headers: { authorization } })
  expect((await call(`Bearer ${key}`)).status).toBe(200)
  expect((await call('Bearer sk_live_sandbox_demo')).status).toBe(403)
  await expect.poll(() => recording.printed().stderr).toContain('A GET request was not sent')
  const { code, stdout, stderr } = await recording.end('SIGINT')
  const [first, ...summary] = stdout.split('\n')
  expect(code).toBe(0)
  expect(first).toMatch(/^\S+.* 200 {2}GET \/v1\/projects\/proj_demo\/config {2}req_\w{11}$/)
  expect(summary).toEqual([
    '',
    `Recorded 1 exchange in ${join(home, 'recording.har')}.`,
    '       1  projects.config',
    '       1  left out: requests that were not sent to the service',
    '',
  ])
  expect(stderr.split('\n').slice(0, 3)).toEqual([
    `Recording ${sandbox.url} to ${join(home, 'recording.har')}`,
    `Base URL for the app: ${url}`,
    'Ctrl-C ends the recording.',
  ])
})

test('the file is complete after each exchange: a kill leaves what came before it', async () => {
  const recording = await recordFrom(cli, '--force')
  const client = createClient({ base_url: recording.url, credential: key })
  const read = () => readRecording(readFileSync(recording.file, 'utf8')).exchanges.length
  for (let count = 1; count <= 3; count++) {
    await client.placements.create({ body: { ...fields, job_type: 'chat' } })
    await expect.poll(read).toBe(count)
  }
  await recording.end()
})

test('a service with https is reached with its certificate checked', async () => {
  const home = temporaryDirectory()
  const host = testHost({ env: {}, stdin: '', cwd: home, stdout: keptStream(false), stderr: keptStream(false) })
  const certificate = await ownCertificate({ ...host, now: Date.now }, home, [])
  await using service = await startSandbox({ tls: certificate })
  const usual = getCACertificates('default')
  const outcomes: number[] = []
  try {
    for (const trusted of [[], [readFileSync(certificate.path, 'utf8')]]) {
      setDefaultCACertificates([...usual, ...trusted])
      const words = `record --upstream ${service.url} --port 0 --out tls.har --force -o json`
      await using recording = await runInProcess(words, { env: { SVC_HOME: join(home, 'other') }, cwd: home })
      const { url } = JSON.parse(recording.firstLine) as { url: string }
      const headers = { authorization: `Bearer ${key}` }
      outcomes.push((await fetch(`${url}/v1/projects/proj_demo/config`, { headers })).status)
      await recording.end()
      if (trusted.length > 0) continue
      const { log } = JSON.parse(readFileSync(join(home, 'tls.har'), 'utf8'))
      expect(log.entries[0]._error).toMatch(/certificate/)
    }
  } finally {
    setDefaultCACertificates(usual)
  }
  expect(outcomes).toEqual([502, 200])
})

test('no secret and no prompt text is in the file, from any place of a request, even when the service repeats it', async () => {
  const { tried, recorded, found } = await recordingLeaks('echo', 60)
  expect(tried).toBeGreaterThan(100)
  expect(recorded).toBe(tried)
  expect(found).toEqual([])
})
