import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { startSandbox } from '#sandbox/index.ts'
import { follow } from './follow.ts'
import { temporaryDirectory } from './test-cli.ts'

test('the first Ctrl-C ends what is under way, runs teardown, writes the reports and exits with 130', async () => {
  const home = temporaryDirectory()
  const cases = ['a', 'b'].map(
    (name) => `  - name: ${name}
    timeout: 60s
    steps: [{ placement: null }, { wait_for: frame.loaded, timeout: 50s }]
    teardown: [{ consent: withdrawn }]
`,
  )
  writeFileSync(join(home, 'shop.yaml'), `suite: shop\ntitle: A shop\ncases:\n${cases.join('')}`)
  await using sandbox = await startSandbox()
  const { client_id, secret_key } = sandbox.keys
  const env = { SVC_HOME: home, SVC_BASE_URL: sandbox.url, SVC_CLIENT_ID: client_id, SVC_SECRET_KEY: secret_key }
  const words = 'qa run shop.yaml --workers 1 --reporter json=qa.json --reporter junit=qa.xml --reporter list'
  await using running = follow(words, { env, system: { now: Date.now } })
  const client = createClient({ base_url: sandbox.url, credential: secret_key })
  await expect.poll(async () => (await client.placements.list({})).items).toHaveLength(1)
  running.signal()
  const { code, stdout } = await running.ended
  expect(code).toBe(130)
  // Nobody knows how the case that was under way would have ended.
  expect(stdout).not.toContain('✗')
  expect(stdout).toMatch(/^Cases +2 not run of 2$/m)
  const junit = readFileSync(join(home, 'qa.xml'), 'utf8')
  expect([junit.includes('<failure'), junit.match(/<skipped/g)]).toEqual([false, ['<skipped', '<skipped']])
  const { interrupted, cases: results } = JSON.parse(readFileSync(join(home, 'qa.json'), 'utf8'))
  expect(interrupted).toBe('SIGINT')
  const reason = 'The run was interrupted by SIGINT.'
  expect(results).toMatchObject([
    { outcome: 'not_run', reason },
    { outcome: 'not_run', reason, steps: [] },
  ])
  expect(results[0].steps.at(-1)).toMatchObject({ title: 'consent withdrawn', outcome: 'passed' })
})

test('a case that had failed before the Ctrl-C stays failed', async () => {
  const home = temporaryDirectory()
  const cases = `  - name: a
    steps: [{ placement: null, expect: { status: 418 } }]
    teardown: [{ placement: null }]
  - { name: b, timeout: 60s, steps: [{ placement: null }, { wait_for: frame.loaded, timeout: 50s }] }
`
  writeFileSync(join(home, 'shop.yaml'), `suite: shop\ntitle: A shop\ncases:\n${cases}`)
  await using sandbox = await startSandbox()
  const { client_id, secret_key } = sandbox.keys
  const env = { SVC_HOME: home, SVC_BASE_URL: sandbox.url, SVC_CLIENT_ID: client_id, SVC_SECRET_KEY: secret_key }
  const words = 'qa run shop.yaml --workers 2 --reporter json=qa.json'
  await using running = follow(words, { env, system: { now: Date.now } })
  const client = createClient({ base_url: sandbox.url, credential: secret_key })
  await expect.poll(async () => (await client.placements.list({})).items).toHaveLength(3)
  running.signal()
  expect((await running.ended).code).toBe(130)
  const { cases: results } = JSON.parse(readFileSync(join(home, 'qa.json'), 'utf8'))
  expect(results).toMatchObject([{ outcome: 'failed' }, { outcome: 'not_run' }])
})

test('--watch runs again on every change, through a mistake in the suite, and Ctrl-C ends it cleanly', async () => {
  const home = temporaryDirectory()
  const write = (step: string) =>
    writeFileSync(join(home, 'shop.yaml'), `suite: shop\ntitle: A shop\ncases: [{ name: one, steps: [${step}] }]\n`)
  write('{ placement: null }')
  await using running = follow('qa run shop.yaml --fresh --watch', {
    env: { SVC_HOME: home },
    system: { now: Date.now },
  })
  const watching = (times: number) =>
    expect.poll(() => running.stderr().split('watching shop.yaml').length - 1).toBe(times)
  await watching(1)
  expect(running.stdout()).toContain('1 passed')
  write('{ placement: null, expect: { status: 418 } }')
  await watching(2)
  expect(running.stdout()).toContain('1 failed')
  write('{ placemnt: null }')
  await watching(3)
  expect(running.stderr()).toContain('shop.yaml:3:30: placemnt is not an action. Did you mean placement?')
  write('{ placement: null }')
  await watching(4)
  expect(running.stdout().match(/^Cases .*$/gm)).toEqual([
    'Cases   1 passed',
    'Cases   1 failed of 1',
    'Cases   1 passed',
  ])
  running.signal()
  expect((await running.ended).code).toBe(0)
})
