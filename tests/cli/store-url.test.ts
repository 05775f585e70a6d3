/** A store URL with a mistake in it: nothing that is printed or kept repeats its password. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { textsIn } from '#tests/temporary.ts'
import { root } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

/** Nothing listens there: a URL that can be read is refused at once. */
const place = '127.0.0.1:1/svc'
/** Both ends of the password, of which a mistake may show one. */
const password = /zq7|xk9/i

const urls = [
  ...[
    '',
    '//',
    'postgress://',
    'http://',
    'postgres:',
    'postgres:/',
    'postgres:///',
    'postgres:://',
    ' postgres://',
  ].map((before) => `${before}svc:Zq7xK9@${place}`),
  ...['@', '/', '#', '?', ' ', ':', '%', '%FF', '%zz', '\\', '"', '://', '@/', '/?#@'].flatMap((inside) => [
    `postgres://svc:Zq7${inside}xK9@${place}`,
    `postgress://svc:Zq7${inside}xK9@${place}`,
  ]),
  // It seems to be a port, up to the character that ends it.
  ...['/', '#', '?'].map((inside) => `postgres://svc:12${inside}xK9@${place}`),
  ...[':99999/svc', ':5432x/svc', ' /svc'].map((after) => `postgres://svc:Zq7xK9@127.0.0.1${after}`),
  `postgres://svc%3AZq7xK9@${place}`,
  `postgres://${place}?user=svc&password=Zq7xK9`,
  `postgress://${place}?user=svc&password=Zq7xK9`,
  'postgres://svc:Zq7xK9',
  'postgress://svc:Zq7xK9/svc',
]

interface Given {
  args: string
  env?: Record<string, string>
  config?: string
}

const sources: Record<string, (url: string) => Given> = {
  'start --store': (url) => ({ args: `start --store '${url}'` }),
  'team migrate --store': (url) => ({ args: `team migrate --store '${url}'` }),
  'team tokens reset-admin --store': (url) => ({ args: `team tokens reset-admin --store '${url}'` }),
  'SVC_STORE, start': (url) => ({ args: 'start', env: { SVC_STORE: url } }),
  'SVC_STORE, team migrate': (url) => ({ args: 'team migrate', env: { SVC_STORE: url } }),
  'SVC_STORE, team tokens reset-admin': (url) => ({ args: 'team tokens reset-admin', env: { SVC_STORE: url } }),
  'the config file': (url) => ({ args: 'start', config: JSON.stringify({ sandbox: { store: url } }) }),
  'another flag': (url) => ({ args: `start --port '${url}'` }),
  'a flag that does not exist': (url) => ({ args: `start '--stor=${url}'` }),
  'an argument too many': (url) => ({ args: `start '${url}'` }),
  'a command that does not exist': (url) => ({ args: `'${url}'` }),
}

test.each(Object.entries(sources))('%s: no mistake in the URL shows the password', async (_, given) => {
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  for (const [index, url] of urls.entries()) {
    const { args, env = {}, config } = given(url)
    if (config !== undefined) writeFileSync(join(cwd, 'svc.config.json'), config)
    const format = index % 2 === 0 ? 'json' : 'text'
    const { code, stdout, stderr } = await svc(`${args} -o ${format}`, { env: { ...env, SVC_HOME: home }, cwd })
    expect([code, stdout], url).toEqual([2, ''])
    expect(stderr, url).not.toMatch(password)
  }
  for (const text of textsIn(home)) expect(text).not.toMatch(password)
})

test('a password that the shell has split at a space is not shown', async () => {
  const env = { SVC_HOME: temporaryDirectory() }
  for (const scheme of ['postgres', 'postgress']) {
    const { code, stderr } = await svc(`start --store ${scheme}://svc:Zq7 xK9@${place}`, { env })
    expect(code).toBe(2)
    expect(stderr).not.toMatch(password)
  }
})

test('a config file that is not JSON is not quoted', async () => {
  const cwd = temporaryDirectory()
  const config = join(cwd, 'svc.config.json')
  const text = `{"sandbox": {"store": "postgres://svc@${place}?password=Zq7xK9", "a":x}}`
  writeFileSync(config, text)
  const { stderr } = await svc('start', { env: { SVC_HOME: temporaryDirectory() }, cwd })
  expect(stderr).toBe(
    `error: ${config} is not JSON. Line 1, column ${text.indexOf('x}') + 1}: This is not a JSON value. Text must be in double quotes.\nhint: Correct it there. See svc help settings.\n`,
  )
})

test('the rest of the URL is shown, with what to do', async () => {
  const readError = async (store: string) => {
    const { stderr } = await svc(`team migrate --store '${store}'`, { env: { SVC_HOME: temporaryDirectory() } })
    return stderr.split('\n').slice(0, 2)
  }
  expect(await readError(`postgress://svc:Zq7@xK9@${place}`)).toEqual([
    `error: Option '--store <url>' argument 'postgress://svc:***@${place}' is invalid. It must begin with postgres://, as in postgres://USER:PASSWORD@HOST:5432/DATABASE.`,
    'hint: Add --help to see what it takes.',
  ])
  expect(await readError(`postgres://svc:Zq7/xK9@${place}`)).toEqual([
    'error: The store is not the URL of a PostgreSQL database.',
    'hint: Write it as postgres://USER:PASSWORD@HOST:5432/DATABASE, with %40 for @, %2F for /, %23 for #, %3F for ? and %25 for % in the password.',
  ])
  expect((await readError(`postgres://svc:Zq7xK9@${place}`))[0]).toBe(
    `error: postgres://svc@${place} cannot be reached: connect ECONNREFUSED 127.0.0.1:1.`,
  )
})

test('nor is it in the log of a start in the background', async () => {
  const home = temporaryDirectory()
  const env = { SVC_HOME: home, SVC_STORE: `postgres://svc:Zq7xK9@${place}` }
  const system = { program: [process.execPath, join(root, 'bin/svc.js')] }
  const { code, stdout, stderr } = await svc('start --detach --port 0', { env, system })
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(`postgres://svc@${place} cannot be reached`)
  for (const text of [stderr, ...textsIn(home)]) expect(text).not.toMatch(password)
})
