/** `svc start` beyond loopback and with TLS, what is printed works, and commands find it. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ownCertificate } from '#cli/process/certificate.ts'
import { mergeStartOptions, startEnvironment } from '#cli/settings/start-options.ts'
import { type Following, follow } from './follow.ts'
import { keptStream, noon, realProcesses, svc, temporaryDirectory, testHost } from './test-cli.ts'

interface Ready {
  url: string
  public_url: string
  admin_token: string
  certificate: string
}

/** Starts a sandbox and stops it after the test. */
async function start(home: string, flags: string, env: Record<string, string> = {}): Promise<Ready & Following> {
  const running = follow(`start --ephemeral --port 0 ${flags} -o json`, { env: { SVC_HOME: home, ...env }, cwd: home })
  onTestFinished(() => running[Symbol.asyncDispose]())
  return { ...running, ...(JSON.parse(await running.firstLine) as Ready) }
}

const cli = (home: string, args: string, env: Record<string, string> = {}) =>
  svc(args, { env: { SVC_HOME: home, ...env }, system: { now: Date.now } })

/** What a command prints as JSON. How a sandbox does is polled: a busy computer takes the time after which it counts as silent. */
async function printed<Value>(home: string, args: string): Promise<Value> {
  return JSON.parse((await cli(home, args)).stdout)
}

describe('beyond loopback', () => {
  test('ps, status, stop and every command find it; the printed page opens with the host that it names', async () => {
    const home = temporaryDirectory()
    const name = 'devbox.test'
    const flags = `--port 0 --ephemeral --host 0.0.0.0 --public-url http://${name}:4010`
    await using started = follow(`start ${flags}`, { env: { SVC_HOME: home } })
    await expect.poll(started.stdout).toContain('Ctrl-C stops it.')
    expect(started.stderr()).toBe('warning: reachable beyond loopback: the control plane needs the admin token\n')
    const block = started.stdout()
    const address = /^ +demo +(\S+)$/m.exec(block)?.[1] ?? ''
    const url = /^ +URL +(\S+)$/m.exec(block)?.[1] ?? ''
    expect(address).toMatch(/^http:\/\/devbox\.test:4010\/_sandbox\/demo\?token=sbx_/)
    expect(block).toContain(` ${address.replace('/demo?', '/?')}\n`)
    await expect.poll(() => printed(home, 'sandbox ps -o json')).toMatchObject([{ url, ready: true, used: true }])
    await expect.poll(() => printed(home, 'sandbox status -o json')).toMatchObject({ url, ready: true })
    const verified = await cli(home, 'evidence list -o none')
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
    const flags = `--config ${config} --allowed-host a --allowed-host b`
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
    const ready = await start(home, '--tls --allowed-host devbox.test --public-url https://192.168.1.5:4010')
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
    // What this process trusts once, it trusts: the stranger comes first.
    const stranger = await cli(temporaryDirectory(), `sandbox clock show --base-url ${ready.url}`)
    expect([stranger.code, stranger.stderr.split('\n')]).toEqual([
      7,
      [
        `error: ${ready.url} cannot be reached: its certificate is not trusted here.`,
        expect.stringContaining('NODE_EXTRA_CA_CERTS=FILE'),
        '',
      ],
    ])
    // Plain HTTP on this port gets its response below TLS.
    const plain = ready.url.replace('https', 'http')
    const hint = `hint: Use https://192.168.1.5:4010\n`
    const wrong = await cli(home, `sandbox clock show --base-url ${plain}`)
    expect(wrong.stderr).toContain(`error: This sandbox speaks https, and the request came as plain http.\n${hint}`)
    expect(await statusAt(`${ready.url}/_sandbox/readyz`, 'devbox.test', cert)).toBe(200)

    const placed = await cli(home, 'placements create --expect fill -o json')
    expect(placed.code, placed.stderr).toBe(0)
    const { placement } = JSON.parse(placed.stdout) as { placement: { render: { frame_url: string } } }
    expect(placement.render.frame_url).toMatch('https://192.168.1.5:4010/v1/render/ast_')
    await expect.poll(() => printed(home, 'sandbox ps -o json')).toMatchObject([{ url: ready.url, ready: true }])
    const variables = await printed<Record<string, string>>(home, 'sandbox env -o json')
    const files = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE'].map((name) =>
      readFileSync(variables[name]!, 'utf8'),
    )
    expect(files.map((text) => text.includes(cert.trim()))).toEqual([true, true, true, true])
    expect(files[0]).toBe(cert)
    // Those that replace the system's certificates have them too, and a second print adds nothing.
    expect(files[1]!.length).toBeGreaterThan(cert.length)
    const again = await cli(home, 'sandbox env -o json', { SSL_CERT_FILE: variables.SSL_CERT_FILE! })
    expect(JSON.parse(again.stdout)).toEqual(variables)
    expect(readFileSync(variables.SSL_CERT_FILE!, 'utf8')).toBe(files[1])
  })

  test('a service that speaks http is named', async () => {
    const home = temporaryDirectory()
    const { url } = await start(home, '')
    const { code, stderr } = await cli(home, `sandbox clock show --base-url ${url.replace('http', 'https')}`)
    expect([code, stderr]).toEqual([
      7,
      `error: ${url.replace('http', 'https')} cannot be reached: it speaks http, not https.\nhint: Use ${url}\n`,
    ])
  })

  test('an expired certificate and a key that others can read are said at the start, in status and by doctor', async () => {
    const home = temporaryDirectory()
    const [cert, key] = [join(home, 'cert.pem'), join(home, 'key.pem')]
    const made = await generate([{ name: 'commonName', value: 'localhost' }], {
      keyType: 'ec',
      algorithm: 'sha256',
      notBeforeDate: new Date('2026-01-01'),
      notAfterDate: new Date('2026-01-09'),
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
    })
    writeFileSync(cert, made.cert)
    writeFileSync(key, made.private, { mode: 0o644 })
    const { stderr } = await start(home, `--tls-cert ${cert} --tls-key ${key}`)
    const warnings = [
      'the certificate expired on 2026-01-09: clients refuse it. Make another, or start with --tls',
      `every user of this computer can read the TLS key: chmod 600 ${key}`,
    ]
    // Commands on this computer refuse it too.
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    const status = await cli(home, 'sandbox status')
    const doctor = await cli(home, 'doctor -o json')
    for (const warning of warnings) {
      expect(stderr()).toContain(`warning: ${warning}\n`)
      expect(status.stderr).toContain(`warning: ${warning}\n`)
      expect(doctor.stdout).toContain(warning.slice(1))
    }
  })

  test('exec: the command trusts the certificate by NODE_EXTRA_CA_CERTS, which keeps what it named', async () => {
    const home = temporaryDirectory()
    const own = join(home, 'own.pem')
    writeFileSync(own, '# of a company\n')
    const script = `fetch(process.env.SVC_BASE_URL + "/_sandbox/readyz").then(({ status }) => fs.writeFileSync("out",
      [status, process.env.SVC_BASE_URL.slice(0, 5), fs.readFileSync(process.env.NODE_EXTRA_CA_CERTS, "utf8").split("\\n")[0]].join(" ")))`
    const options = { env: { SVC_HOME: home, NODE_EXTRA_CA_CERTS: own }, cwd: home, system: realProcesses }
    expect((await svc(`exec -q --tls -- ${process.execPath} -e '${script}'`, options)).code).toBe(0)
    expect(readFileSync(join(home, 'out'), 'utf8')).toBe('200 https # of a company')
  })

  test('renews a certificate that has expired or is damaged', async () => {
    const home = temporaryDirectory()
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
    expect(new X509Certificate(renewed.cert).checkPrivateKey(createPrivateKey(renewed.key))).toBe(true)
    const both = await Promise.all([1, 2, 3].map(() => ownCertificate(at(noon), home, ['other.test'])))
    expect(new Set(both.map(({ key }) => key)).size).toBe(1)
  })

  test.each([
    ['--tls-cert nothing.pem', '--tls-cert needs --tls-key FILE.'],
    ['--tls-key nothing.pem', '--tls-key needs --tls-cert FILE.'],
    ['--tls-cert nothing.pem --tls-key nothing.pem', 'nothing.pem cannot be read: no such file.'],
    ['--tls-cert . --tls-key .', 'cannot be read: it is a folder.'],
    ['--tls-cert text.pem --tls-key text.pem', 'The TLS certificate is not a certificate in PEM form.'],
    ['--tls --tls-cert text.pem --tls-key text.pem', "'--tls' cannot be used with option '--tls-cert"],
    ['--public-url /path', 'The public URL /path is not an origin.'],
    ['--rate-limit often', 'often'],
    ['--scenario none_such', 'no scenario named none_such'],
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
