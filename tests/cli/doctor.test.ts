/** `svc doctor` on this computer, with and without a sandbox. */
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Diagnosis, Summary } from '#cli/doctor/doctor.ts'
import { startSandbox } from '#sandbox/index.ts'
import { freePort } from './process.ts'
import { type RunOptions, startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

interface Report {
  ok: boolean
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

describe('with a sandbox', () => {
  test('the computer and the sandbox are checked, and it says who judges the app', async () => {
    await using cli = await startTestCli()
    const { code, report } = await look(cli)
    expect({ code, report }).toMatchObject({ code: 0, report: { ok: true, summary: { problem: 0 } } })
    expect(about(report, 'database')).toEqual([['ok', ':memory: and 3 evidence chains are intact.', null]])
    expect(about(report, 'port')).toEqual([['ok', `A sandbox responds at ${cli.sandbox.url}.`, null]])
    expect((await cli.svc('doctor')).stderr).toBe('The requests of your app: svc observe --since 10m\n')
    await cli.svc('sandbox clock advance 10s')
    expect(about((await look(cli)).report, 'clock')[0]?.[0]).toBe('warning')
  })

  test('a base URL that ends in /v1 is named', async () => {
    await using cli = await startTestCli()
    const { report } = await look(cli, `--base-url ${cli.sandbox.url}/v1`)
    expect(about(report, 'port')).toEqual([
      [
        'problem',
        `The sandbox at ${cli.sandbox.url}/v1 cannot be read: The base URL must not end in /v1.`,
        `Set it to ${cli.sandbox.url}`,
      ],
    ])
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
    const { code, stdout, stderr } = await cli.svc('doctor', { env: { SVC_SECRET_KEY: 'pk_test_sandbox_demo' } })
    expect({ code, stderr }).toEqual({ code: 5, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.filter((line) => /^[A-Z]/.test(line))).toEqual(['This machine', 'The sandbox'])
    expect(stdout).toMatch(/^ {2}✗ keys {2,}secret_key/m)
    expect(stdout).toMatch(/^ +fix: Set SVC_SECRET_KEY/m)
    expect(lines.at(-1)).toMatch(/^\d+ ok, .*1 problem/)
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
  })

  test('a sandbox that wants a token runs: nothing is to be started, and the token is named as commands take it', async () => {
    await using sandbox = await startSandbox({ database: ':memory:', allowed_hosts: ['sandbox'] })
    const { stdout } = await svc(`doctor --base-url ${sandbox.url} -o json`, { env: { SVC_HOME: emptyHome() } })
    const report = JSON.parse(stdout) as Report
    const hint = expect.stringMatching(/^Commands take a token from --control-token or SVC_CONTROL_TOKEN; /)
    expect(about(report, 'port')).toEqual([['unknown', expect.stringContaining('needs a token'), hint]])
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

  test('a sandbox of another version is reported', async () => {
    await using cli = await startTestCli()
    const older = createServer(async (request, response) => {
      const body = await (await fetch(cli.sandbox.url + request.url)).text()
      response.end(body.replace(/"version":"[^"]+"/, '"version":"0.0.9"'))
    }).listen(0, '127.0.0.1')
    await once(older, 'listening')
    const base_url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
    const { stdout } = await svc(`doctor --base-url ${base_url} -o json`, { env: { SVC_HOME: emptyHome() } })
    older.close()
    expect(about(JSON.parse(stdout) as Report, 'version')[0]?.[0]).toBe('warning')
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

/** Returns a state directory that is removed after the test. */
function emptyHome(): string {
  const home = temporaryDirectory()
  onTestFinished(() => rm(home, { recursive: true }))
  return home
}
