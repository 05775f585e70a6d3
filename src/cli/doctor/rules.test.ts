/** Each rule about this computer and the sandbox, once when it holds and once when it is violated. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Layers, resolveSettings } from '#cli/settings/settings.ts'
import { stateDirectory } from '#cli/settings/state-directory.ts'
import { runRule } from './doctor.ts'
import type { Machine, SandboxReport } from './machine.ts'
import { machineRules, oldestNode, sandboxRules, spanText } from './rules.ts'

const url = 'http://127.0.0.1:4010'
const project = {
  client_id: 'proj_demo',
  secret_key: 'sk_test_demo',
  live_secret_key: 'sk_live_demo',
  publishable_key: 'pk_test_demo',
  allowed_origins: ['http://localhost:*'],
}
const sandbox = {
  url,
  inspector_url: `${url}/_sandbox/`,
  database: ':memory:',
  pid: 1,
  version: '1.0.0',
  projects: [project, { ...project, client_id: 'proj_other', secret_key: 'sk_test_other' }],
  started_at_ms: 0,
}
const settings = (environment: Layers['environment'] = {}, sandboxes: Layers['sandboxes'] = [sandbox]) =>
  resolveSettings({ flags: {}, environment, config: {}, profile: {}, sandboxes, root: '/' })

/** Returns what doctor prints for a rule, from the facts that it needs. */
function ofMachine(id: keyof typeof machineRules, facts: Partial<Machine>) {
  return runRule(machineRules[id], facts as Machine)
}
function ofSandbox(id: keyof typeof sandboxRules, facts: SandboxReport) {
  return runRule(sandboxRules[id], facts)
}

describe('node', () => {
  test('is new enough, or not', () => {
    expect(ofMachine('node', { node_version: '26.1.0' })).toEqual([{ level: 'ok', message: 'Node 26.1.0.', fix: null }])
    expect(ofMachine('node', { node_version: `${oldestNode}.0` })).toMatchObject([{ level: 'ok' }])
    for (const node_version of ['18.20.4', '22.18.9']) {
      expect(ofMachine('node', { node_version })).toMatchObject([
        { level: 'problem', fix: expect.stringContaining('nvm install --lts') },
      ])
    }
  })

  test('the oldest is the one in package.json', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      engines: { node: string }
    }
    expect(engines.node).toBe(`>=${oldestNode}`)
  })
})

test.each([
  [url, 'localhost, 127.0.0.1,::1', 'ok'],
  [url, '*', 'ok'],
  [url, '10.0.0.0/8,127.0.0.0/8', 'ok'],
  ['http://[::1]:4010', '[::1]', 'ok'],
  ['http://localhost:4010', '.localhost', 'ok'],
  ['https://ads.example', '', 'ok'],
  [url, '', 'warning'],
  [url, 'localhost', 'warning'],
  ['http://localhost:4010', '127.0.0.1', 'warning'],
])('with a proxy, requests to %s with NO_PROXY=%j are %s', (base_url, no_proxy, level) => {
  const facts = { settings: settings({ base_url }, []), proxy: { variable: 'HTTP_PROXY', no_proxy }, running_urls: [] }
  const [finding] = ofMachine('settings', facts)
  expect(finding?.level).toBe(level)
  if (level === 'warning') expect(finding?.message).toMatch(/^HTTP_PROXY is set, and NO_PROXY does not name /)
})

test('the state directory can be written, or not', () => {
  expect(ofMachine('state directory', { state_directory: { path: '/s', problem: null } })).toMatchObject([
    { level: 'ok' },
  ])
  expect(ofMachine('state directory', { state_directory: { path: '/s', problem: 'EACCES' } })).toEqual([
    {
      level: 'problem',
      message: '/s cannot be written: EACCES.',
      fix: 'Make it writable by you, or set SVC_HOME to a directory that is.',
    },
  ])
})

test('without a home directory nothing names /dev/null', () => {
  const path = stateDirectory({ env: {}, home: '', platform: 'linux' })
  expect(ofMachine('state directory', { state_directory: { path, problem: 'ENOTDIR' } })).toMatchObject([
    { level: 'problem', message: 'There is no home directory, so svc has nowhere to keep its state.' },
  ])
})

test('the config file is valid, absent, or wrong', () => {
  expect(ofMachine('config file', { config: { path: '/p/svc.config.json', problem: null } })).toMatchObject([
    { level: 'ok', message: '/p/svc.config.json is valid.' },
  ])
  expect(ofMachine('config file', { config: { path: null, problem: null } })).toMatchObject([{ level: 'ok' }])
  const wrong = { message: '/p/svc.config.json is not JSON.', hint: null }
  expect(ofMachine('config file', { config: { path: '/p/svc.config.json', problem: wrong } })).toEqual([
    { level: 'problem', message: wrong.message, fix: 'Correct it; see svc help settings.' },
  ])
})

describe('keys', () => {
  const found = (environment: Layers['environment']) => ofMachine('keys', { settings: settings(environment) })

  test('of the right kind are accepted', () => {
    expect(found({})).toMatchObject([{ level: 'ok' }])
    expect(found({ secret_key: 'at_token', publishable_key: 'pk_live_x' })).toMatchObject([{ level: 'ok' }])
    expect(ofMachine('keys', { settings: settings({}, []) })).toMatchObject([
      { level: 'ok', message: 'No key is set.' },
    ])
  })

  test('a publishable one where a secret one belongs, and the other way round', () => {
    expect(found({ secret_key: 'pk_test_demo' })).toMatchObject([
      { level: 'problem', message: 'secret_key (environment) is a publishable key; servers send a secret key.' },
    ])
    expect(found({ publishable_key: 'sk_test_demo' })).toMatchObject([
      { level: 'problem', fix: expect.stringContaining('Revoke that key') },
    ])
  })

  test('a value that is not a key, of either kind', () => {
    expect(found({ secret_key: 'ast_0' })).toMatchObject([{ level: 'problem' }])
    expect(found({ publishable_key: 'hunter2' })).toMatchObject([{ level: 'problem' }])
  })

  test('a production key is reported, and never printed', () => {
    const outcomes = found({ secret_key: 'sk_live_demo' })
    expect(outcomes).toMatchObject([{ level: 'warning', fix: 'Use a key that begins with sk_test_.' }])
    expect(JSON.stringify(outcomes)).not.toContain('sk_live_demo')
  })

  test('of a project other than client_id', () => {
    expect(found({ client_id: 'proj_demo', secret_key: 'sk_test_other' })).toEqual([
      {
        level: 'problem',
        message: 'secret_key belongs to proj_other, but client_id is proj_demo.',
        fix: 'Set SVC_CLIENT_ID=proj_other, or use a key of proj_demo.',
      },
    ])
  })
})

describe('settings that point elsewhere', () => {
  test('none do', () => {
    expect(ofMachine('settings', { settings: settings(), running_urls: [url] })).toMatchObject([{ level: 'ok' }])
    expect(ofMachine('settings', { settings: settings({}, []), running_urls: [] })).toMatchObject([{ level: 'ok' }])
  })

  test('a base URL other than the running sandbox', () => {
    const own = settings({ base_url: 'http://127.0.0.1:5999' })
    expect(ofMachine('settings', { settings: own, running_urls: [url] })).toEqual([
      {
        level: 'warning',
        message: `base_url (environment) is http://127.0.0.1:5999; a sandbox is running at ${url}.`,
        fix: `Set SVC_BASE_URL=${url}, or remove the setting.`,
      },
    ])
    const flag = { ...own, source: { ...own.source, base_url: 'flag' as const } }
    expect(ofMachine('settings', { settings: flag, running_urls: [url] })).toMatchObject([
      { fix: `Leave --base-url out, or give --base-url ${url}` },
    ])
  })

  test('a key or project that the sandbox does not have', () => {
    const own = settings({ secret_key: 'sk_test_old', client_id: 'proj_old' })
    expect(ofMachine('settings', { settings: own, running_urls: [url] })).toMatchObject([
      { level: 'warning', message: expect.stringContaining('secret_key (environment)') },
      { level: 'warning', message: expect.stringContaining('client_id (environment)') },
    ])
  })
})

test('a browser is found or not', () => {
  expect(ofMachine('browser', { browser: '/usr/bin/chromium' })).toMatchObject([{ level: 'ok' }])
  expect(ofMachine('browser', { browser: null })).toMatchObject([{ level: 'warning' }])
})

describe('the port', () => {
  const found = (kind: Machine['service'], holder: string | null, environment: Layers['environment'] = {}) =>
    ofMachine('port', {
      service: kind,
      settings: settings(environment, []),
      port: { number: 4010, holder },
      command_name: 'npx svc',
    })

  test('is the sandbox, or free', () => {
    expect(found('sandbox', null, { base_url: 'http://127.0.0.1:4010' })).toMatchObject([{ level: 'ok' }])
    expect(found('none', null)).toEqual([
      {
        level: 'warning',
        message: 'No sandbox is running; port 4010 is free.',
        fix: 'Start one: npx svc start',
      },
    ])
  })

  test('belongs to a sandbox of another user, which commands do not find', () => {
    expect(found('sandbox', null)).toEqual([
      {
        level: 'warning',
        message:
          'The sandbox at http://127.0.0.1:4010 belongs to another user or another SVC_HOME, so commands do not use it automatically.',
        fix: 'Give them --base-url http://127.0.0.1:4010, or start your own: npx svc start',
      },
    ])
  })

  test('is held by another program, which is named', () => {
    expect(found('none', 'pid 4711 (node)')).toEqual([
      {
        level: 'problem',
        message: 'Port 4010 is taken by pid 4711 (node), which does not respond as the service.',
        fix: 'Stop it, or start the sandbox on another port: npx svc start --port 4011',
      },
    ])
  })

  test('nothing responds at the base URL, or something that is not a sandbox', () => {
    expect(found('none', null, { base_url: 'http://127.0.0.1:4999' })).toMatchObject([
      { level: 'problem', message: 'Nothing responds at http://127.0.0.1:4999 (environment).' },
    ])
    expect(found('other', null, { base_url: 'http://127.0.0.1:4999' })).toMatchObject([
      {
        level: 'unknown',
        message: 'What responds at http://127.0.0.1:4999 is not a sandbox, so there is no journal to check.',
      },
    ])
  })

  test('a sandbox that refuses the token, or is without its database, says so', () => {
    const refusal = { message: 'This node has lost its database.', hint: 'Wait.', is_failure: true }
    expect(found(refusal, null, { base_url: 'http://127.0.0.1:4999' })).toEqual([
      {
        level: 'problem',
        message: 'The sandbox at http://127.0.0.1:4999 cannot be read: This node has lost its database.',
        fix: 'Wait.',
      },
    ])
    expect(found({ ...refusal, is_failure: false }, null)).toMatchObject([{ level: 'unknown', fix: 'Wait.' }])
  })

  test('another program responds at the port of the sandbox', () => {
    expect(found('other', null)).toEqual([
      {
        level: 'warning',
        message: 'No sandbox is running, and port 4010 is taken by another program.',
        fix: 'Start one on the next free port: npx svc start',
      },
    ])
  })
})

describe('the sandbox', () => {
  const info: SandboxReport['info'] = {
    version: '1.0.0',
    pid: 1,
    url,
    public_url: url,
    inspector_url: `${url}/_sandbox/`,
    database: '/d/svc.db',
    schema_version: 1,
    nodes: null,
    seed: null,
    clock: { now_ms: 1_769_860_800_000, offset_ms: 0, frozen: false },
    journal: { enabled: true, limit: 10, size: 0, dropped: 0, foreign: 0 },
    events: { limit: 10, size: 0, dropped: 0, last_dropped_seq: 0 },
    projects: [],
    playback: null,
    warnings: [],
  }
  const chain = { client_id: 'proj_demo', entries: 3, head: null, broken_at: null, problem: null }
  const whole: SandboxReport['integrity'] = {
    ok: true,
    database: { ok: true, problems: [] },
    evidence: { ok: true, chains: [chain] },
  }
  const facts = { info, integrity: whole, now_ms: info.clock.now_ms, version: '1.0.0', command_name: 'svc' }

  test('its database is intact, damaged, or cannot be checked', () => {
    expect(ofSandbox('database', facts)).toMatchObject([{ level: 'ok' }])
    const damaged = { ...whole, database: { ok: false, problems: ['row 3 missing from index x'] } }
    expect(ofSandbox('database', { ...facts, integrity: damaged })).toMatchObject([
      { level: 'problem', message: '/d/svc.db is damaged: row 3 missing from index x.' },
    ])
    expect(ofSandbox('database', { ...facts, integrity: { failure: 'no answer' } })).toMatchObject([
      { level: 'problem' },
    ])
  })

  test('nodes that share its database are named', () => {
    const node = { number: 0, url, host: 'one', pid: 1, version: '1.0.0', started_at_ms: 1, clock_ahead_ms: 0 }
    const nodes = [node, { ...node, number: 1, host: 'two', url: 'http://10.0.0.2:4010' }]
    const shared = { ...facts, info: { ...info, database: 'postgres://svc@db/svc', nodes } }
    expect(ofSandbox('database', shared)).toMatchObject([
      {
        level: 'ok',
        message: `postgres://svc@db/svc and 1 evidence chains are intact. 2 nodes share it: ${url} (one), http://10.0.0.2:4010 (two).`,
      },
    ])
    expect(ofSandbox('database', { ...shared, integrity: { failure: 'no answer' } })).toMatchObject([
      { level: 'problem', fix: 'Check that PostgreSQL runs there, then: svc sandbox status' },
    ])
    const damaged = { ...whole, database: { ok: false, problems: ['the chain of project 1 is at entry 2'] } }
    expect(ofSandbox('database', { ...shared, integrity: damaged })).toMatchObject([
      { level: 'problem', fix: 'Restore a snapshot of the namespace, or empty it: svc sandbox reset' },
    ])
  })

  test('nodes whose clocks differ by more than two seconds are named', () => {
    const node = { number: 0, url, host: 'one', pid: 1, version: '1.0.0', started_at_ms: 1, clock_ahead_ms: -900 }
    const other = { ...node, number: 1, host: 'two', url: 'http://10.0.0.2:4010' }
    const clock = (...clocks: (number | null)[]) => {
      const nodes = [node, ...clocks.map((clock_ahead_ms) => ({ ...other, clock_ahead_ms }))]
      return ofSandbox('clock', { ...facts, info: { ...info, nodes } })
    }
    expect(clock(1_100, null)).toMatchObject([{ level: 'ok' }])
    expect(clock(1_101)).toMatchObject([
      {
        level: 'warning',
        message: `The clock of http://10.0.0.2:4010 (two) is 2.0 s ahead of that of ${url} (one): set both to network time.`,
      },
    ])
  })

  test('its evidence was changed', () => {
    const evidence = { ok: false, chains: [chain, { ...chain, broken_at: 2, problem: 'the hash differs' }] }
    expect(ofSandbox('database', { ...facts, integrity: { ...whole, ok: false, evidence } })).toMatchObject([
      { level: 'problem', message: 'The evidence of proj_demo is broken at entry 2: the hash differs.' },
    ])
  })

  test('its clock is the system clock, ahead, behind or frozen', () => {
    const at = ({ offset_ms = 0, frozen = false }) =>
      ofSandbox('clock', {
        ...facts,
        info: { ...info, clock: { now_ms: info.clock.now_ms + offset_ms, offset_ms, frozen } },
      })
    expect(at({})).toMatchObject([{ level: 'ok' }])
    expect(at({ offset_ms: 1_860_000 })).toMatchObject([
      {
        level: 'warning',
        message: 'The sandbox clock is 31 min ahead of the system clock.',
        fix: expect.stringContaining('svc sandbox clock set now'),
      },
    ])
    expect(at({ offset_ms: -90_000 })).toMatchObject([
      { level: 'warning', message: 'The sandbox clock is 1 min 30 s behind the system clock.' },
    ])
    expect(at({ frozen: true })).toMatchObject([
      { level: 'warning', fix: expect.stringContaining('svc sandbox clock resume') },
    ])
    expect(spanText(90_061_000)).toBe('1 d 1 h')
  })

  test('the clock of its computer is an hour behind this one, or near it', () => {
    const at = (now_ms: number, offset_ms = 0) => {
      const clock = { ...info.clock, now_ms: info.clock.now_ms + offset_ms, offset_ms }
      return ofSandbox('clock', { ...facts, now_ms, info: { ...info, clock } })
    }
    expect(at(info.clock.now_ms + 5_000)).toMatchObject([{ level: 'ok' }])
    const behind = { level: 'warning', message: 'The computer of the sandbox is 1 h behind this one.' }
    expect(at(info.clock.now_ms + 3_600_000)).toMatchObject([behind])
    expect(at(info.clock.now_ms + 3_600_000, 60_000)).toMatchObject([behind])
  })

  test("its version is the command line's, or another", () => {
    expect(ofSandbox('version', facts)).toMatchObject([{ level: 'ok' }])
    expect(ofSandbox('version', { ...facts, version: '2.0.0' })).toMatchObject([{ level: 'warning' }])
  })
})
