/** `svc config`: what it writes, what it shows of keys, and what it finds wrong. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { configFileSchema } from '#cli/settings/schemas.ts'
import { root } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

let home: string
let profiles: string
let project: string
beforeEach(() => {
  home = temporaryDirectory()
  profiles = join(home, 'profiles.json')
  project = join(home, 'project')
  mkdirSync(project)
})

const run = (args: string, env: Record<string, string> = {}, stdin = '') =>
  svc(args, { env: { SVC_HOME: home, ...env }, cwd: project, stdin })
const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as unknown
const url = 'http://service.test'

describe('svc config set', () => {
  test('creates the first profile and uses it; only its owner can read the file', async () => {
    expect(await run(`config set base_url ${url}`)).toEqual({
      code: 0,
      stdout: '',
      stderr: `Set base_url in profile default of ${profiles}.\n`,
    })
    expect(read(profiles)).toEqual({ current: 'default', profiles: { default: { base_url: url } } })
    expect(statSync(profiles).mode & 0o777).toBe(0o600)
    expect((await run('config get base_url')).stdout).toBe(`${url}\n`)
  })

  test('writes into the named profile, which is not used before it is chosen', async () => {
    await run('config set base_url http://first.test')
    await run(`config set base_url ${url} --profile other`)
    expect((await run('config get base_url')).stdout).toBe('http://first.test\n')
    expect((await run('config use other')).stderr).toBe('Commands now use the profile other.\n')
    expect((await run('config get base_url')).stdout).toBe(`${url}\n`)
    expect((await run('config set origin http://a.test', { SVC_PROFILE: 'third' })).code).toBe(0)
    expect(read(profiles)).toMatchObject({ current: 'other', profiles: { third: { origin: 'http://a.test' } } })
  })

  test('a profile can be left and deleted', async () => {
    await run(`config set base_url ${url}`)
    await run('config set origin http://a.test --profile local')
    expect((await run('config use locla')).stderr).toContain('hint: Did you mean local?\n')
    expect((await run('config use --none')).stderr).toBe('Commands no longer use the profile default.\n')
    expect(await run('config use --none -o json')).toMatchObject({ code: 0, stderr: 'No profile was in use.\n' })
    expect(JSON.parse((await run('config get base_url -o json')).stdout)).toMatchObject({ source: 'default' })
    await run('config use local')
    expect((await run('config delete default')).stderr).toBe('Deleted the profile default.\n')
    expect(read(profiles)).toEqual({ current: 'local', profiles: { local: { origin: 'http://a.test' } } })
    await run('config delete local')
    expect(read(profiles)).toEqual({ profiles: {} })
    expect((await run('config delete local')).code).toBe(2)
  })

  test('an empty value removes a setting, and - reads it from stdin', async () => {
    await run('config set secret_key -', {}, 'sk_test_from_stdin\n')
    expect((await run('config get secret_key')).stdout).toBe('sk_test_from_stdin\n')
    expect((await run("config set secret_key ''")).stderr).toBe(
      `Removed secret_key in profile default of ${profiles}.\n`,
    )
    expect(read(profiles)).toEqual({ current: 'default', profiles: { default: {} } })
  })

  test('--local writes svc.config.json of the project, in this directory or a parent', async () => {
    const file = join(project, 'svc.config.json')
    await run(`config set base_url ${url} --local`)
    expect(read(file)).toEqual({ base_url: url })
    mkdirSync(join(project, 'deep'))
    await svc('config set client_id proj_demo --local', { env: { SVC_HOME: home }, cwd: join(project, 'deep') })
    expect(read(file)).toEqual({ base_url: url, client_id: 'proj_demo' })
    expect(existsSync(profiles)).toBe(false)
  })

  test('a new svc.config.json names its schema where the package is installed', async () => {
    mkdirSync(join(project, 'node_modules/svc-sandbox/fixtures'), { recursive: true })
    writeFileSync(join(project, 'node_modules/svc-sandbox/fixtures/svc.config.schema.json'), '{}')
    await run(`config set base_url ${url} --local`)
    const $schema = './node_modules/svc-sandbox/fixtures/svc.config.schema.json'
    expect(read(join(project, 'svc.config.json'))).toEqual({ $schema, base_url: url })
  })

  test('refuses an invalid value and an unknown setting, and writes nothing', async () => {
    expect(await run('config set base_url ftp://x')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: base_url: must be an http or https URL without a query, such as http://127.0.0.1:4010.\nhint: See svc help settings.\n',
    })
    expect((await run('config set colour red')).stderr).toContain('Allowed choices are base_url, client_id')
    expect(existsSync(profiles)).toBe(false)
  })

  test('writes the profile of a project only into svc.config.json', async () => {
    const file = join(project, 'svc.config.json')
    await run(`config set base_url ${url} --profile other`)
    expect((await run('config set profile other --local')).code).toBe(0)
    expect(read(file)).toEqual({ profile: 'other' })
    expect((await run('config get base_url')).stdout).toBe(`${url}\n`)
    expect((await run("config set profile '' --local")).code).toBe(0)
    expect(read(file)).toEqual({})
    expect(await run('config set profile other')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: A profile cannot name a profile.\nhint: Choose it for yourself: svc config use NAME. Or for this project: svc config set profile NAME --local\n',
    })
    expect((await run("config set profile 'a b' --local")).code).toBe(2)
  })

  test('repairs an invalid file', async () => {
    writeFileSync(profiles, '{"current":"a","profiles":{"a":{"base_url":"nonsense"}}}')
    expect((await run('config get base_url')).code).toBe(2)
    expect((await run(`config set base_url ${url}`)).code).toBe(0)
    expect((await run('config get base_url')).stdout).toBe(`${url}\n`)
  })
})

describe('svc config use', () => {
  test('an unknown profile is a usage error that names the known ones', async () => {
    await run(`config set base_url ${url}`)
    expect(await run('config use nobody')).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: There is no profile nobody in ${profiles}.\nhint: It has: default.\n`,
    })
  })

  test('replaces a current profile that no longer exists', async () => {
    writeFileSync(profiles, '{"current":"gone","profiles":{"a":{}}}')
    expect((await run('config list')).code).toBe(2)
    expect((await run('config use a')).code).toBe(0)
    expect((await run('config list')).code).toBe(0)
  })
})

describe('svc config list', () => {
  test('shows every value and its source, but never a secret key', async () => {
    await run('config set secret_key sk_live_very_secret')
    await run('config set origin http://a.test --local')
    const { code, stdout } = await run('config list --client-id proj_x', { SVC_BASE_URL: url })
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `\
setting          value                from
base_url         http://service.test  environment
client_id        proj_x               flag
secret_key       sk_live_...          profile
publishable_key  -                    -
control_token    -                    -
origin           http://a.test        config file
output           text                 default

config file  ${join(project, 'svc.config.json')}
profiles     default (${profiles})
profile      default
`,
    })
    for (const format of ['text', 'json', 'jsonl']) {
      const { stdout } = await run(`config list -o ${format}`)
      expect(stdout).toContain('sk_live_...')
      expect(stdout).not.toContain('very_secret')
    }
  })
})

describe('svc config validate', () => {
  const cases: [what: string, file: string | Buffer, problems: string[]][] = [
    ['a good file', '{"base_url":"http://a.test","$schema":"x"}', []],
    ['a byte order mark', '\ufeff{"base_url":"http://a.test"}', []],
    ['no JSON', '{', ['is not JSON']],
    ['UTF-16', Buffer.from('\ufeff{"base_url":"http://a.test"}', 'utf16le'), []],
    ['a wrong byte', Buffer.from('{"base_url":"\xe9"}', 'latin1'), ['is not UTF-8']],
    ['a wrong member', '{"base_ulr":"x"}', ['has no field base_ulr']],
    [
      'two wrong values',
      '{"base_url":"x","output":"yaml"}',
      ['base_url: must be', 'output: must be one of text, json'],
    ],
  ]
  test.each(cases)('%s', async (_, text, problems) => {
    const file = join(project, 'svc.config.json')
    writeFileSync(file, text)
    const { code, stdout } = await run('config validate -o json')
    const [row] = JSON.parse(stdout) as [{ file: string; valid: boolean; problems: string[] }]
    expect(row).toMatchObject({ file, valid: problems.length === 0 })
    expect(code).toBe(problems.length === 0 ? 0 : 2)
    expect(row.problems).toHaveLength(problems.length)
    for (const [index, problem] of problems.entries()) expect(row.problems[index]).toContain(problem)
  })

  test('checks the profiles too, and reports a missing one', async () => {
    writeFileSync(profiles, '{"profiles":{"a":{"origin":"nowhere"}}}')
    expect(await run('config validate')).toMatchObject({
      code: 2,
      stdout: `wrong  ${profiles}\n  profiles.a.origin: must be an origin, such as http://localhost:3000 or capacitor://localhost\n`,
    })
    writeFileSync(profiles, '{"current":"b","profiles":{"a":{}}}')
    expect(await run('config validate')).toMatchObject({
      code: 2,
      stdout: `wrong  ${profiles}\n  There is no profile b.\n`,
    })
  })

  test('a named config file must exist', async () => {
    const { code, stdout } = await run('config validate --config gone.json')
    expect({ code, stdout }).toEqual({
      code: 2,
      stdout: `wrong  ${join(project, 'gone.json')}\n  No such file.\n`,
    })
  })

  test('--schema prints the published schema', async () => {
    const { stdout } = await run('config validate --schema')
    expect(JSON.parse(stdout)).toEqual(configFileSchema())
    expect(read(join(root, 'fixtures/svc.config.schema.json'))).toEqual(configFileSchema())
  })
})
