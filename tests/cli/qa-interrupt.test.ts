import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'

test('the first Ctrl-C ends what is under way, runs teardown, writes the reports and exits with 130', async () => {
  const home = temporaryDirectory()
  const file = join(home, 'shop.yaml')
  const cases = ['a', 'b'].map(
    (name) => `  - name: ${name}
    timeout: 60s
    steps: [{ placement: null }, { wait_for: frame.loaded, timeout: 50s }]
    teardown: [{ consent: withdrawn }]
`,
  )
  writeFileSync(file, `suite: shop\ntitle: A shop\ncases:\n${cases.join('')}`)
  const args = ['qa', 'run', file, '--fresh', '--workers', '1', '--reporter', 'json=qa.json', '--reporter', 'tap']
  const { child, firstLine, ended } = spawnSvc(args, { SVC_HOME: home }, home)
  expect(await firstLine).toContain('TAP')
  child.kill('SIGINT')
  const { code, stdout } = await ended
  expect(code).toBe(130)
  expect(stdout).toContain('not ok 1')
  const { interrupted, cases: results } = JSON.parse(readFileSync(join(home, 'qa.json'), 'utf8'))
  expect(interrupted).toBe('SIGINT')
  expect(results).toMatchObject([{ outcome: 'failed' }, { outcome: 'not_run' }])
  expect(results[0].steps.at(-1)).toMatchObject({ title: 'consent withdrawn', outcome: 'passed' })
}, 60_000)

test('--watch runs again on every change, through a mistake in the suite, and Ctrl-C ends it cleanly', async () => {
  const home = temporaryDirectory()
  const file = join(home, 'shop.yaml')
  const write = (step: string) =>
    writeFileSync(file, `suite: shop\ntitle: A shop\ncases: [{ name: one, steps: [${step}] }]\n`)
  write('{ placement: null }')
  const { child, ended } = spawnSvc(['qa', 'run', 'shop.yaml', '--fresh', '--watch'], { SVC_HOME: home }, home)
  const text = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]!.on('data', (chunk: Buffer) => {
      text[stream] += chunk.toString()
    })
  }
  const watching = (times: number) =>
    expect.poll(() => text.stderr.split('watching shop.yaml').length - 1, { timeout: 20_000 }).toBe(times)
  await watching(1)
  expect(text.stdout).toContain('1 passed')
  write('{ placement: null, expect: { status: 418 } }')
  await watching(2)
  expect(text.stdout).toContain('1 failed')
  write('{ placemnt: null }')
  await watching(3)
  expect(text.stderr).toContain('shop.yaml:3:30: placemnt is not an action. Did you mean placement?')
  write('{ placement: null }')
  await watching(4)
  expect(text.stdout.match(/^Cases .*$/gm)).toEqual(['Cases   1 passed', 'Cases   1 failed of 1', 'Cases   1 passed'])
  child.kill('SIGINT')
  expect((await ended).code).toBe(0)
}, 60_000)
