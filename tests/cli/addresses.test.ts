/** `svc start` beyond loopback and with TLS, as real processes: what is printed works, and commands find it. */
import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mergeStartOptions, startEnvironment } from '../../src/cli/settings/start-options.ts'
import { spawnSvc } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

interface Ready {
  url: string
  public_url: string
  admin_token: string
  certificate: string
}

/** Starts a sandbox and stops it after the test. */
async function start(home: string, args: string[], env: Record<string, string> = {}): Promise<Ready> {
  const { child, firstLine, ended } = spawnSvc(['start', '--ephemeral', '--port', '0', ...args, '-o', 'json'], {
    SVC_HOME: home,
    ...env,
  })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  return JSON.parse(await firstLine) as Ready
}

const cli = (home: string, ...args: string[]) => spawnSvc(args, { SVC_HOME: home }).ended

describe('beyond loopback', () => {
  test('ps, status, stop and every command find it; the printed page opens with the host that it names', async () => {
    const home = temporaryDirectory()
    const name = 'devbox.test'
    const detached = await cli(
      home,
      'start',
      '--detach',
      '--port',
      '0',
      '--ephemeral',
      '--host',
      '0.0.0.0',
      '--public-url',
      `http://${name}:4010`,
    )
    onTestFinished(async () => void (await cli(home, 'sandbox', 'stop', '--all')))
    expect([detached.code, detached.stderr.replace(/^waiting .*\n/m, '')]).toEqual([
      0,
      'warning: reachable beyond loopback: the control plane needs the admin token\n',
    ])
    const address = /^ +demo +(\S+)$/m.exec(detached.stdout)?.[1] ?? ''
    const url = /^ +URL +(\S+)$/m.exec(detached.stdout)?.[1] ?? ''
    expect(address).toMatch(/^http:\/\/devbox\.test:4010\/_sandbox\/demo\?token=sbx_/)
    expect(detached.stdout).toContain(` ${address.replace('/demo?', '/?')}\n`)
    const [listed, status, verified] = await Promise.all([
      cli(home, 'sandbox', 'ps', '-o', 'json'),
      cli(home, 'sandbox', 'status', '-o', 'json'),
      cli(home, 'evidence', 'list', '-o', 'none'),
    ])
    expect(JSON.parse(listed.stdout)).toMatchObject([{ url, ready: true, used: true }])
    expect([status.code, JSON.parse(status.stdout)]).toMatchObject([0, { url, ready: true }])
    expect(verified.code, verified.stderr).toBe(0)
    // A phone would resolve the name to this computer.
    const { pathname, search, host } = new URL(address)
    expect(await statusAt(`${url}${pathname}${search}`, host)).toBe(200)
    expect(await statusAt(`${url}${pathname}/settings${search}`, host)).toBe(200)
    expect(await statusAt(`${url}${pathname}/settings`, host)).toBe(403)
    expect(await statusAt(`${url}${pathname}${search}`, 'evil.example')).toBe(421)
  })

  test('a flag wins over a variable, that over the config file', async () => {
    const home = temporaryDirectory()
    const config = join(home, 'svc.config.json')
    const section = { public_url: 'http://file:1', allowed_host: ['from-file'], host: '127.0.0.1' }
    writeFileSync(config, JSON.stringify({ sandbox: section }))
    const flags = ['--config', config, '--allowed-host', 'a', '--allowed-host', 'b']
    const environment = { SVC_PUBLIC_URL: 'http://variable:1', SVC_ALLOWED_HOST: 'one, two' }
    const { url, public_url } = await start(home, flags, environment)
    expect(public_url).toBe('http://variable:1')
    const statuses = ['a', 'b', 'variable', 'one', 'from-file', 'file'].map((host) =>
      statusAt(`${url}/_sandbox/readyz`, host),
    )
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 421, 421, 421])
    expect(startEnvironment(environment)).toEqual({ public_url: 'http://variable:1', allowed_host: ['one', 'two'] })
    expect(startEnvironment({ SVC_TLS: '1' })).toEqual({ tls: true })
    expect(startEnvironment({ SVC_TLS: '0', SVC_PUBLIC_URL: '' })).toEqual({ tls: false })
    expect(() => startEnvironment({ SVC_TLS: 'perhaps' })).toThrow('SVC_TLS must be 1 or 0.')
    // Options that belong together are replaced together.
    expect(mergeStartOptions({ tls: true }, { tls_cert: 'c', tls_key: 'k', seed: 1 })).toEqual({ tls: true, seed: 1 })
  })
})

describe('--tls', () => {
  test('makes a certificate once, for its owner alone; commands, env and exec work with it', async () => {
    const home = temporaryDirectory()
    const ready = await start(home, [
      '--tls',
      '--allowed-host',
      'devbox.test',
      '--public-url',
      'https://192.168.1.5:4010',
    ])
    expect(ready.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const cert = readFileSync(ready.certificate, 'utf8')
    const names = new X509Certificate(cert).subjectAltName?.replaceAll(' ', '').split(',')
    expect(names).toEqual([
      'DNS:localhost',
      'IPAddress:127.0.0.1',
      'IPAddress:0:0:0:0:0:0:0:1',
      'DNS:devbox.test',
      'IPAddress:192.168.1.5',
    ])
    const folder = join(home, 'tls')
    const modes = [folder, ...readdirSync(folder).map((file) => join(folder, file))].map(
      (path) => statSync(path).mode & 0o777,
    )
    expect(modes).toEqual([0o700, 0o600, 0o600])
    expect(await statusAt(`${ready.url}/_sandbox/readyz`, 'devbox.test', cert)).toBe(200)

    const [placed, listed, variables] = await Promise.all([
      cli(home, 'placements', 'create', '--expect', 'fill', '-o', 'json'),
      cli(home, 'sandbox', 'ps', '-o', 'json'),
      cli(home, 'env', '-o', 'json'),
    ])
    expect(placed.code, placed.stderr).toBe(0)
    const { placement } = JSON.parse(placed.stdout) as { placement: { render: { frame_url: string } } }
    expect(placement.render.frame_url).toMatch('https://192.168.1.5:4010/v1/render/ast_')
    expect(JSON.parse(listed.stdout)).toContainEqual(expect.objectContaining({ url: ready.url, ready: true }))
    expect(JSON.parse(variables.stdout)).toMatchObject({ NODE_EXTRA_CA_CERTS: ready.certificate })
  })

  test('exec: the command trusts the certificate by NODE_EXTRA_CA_CERTS, which keeps what it named', async () => {
    const home = temporaryDirectory()
    const own = join(home, 'own.pem')
    writeFileSync(own, '# of a company\n')
    const script = `fetch(process.env.SVC_BASE_URL + '/_sandbox/readyz').then(async (response) => console.log(response.status, process.env.SVC_BASE_URL.slice(0, 5), require('fs').readFileSync(process.env.NODE_EXTRA_CA_CERTS, 'utf8').split('\\n')[0]))`
    const words = ['exec', '-q', '--tls', '--', process.execPath, '-e', script]
    const ran = await spawnSvc(words, { SVC_HOME: home, NODE_EXTRA_CA_CERTS: own }).ended
    expect(ran).toMatchObject({ code: 0, stdout: '200 https # of a company\n' })
  })

  test('renews a certificate that has expired or is damaged', async () => {
    const home = temporaryDirectory()
    const { ownCertificate } = await import('../../src/cli/process/certificate.ts')
    const { testHost, keptStream, noon } = await import('./test-cli.ts')
    const stream = keptStream(false)
    const at = (now_ms: number) => ({
      ...testHost({ env: {}, cwd: home, stdin: '', stdout: stream, stderr: stream }),
      now: () => now_ms,
    })
    const first = await ownCertificate(at(noon), home, [])
    expect(await ownCertificate(at(noon + 300 * 86_400_000), home, [])).toEqual(first)
    const later = await ownCertificate(at(noon + 398 * 86_400_000), home, [])
    expect(later.cert).not.toBe(first.cert)
    expect(readFileSync(later.path, 'utf8')).toBe(later.cert)
    writeFileSync(later.path.replace(/crt$/, 'pem'), 'damaged')
    const renewed = await ownCertificate(at(noon + 398 * 86_400_000), home, [])
    expect(
      new X509Certificate(renewed.cert).checkPrivateKey((await import('node:crypto')).createPrivateKey(renewed.key)),
    ).toBe(true)
    const both = await Promise.all([1, 2, 3].map(() => ownCertificate(at(noon), home, ['other.test'])))
    expect(new Set(both.map(({ key }) => key)).size).toBe(1)
  })

  test.each([
    ['--tls-cert nothing.pem', '--tls-cert needs --tls-key FILE.'],
    ['--tls-key nothing.pem', '--tls-key needs --tls-cert FILE.'],
    ['--tls-cert nothing.pem --tls-key nothing.pem', '--tls-cert: There is no file '],
    ['--tls-cert . --tls-key .', '--tls-cert: This file cannot be read: '],
    [
      '--tls-cert text.pem --tls-key text.pem',
      'The TLS certificate cannot be read: it is not PEM, or it is encrypted.',
    ],
    ['--tls --tls-cert text.pem --tls-key text.pem', "'--tls' cannot be used with option '--tls-cert"],
    ['--public-url /path', 'The public URL /path is not an origin.'],
    ['--allowed-host http://name', 'The allowed host http://name is not a host name.'],
  ])('start %s ends with exit code 2 and says why', async (flags, message) => {
    const home = temporaryDirectory()
    writeFileSync(join(home, 'text.pem'), 'text')
    const { code, stdout, stderr } = await svc(`start --ephemeral --port 0 ${flags}`, {
      env: { SVC_HOME: home },
      cwd: home,
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain('hint: ')
  })
})

/** Requests an address under another Host, as behind a name that resolves to this computer. */
function statusAt(url: string, host: string, ca?: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { headers: { host }, agent: false, ...(ca === undefined ? {} : { ca }) }
    const sent = (ca === undefined ? request : requestTls)(url, options, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject).end()
  })
}
