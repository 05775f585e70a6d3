import { execFileSync } from 'node:child_process'
import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runningSandboxes, stateDirectory, writeLocator } from '#cli/settings/state-directory.ts'
import { startRecorders, walkKeyDestinations } from './key-destinations.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

const body = async (args: string, options: Parameters<typeof svc>[1]) => {
  const { stdout, stderr } = await svc(`placements create --curl --session s -q ${args}`, options)
  expect(stderr).toBe('')
  return {
    url: /'(http.*)\/v1\/placements'/.exec(stdout)?.[1],
    client_id: /"client_id":"(.*?)"/.exec(stdout)?.[1],
  }
}

describe('settings', () => {
  test('come from flag, environment, config file, profile, sandbox or default, in this order', async () => {
    const home = temporaryDirectory()
    const cwd = join(home, 'project/deep')
    await mkdir(cwd, { recursive: true })
    const env: Record<string, string> = { SVC_HOME: home }
    const options = { env, cwd }
    const url = (name: string) => `http://${name}.test`

    expect((await body('', options)).url).toBe('http://127.0.0.1:4010')
    await writeLocator(home, locator(process.pid, url('sandbox')))
    expect(await body('', options)).toEqual({ url: url('sandbox'), client_id: 'proj_demo' })
    const profiles = { current: 'a', profiles: { a: { base_url: url('profile') }, b: { base_url: url('other') } } }
    await writeFile(join(home, 'profiles.json'), JSON.stringify(profiles))
    expect((await body('', options)).url).toBe(url('profile'))
    expect((await body('--profile b', options)).url).toBe(url('other'))
    await writeFile(join(home, 'project/svc.config.json'), JSON.stringify({ $schema: 'x', base_url: url('config') }))
    expect((await body('', options)).url).toBe(url('config'))
    env.SVC_BASE_URL = url('environment')
    expect((await body('', options)).url).toBe(url('environment'))
    expect((await body(`--base-url ${url('flag')}`, options)).url).toBe(url('flag'))
  })

  test('credentials of a sandbox never go to another service', async () => {
    const home = temporaryDirectory()
    await writeLocator(home, locator(process.pid, 'http://sandbox.test'))
    const { code, stderr } = await svc('placements create --base-url http://real.test', { env: { SVC_HOME: home } })
    expect(code).toBe(4)
    expect(stderr).toBe(`\
error: There is no secret key for http://real.test.
hint: Set SVC_SECRET_KEY, or give --secret-key KEY.
`)
    const mistyped = await svc('placements create --base-url http://localhost:4999', { env: { SVC_HOME: home } })
    expect(mistyped.stderr).toContain('None of your sandboxes runs there. List them: svc sandbox ps\n')
  })

  test('a project of the sandbox brings its own keys', async () => {
    const home = temporaryDirectory()
    await writeLocator(home, locator(process.pid, 'http://sandbox.test'))
    const { stdout } = await svc('placements create --curl --client-id proj_other', { env: { SVC_HOME: home } })
    expect(stdout).toContain('Bearer sk_test_other')
  })

  test('the error of an invalid value names its source', async () => {
    const home = temporaryDirectory()
    const readMessage = async (args: string, env: Record<string, string> = {}) => {
      const { code, stderr } = await svc(`placements list ${args}`, { env: { SVC_HOME: home, ...env }, cwd: home })
      expect(code).toBe(2)
      return stderr.split('\n')[0]
    }
    for (const url of ['ftp://x', 'http://x?y=1', 'http://x/#/home']) {
      expect(await readMessage(`--base-url ${url}`)).toBe(
        'error: --base-url: must be an http or https URL without a query, such as http://127.0.0.1:4010.',
      )
    }
    expect(await readMessage('', { SVC_OUTPUT: 'yaml' })).toContain(
      'error: SVC_OUTPUT: must be one of text, json, jsonl, csv, tsv, none.',
    )
    expect(await readMessage('--profile nobody')).toBe(
      `error: There is no profile nobody in ${join(home, 'profiles.json')}.`,
    )
    expect(await readMessage('--config gone.json')).toBe(`error: There is no config file ${join(home, 'gone.json')}.`)
    await writeFile(join(home, 'svc.config.json'), '{"base_ulr": "http://x"}')
    expect(await readMessage('')).toBe(`error: ${join(home, 'svc.config.json')}: has no field base_ulr.`)
    await writeFile(join(home, 'svc.config.json'), '{')
    expect(await readMessage('')).toContain('svc.config.json is not JSON')
  })

  test('a named pipe as a config file is refused, and nothing waits for it', async () => {
    const cwd = temporaryDirectory()
    const path = join(cwd, 'svc.config.json')
    execFileSync('mkfifo', [path])
    const { code, stderr } = await svc('config list', { cwd, env: { SVC_HOME: cwd } })
    expect({ code, stderr }).toEqual({ code: 2, stderr: `error: ${path} is not a regular file.\n` })
  })

  test.each(['svc.config.json', 'gone.json'])('a config file that is a link to %s is named', async (target) => {
    const home = temporaryDirectory()
    const link = join(home, 'svc.config.json')
    await symlink(target, link)
    const options = { env: { SVC_HOME: home }, cwd: home }
    const { code, stderr } = await svc('placements list', options)
    expect({ code, stderr }).toEqual({ code: 2, stderr: `error: ${link} is a link to a file that is missing.\n` })
    const { stdout } = await svc('config validate -o json', options)
    expect(JSON.parse(stdout)).toMatchObject([{ file: link, valid: false }])
  })
})

describe('keys', () => {
  test('reach no service that did not come from the same source or was not named: a sample', async () => {
    const { cases, sent, refused, problems } = await walkKeyDestinations({ step: 23 })
    expect(problems).toEqual([])
    expect(Math.min(cases, sent, refused)).toBeGreaterThan(5)
  })

  test('the refusal names both places, and what to do', async () => {
    const home = temporaryDirectory()
    await writeFile(join(home, 'svc.config.json'), '{"base_url": "http://127.0.0.1:9377", "client_id": "proj_demo"}')
    const options = { env: { SVC_HOME: home, SVC_SECRET_KEY: 'sk_live_mine' }, cwd: home }
    expect(await svc('placements create', options)).toEqual({
      code: 2,
      stdout: '',
      stderr: `\
error: Nothing was sent. The secret key is from SVC_SECRET_KEY, but the service from ${join(home, 'svc.config.json')}: http://127.0.0.1:9377.
hint: A key is sent only to a service from the same place, or one that you name. To allow it: --base-url http://127.0.0.1:9377
`,
    })
    const named = await svc('placements create --base-url http://service.example', options)
    expect({ code: named.code, stderr: named.stderr }).toEqual({
      code: 2,
      stderr: `\
error: Nothing was sent. The secret key would travel to http://service.example without encryption.
hint: Use https. If anyone on the network may read it, add --allow-http.
`,
    })
  })

  test('a redirect is not followed, and like a page it leads to the base URL', async () => {
    await using recorders = await startRecorders()
    const server = createServer(({ method }, response) =>
      method === 'GET'
        ? response.end('<title>Sign in</title>')
        : response.writeHead(307, { location: `${recorders.decoy}/v1/placements` }).end(),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = {
      SVC_HOME: temporaryDirectory(),
      SVC_BASE_URL: url,
      SVC_SECRET_KEY: 'sk_test_mine',
      SVC_CLIENT_ID: 'proj_demo',
    }
    const { code, stderr } = await svc('placements create', { env })
    const page = await svc('placements list', { env })
    server.close()
    const hint = 'hint: Is this the service that you meant? Where the base URL is from: svc config list\n'
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: `error: POST /v1/placements responded with 307, a redirect to ${recorders.decoy}/v1/placements. It was not followed.\n${hint}`,
    })
    expect(page).toMatchObject({
      code: 3,
      stderr: `error: The response to placements.list differs from the contract: the body is not JSON\n${hint}`,
    })
    expect(recorders.count()).toBe(0)
  })

  test('a suite sends none to another service, in whatever part of a request', async () => {
    await using recorders = await startRecorders()
    const { decoy } = recorders
    const requests = [
      `{ path: '${decoy}/a' }, key: secret`,
      `{ path: '${decoy}/{{secret_key}}' }`,
      `{ path: '${decoy}/a?k={{secret_key}}' }`,
      `{ path: '${decoy}/a', method: POST, body: { k: '{{secret_key}}' } }`,
      `{ path: '${decoy}/a' }, headers: { x-k: '{{secret_key}}' }`,
    ]
    const cases = requests.map((request, index) => `  - name: c${index}\n    steps:\n      - { request: ${request} }\n`)
    const home = temporaryDirectory()
    await writeFile(join(home, 'suite.yaml'), `suite: shop\ntitle: A shop\ncases:\n${cases.join('')}`)
    const env = {
      SVC_HOME: home,
      SVC_BASE_URL: recorders.urls.loopback,
      SVC_SECRET_KEY: 'sk_test_mine',
      SVC_CLIENT_ID: 'proj_demo',
    }
    const { code, stdout, stderr } = await svc('qa run suite.yaml', { env, cwd: home })
    expect(recorders.seenBy('sk_test_mine')).toEqual([])
    expect(code, stderr).toBe(5)
    expect(stdout.match(/Not sent: a key of/g)?.length, stdout).toBe(5)
  })

  test('a config file above the working directory is named, once', async () => {
    const home = temporaryDirectory()
    const cwd = join(home, 'project/deep')
    await mkdir(cwd, { recursive: true })
    const path = join(home, 'project/svc.config.json')
    await writeFile(path, '{"base_url": "http://127.0.0.1:1", "client_id": "proj_demo", "secret_key": "sk_test_x"}')
    const stderr = async (args: string, directory: string) =>
      (await svc(args, { env: { SVC_HOME: home }, cwd: directory })).stderr
    expect((await stderr('placements create --consent denied', cwd)).split(`Settings from ${path}\n`)).toHaveLength(2)
    expect(await stderr('placements create', join(home, 'project'))).not.toContain('Settings from')
    expect(await stderr(`placements create --config ${path}`, cwd)).not.toContain('Settings from')
    expect(await stderr('placements create -q', cwd)).not.toContain('Settings from')
  })
})

describe('the state directory', () => {
  const home = '/home/dev'
  const cases: [platform: string, env: Record<string, string>, directory: string][] = [
    ['linux', { SVC_HOME: '/a', XDG_STATE_HOME: '/b' }, '/a'],
    ['linux', { XDG_STATE_HOME: '/b' }, join('/b', 'svc')],
    ['linux', {}, join(home, '.local/state/svc')],
    ['darwin', {}, join(home, 'Library/Application Support/svc')],
    ['win32', { LOCALAPPDATA: '/c' }, join('/c', 'svc')],
  ]
  test.each(cases)('on %s with %j is %s', (platform, env, directory) => {
    expect(stateDirectory({ platform, env, home })).toBe(directory)
  })
})

describe('locators', () => {
  test('are readable by their owner only', async () => {
    const home = temporaryDirectory()
    await writeLocator(home, locator(process.pid, 'http://a.test'))
    const mode = async (path: string) => (await stat(join(home, path))).mode & 0o777
    expect(await mode('sandboxes')).toBe(0o700)
    expect(await mode(`sandboxes/${process.pid}.json`)).toBe(0o600)
  })

  test('of ended processes and broken ones are removed; the newest sandbox comes first', async () => {
    const home = temporaryDirectory()
    for (const pid of [101, 102, 103]) await writeLocator(home, locator(pid, `http://${pid}.test`))
    await writeFile(join(home, 'sandboxes/104.json'), '{"url":')
    const running = await runningSandboxes(home, {
      isRunning: (pid) => pid !== 102,
      readProcessStart: async () => null,
      pid_scope: null,
    })
    expect(running.map(({ pid }) => pid)).toEqual([103, 101])
    expect((await readdir(join(home, 'sandboxes'))).sort()).toEqual(['101.json', '103.json'])
  })
})

function locator(pid: number, url: string) {
  const keys = (name: string) => ({
    client_id: `proj_${name}`,
    secret_key: `sk_test_${name}`,
    live_secret_key: `sk_live_${name}`,
    publishable_key: `pk_test_${name}`,
    allowed_origins: ['http://localhost:*'],
  })
  return {
    url,
    inspector_url: `${url}/_sandbox/`,
    database: ':memory:',
    pid,
    version: '0.1.0',
    projects: [keys('demo'), keys('other')],
    started_at_ms: pid,
  }
}
