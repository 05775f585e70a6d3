/** `svc doctor` against a real sandbox, after an integration has made its mistakes as real requests. */
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Diagnosis, LookedAt, Summary } from '#diagnosis/doctor.ts'
import { startSandbox } from '#sandbox/index.ts'
import { freePort } from './process.ts'
import { noon, type RunOptions, startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

interface Report {
  ok: boolean
  looked_at: LookedAt
  summary: Summary
  findings: Diagnosis[]
}

async function look(cli: TestCli, args = '', options: RunOptions = {}): Promise<{ code: number; report: Report }> {
  const { code, stdout } = await cli.svc(`doctor ${args} -o json`, options)
  return { code, report: JSON.parse(stdout) as Report }
}

function about(report: Report, check: string) {
  return report.findings
    .filter((finding) => finding.check === check)
    .map(({ level, message, fix }) => [level, message.replace(/req_\w+|slot_\w+/g, '*'), fix])
}

/** Sends one request of the integration. */
function send(cli: TestCli, method: string, path: string, headers: Record<string, string>, body?: unknown) {
  return fetch(cli.sandbox.url + path, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const server = { authorization: 'Bearer sk_test_sandbox_demo' }
const asked = { client_id: 'proj_demo', session_id: 's1', job_type: 'chat' }

describe('with a sandbox', () => {
  test('without any request the host and the sandbox are checked, and it says what to do', async () => {
    await using cli = await startTestCli()
    const { code, report } = await look(cli)
    expect(code).toBe(5)
    expect(report).toMatchObject({ ok: false, looked_at: { requests: 0 }, summary: { problem: 0 } })
    expect(about(report, 'database')).toEqual([['ok', ':memory: and 3 evidence chains are intact.', null]])
    expect(about(report, 'port')).toEqual([['ok', `A sandbox responds at ${cli.sandbox.url}.`, null]])
    expect(about(report, 'journal')).toEqual([
      [
        'unknown',
        'The journal has no requests from an integration.',
        `Point the integration at ${cli.sandbox.url}, use it once, and run this again.`,
      ],
    ])
  })

  test('it leaves no trace in the journal', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create')
    await look(cli)
    const { stdout } = await cli.svc('requests list -o jsonl')
    expect(stdout.trim().split('\n')).toHaveLength(1)
  })

  test('a base URL that ends in /v1 is named, and what the command line itself was refused is no mistake of an integration', async () => {
    await using cli = await startTestCli()
    const { report } = await look(cli, `--base-url ${cli.sandbox.url}/v1`)
    expect(about(report, 'port')).toEqual([
      [
        'problem',
        `The sandbox at ${cli.sandbox.url}/v1 cannot be read: The base URL must not end in /v1.`,
        `Set it to ${cli.sandbox.url}`,
      ],
    ])
    await cli.svc(`placements create --base-url ${cli.sandbox.url}/v1`)
    await cli.svc('beacons send --asset-token ast_x --event render')
    const { code, report: later } = await look(cli)
    expect({ code, journal: about(later, 'journal') }).toMatchObject({
      code: 5,
      journal: [['unknown', expect.stringContaining('3 requests of svc itself are left out.'), expect.anything()]],
    })
    await send(cli, 'POST', '/v1/v1/placements', server, asked)
    expect(about((await look(cli)).report, 'endpoints')).toEqual([
      [
        'problem',
        'There is no POST /v1/v1/placements: 404, once.',
        'Leave /v1 out of the base URL of the app: its requests then go to POST /v1/placements.',
      ],
    ])
  })

  test('what svc itself sends is not judged, whatever its status and however long ago', async () => {
    await using cli = await startTestCli()
    for (const line of [
      'placements create',
      'api jobs.create',
      'placements create --consent denied',
      'placements create --set session_id=undefined',
      'qa run errors',
      'trigger',
    ]) {
      await cli.svc(line)
    }
    await send(cli, 'GET', '/v1/projects/proj_demo/config', server)
    const { stdout } = await cli.svc('requests list --path /v1/projects/proj_demo/config -o jsonl --limit 1')
    await cli.svc(`requests replay ${(JSON.parse(stdout) as { request_id: string }).request_id}`)
    await cli.svc('sandbox clock advance 31m')
    const { code, report } = await look(cli)
    const traffic = report.findings.filter(({ group }) => group === "The integration's traffic")
    expect(traffic.filter(({ level }) => level === 'warning' || level === 'problem')).toEqual([])
    expect({ code, looked_at: report.looked_at }).toMatchObject({ code: 0, looked_at: { requests: 1 } })
    expect(report.looked_at.own_requests).toBeGreaterThan(20)
  })

  test('the five points to check when migrating, from real requests', async () => {
    await using cli = await startTestCli()
    await send(cli, 'POST', '/v1/placements', { authorization: 'Bearer pk_test_sandbox_demo' }, asked)
    await send(cli, 'POST', '/v1/placements', { ...server, origin: 'http://localhost:3000' }, asked)
    const activation = { publishable_key: 'pk_test_sandbox_demo' }
    await send(cli, 'POST', '/v1/browser/activate', { origin: 'https://shop.example' }, activation)
    await send(cli, 'GET', '/v1/projects/proj_old/config', server)
    const beacon = { beaconId: 'beacon_0001', assetToken: 'ast_x', event: 'render', timestamp: 1 }
    await send(cli, 'POST', '/v1/beacons', server, beacon)
    const refused = { ...asked, job_type: 'poem' }
    await send(cli, 'POST', '/v1/placements', server, refused)
    await send(cli, 'POST', '/v1/placements', server, refused)

    const { code, report } = await look(cli)
    expect(code).toBe(5)
    expect(report.ok).toBe(false)
    expect(about(report, 'key type').map(([level, message]) => [level, message])).toEqual([
      [
        'problem',
        'POST /v1/placements was refused once with 403 key_class: A publishable key is not a bearer credential. Last: *.',
      ],
      [
        'problem',
        'POST /v1/placements was refused once with 403 secret_key_in_browser: A secret key came from a browser page. Last: *.',
      ],
    ])
    const [origin] = about(report, 'allowed origins')
    expect(origin?.[1]).toContain('https://shop.example was refused once (POST /v1/browser/activate)')
    expect(origin?.[2]).toMatch(
      /^svc sandbox projects update proj_demo --set "allowed_origins=\S+,https:\/\/shop\.example"$/,
    )
    expect(about(report, 'project config')[0]?.[1]).toBe(
      'The config of proj_old was requested, but there is no such project here.',
    )
    expect(about(report, 'beacon fields')).toEqual(
      expect.arrayContaining([
        ['problem', 'A beacon has assetToken, which the contract does not define (once).', 'Its name is asset_token.'],
        [
          'problem',
          'A beacon has timestamp, which the contract does not define (once).',
          'Its name is occurred_at_ms.',
        ],
      ]),
    )
    expect(about(report, 'error envelopes')[0]?.[1]).toContain(
      'POST /v1/placements was repeated unchanged once after 400 schema_invalid.',
    )
    expect(about(report, 'local network access')[0]?.[1]).toContain('https://shop.example is not this machine')
  })

  test('the fix of a refused origin works unchanged', async () => {
    await using cli = await startTestCli()
    const activate = () =>
      send(
        cli,
        'POST',
        '/v1/browser/activate',
        { origin: 'https://shop.example' },
        { publishable_key: 'pk_test_sandbox_demo' },
      )
    await activate()
    const fix = about((await look(cli)).report, 'allowed origins')[0]?.[2] as string
    expect((await cli.svc(fix.replace(/^svc /, '').replaceAll('"', "'"))).code).toBe(0)
    expect((await activate()).status).toBe(200)
  })

  test('a config that was read before the last change is stale', async () => {
    await using cli = await startTestCli()
    await send(cli, 'GET', '/v1/projects/proj_demo/config', server)
    expect(about((await look(cli)).report, 'project config')[0]?.[0]).toBe('ok')
    await cli.svc('sandbox projects update proj_demo --set label_text=Ad')
    expect(about((await look(cli)).report, 'project config')[0]?.slice(0, 2)).toEqual([
      'warning',
      'The config of proj_demo was last read at revision 1; it is now at 2.',
    ])
  })

  test('placements: loops, missing polls, frames without beacons', async () => {
    await using cli = await startTestCli()
    for (let time = 0; time < 2; time++) {
      await send(cli, 'POST', '/v1/placements', server, { ...asked, test_outcome: 'no_fill' })
    }
    await send(cli, 'POST', '/v1/jobs', server, { client_id: 'proj_demo', session_id: 's2' })
    const wanted = { ...asked, session_id: 's3', overrides: { allowed_formats: ['banner'] } }
    const answer = await send(cli, 'POST', '/v1/placements', server, wanted)
    const { placement } = (await answer.json()) as { placement: { render: { frame_url: string } } }
    await fetch(placement.render.frame_url)
    await cli.svc('sandbox clock advance 10s')
    const { report } = await look(cli)
    expect(about(report, 'no-fill')[0]?.[1]).toBe(
      'The same request followed a no-fill (test_forced) within a second, once. Last: *.',
    )
    expect(about(report, 'polling')[0]?.[1]).toBe('A pending slot was never polled, once: *.')
    expect(about(report, 'render beacons')[0]?.[1]).toBe(
      'A frame was loaded by a program, not a browser, and no beacon arrived, once: *.',
    )
    expect(about(report, 'clock')[0]?.[0]).toBe('warning')
  })

  test('a fill that is never shown expires', async () => {
    await using cli = await startTestCli()
    await send(cli, 'POST', '/v1/placements', server, { ...asked, overrides: { allowed_formats: ['banner'] } })
    await cli.svc('sandbox clock advance 1m')
    expect(about((await look(cli)).report, 'fills')[0]?.[1]).toBe(
      'The only fill was not followed by a frame or a beacon.',
    )
    await cli.svc('sandbox clock advance 1h')
    expect(about((await look(cli)).report, 'expired decisions')[0]?.[1]).toBe(
      'A fill expired before its frame was loaded, once: *.',
    )
  })

  test('a rate limit that is ignored', async () => {
    await using cli = await startTestCli()
    await cli.svc('sandbox projects update proj_demo --set rate_limits.default=1/min')
    for (let time = 0; time < 3; time++) await send(cli, 'POST', '/v1/placements', server, asked)
    const [finding] = about((await look(cli)).report, 'error envelopes')
    expect(finding?.[1]).toMatch(
      /^POST \/v1\/placements was repeated once before the \d+ s of Retry-After had passed \(429\)/,
    )
  })

  test('--since looks at newer requests only', async () => {
    await using cli = await startTestCli()
    await send(cli, 'POST', '/v1/placements', { authorization: 'Bearer pk_test_sandbox_demo' }, asked)
    expect((await look(cli)).code).toBe(5)
    const { report } = await look(cli, `--since ${noon + 1}`)
    expect(report).toMatchObject({ looked_at: { requests: 0 }, summary: { problem: 0 } })
  })

  test('a wrong environment is reported', async () => {
    await using cli = await startTestCli()
    const env = { SVC_SECRET_KEY: 'pk_test_sandbox_demo' }
    const { code, report } = await look(cli, '', { env })
    expect(code).toBe(5)
    expect(about(report, 'keys')[0]?.[1]).toContain('secret_key (environment) is a publishable key')
  })

  test('text is grouped, with one line for each fix and a summary', async () => {
    await using cli = await startTestCli()
    await send(cli, 'POST', '/v1/placements', { authorization: 'Bearer pk_test_sandbox_demo' }, asked)
    const { code, stdout, stderr } = await cli.svc('doctor')
    expect({ code, stderr }).toEqual({ code: 5, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.filter((line) => /^[A-Z]/.test(line))).toEqual([
      'This machine',
      'The sandbox',
      "The integration's traffic",
    ])
    expect(stdout).toMatch(/^ {2}✗ key type {2,}POST \/v1\/placements was refused once/m)
    expect(stdout).toMatch(/^ +fix: Servers send a secret key/m)
    expect(lines.at(-1)).toMatch(/^\d+ ok, \d+ warnings?, 1 problem/)
  })
})

describe('without a sandbox', () => {
  test('the host is checked, and it says how to start one', async () => {
    const home = emptyHome()
    const port = await freePort()
    const { code, stdout } = await svc('doctor -o json', {
      env: { SVC_HOME: home, SVC_BASE_URL: `http://127.0.0.1:${port}` },
    })
    const report = JSON.parse(stdout) as Report
    expect(code).toBe(5)
    expect(about(report, 'node')[0]?.[0]).toBe('ok')
    expect(about(report, 'port')).toEqual([
      [
        'problem',
        `Nothing responds at http://127.0.0.1:${port} (environment).`,
        'Start one: svc start, or correct the address.',
      ],
    ])
    expect(about(report, 'journal')).toEqual([
      ['unknown', 'No sandbox responds, so its journal cannot be read.', 'Start one: svc start'],
    ])
  })

  test('a sandbox that wants a token runs: nothing is to be started, and the token is named as commands take it', async () => {
    await using sandbox = await startSandbox({ database: ':memory:', allowed_hosts: ['sandbox'] })
    const { stdout } = await svc(`doctor --base-url ${sandbox.url} -o json`, { env: { SVC_HOME: emptyHome() } })
    const report = JSON.parse(stdout) as Report
    const hint = expect.stringMatching(/^Commands take a token from --control-token or SVC_CONTROL_TOKEN; /)
    expect(about(report, 'port')).toEqual([['unknown', expect.stringContaining('needs a token'), hint]])
    expect(about(report, 'journal')).toEqual([
      ['unknown', 'The sandbox cannot be read, so neither can its journal.', hint],
    ])
  })

  test('a program that is not a sandbox is recognized', async () => {
    const other = createServer((_request, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const base_url = `http://127.0.0.1:${port}`
    const { stdout } = await svc(`doctor --base-url ${base_url} -o json`, { env: { SVC_HOME: emptyHome() } })
    other.close()
    const [port_finding] = about(JSON.parse(stdout) as Report, 'port')
    expect(port_finding?.slice(0, 2)).toEqual([
      'unknown',
      `What responds at ${base_url} is not a sandbox, so there is no journal to check.`,
    ])
  })

  test('a sandbox of another version, whose journal cannot be read, is reported', async () => {
    await using cli = await startTestCli()
    const older = createServer(async (request, response) => {
      const body = await (await fetch(cli.sandbox.url + request.url)).text()
      if (request.url?.includes('details=') === true) response.writeHead(400).end('{}')
      else response.end(body.replace(/"version":"[^"]+"/, '"version":"0.0.9"'))
    }).listen(0, '127.0.0.1')
    await once(older, 'listening')
    const base_url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
    const { code, stdout, stderr } = await svc(`doctor --base-url ${base_url} -o json`, {
      env: { SVC_HOME: emptyHome() },
    })
    older.close()
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining('nothing_checked') })
    expect(about(JSON.parse(stdout) as Report, 'version')[0]?.[0]).toBe('warning')
    expect(about(JSON.parse(stdout) as Report, 'journal')[0]?.[1]).toMatch(
      /^The journal of svc 0\.0\.9 cannot be read by svc /,
    )
  })

  test('a program that holds the port without answering is named', async () => {
    const mute = createTcpServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const { port } = mute.address() as AddressInfo
    const env = { SVC_HOME: emptyHome() }
    const { code, stdout } = await svc(`doctor --base-url http://127.0.0.1:${port} -o json`, { env })
    mute.close()
    expect(code).toBe(5)
    const [finding] = about(JSON.parse(stdout) as Report, 'port')
    expect(finding?.[1]).toMatch(
      new RegExp(`^Port ${port} is taken by (pid ${process.pid} \\(.+\\)|another program), which does not respond`),
    )
  })

  test('an invalid config file is reported, and the other checks still run', async () => {
    const home = emptyHome()
    await writeFile(join(home, 'svc.config.json'), '{"base_url": 7}')
    const { code, stdout } = await svc('doctor -o json', { env: { SVC_HOME: home } })
    expect(code).toBe(5)
    const [finding] = about(JSON.parse(stdout) as Report, 'config file')
    expect(finding?.[0]).toBe('problem')
    expect(finding?.[1]).toContain(join(home, 'svc.config.json'))
  })

  test('a state directory that cannot be created is reported', async () => {
    const home = emptyHome()
    await writeFile(join(home, 'file'), '')
    const { stdout } = await svc('doctor -o json', { env: { SVC_HOME: join(home, 'file', 'state') }, cwd: home })
    expect(about(JSON.parse(stdout) as Report, 'state directory')[0]?.[0]).toBe('problem')
  })

  test('an old Node is reported', async () => {
    const env = { SVC_HOME: emptyHome() }
    const { stdout } = await svc('doctor -o json', { env, system: { node_version: '18.20.4' } })
    expect(about(JSON.parse(stdout) as Report, 'node')[0]?.slice(0, 2)).toEqual([
      'problem',
      'Node 18.20.4 is too old: svc needs 22.19 or later.',
    ])
  })
})

describe('--serve-dir', () => {
  test('finds a secret key in a directory, and nothing in a clean one', async () => {
    await using cli = await startTestCli()
    const dist = join(cli.home, 'dist')
    await mkdir(join(dist, 'assets'), { recursive: true })
    await writeFile(join(dist, 'index.html'), '<p>pk_test_sandbox_demo</p>')
    const clean = await look(cli, '--serve-dir dist')
    expect(clean.code).toBe(0)
    expect(about(clean.report, 'served files')).toEqual([['ok', 'No secret key in 1 file of dist.', null]])
    await writeFile(join(dist, 'assets', 'app.js'), '\nconst key = "sk_test_sandbox_demo"\n')
    const leaking = await look(cli, '--serve-dir dist')
    expect(leaking.code).toBe(5)
    expect(about(leaking.report, 'served files')[0]?.slice(0, 2)).toEqual([
      'problem',
      'assets/app.js:2 contains the secret key sk_test_….',
    ])
    expect(JSON.stringify(leaking.report)).not.toContain('sk_test_sandbox_demo')
  })

  test('finds one in the scripts of a page', async () => {
    await using cli = await startTestCli()
    const site = createServer((request, response) =>
      response.end(request.url === '/app.js' ? 'x("sk_live_abcdef123")' : '<script src="/app.js"></script>'),
    ).listen(0, '127.0.0.1')
    await once(site, 'listening')
    const page = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    const { report } = await look(cli, `--serve-dir ${page}`)
    site.close()
    expect(about(report, 'served files')[0]?.[1]).toBe(`${page}/app.js:1 contains the secret key sk_live_….`)
  })

  test('a place that cannot be read is not reported as clean', async () => {
    await using cli = await startTestCli()
    const { report } = await look(cli, '--serve-dir nowhere')
    expect(about(report, 'served files')[0]?.[0]).toBe('unknown')
  })
})

/** Returns a state directory that is removed after the test. */
function emptyHome(): string {
  const home = temporaryDirectory()
  onTestFinished(() => rm(home, { recursive: true }))
  return home
}
