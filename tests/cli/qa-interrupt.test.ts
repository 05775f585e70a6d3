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
