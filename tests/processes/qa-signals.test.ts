/** `svc qa run` as a process that is busy when a signal comes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnSvc } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('a pattern that never ends fails its step, and does not keep a signal from ending the run', async () => {
  const home = temporaryDirectory()
  const slow = `{ request: { path: /_sandbox/health }, expect: { body: { $text: { $matches: '^(([^!]+)+)+!$' } } } }`
  const cases = Array.from({ length: 40 }, (_, index) => `  - { name: c${index}, steps: [${slow}] }\n`).join('')
  writeFileSync(join(home, 'first.yaml'), `suite: first\ntitle: First\ncases:\n  - { name: a, steps: [${slow}] }\n`)
  writeFileSync(join(home, 'slow.yaml'), `suite: slow\ntitle: Slow\ncases:\n${cases}`)
  const words = 'qa run first.yaml slow.yaml --fresh --workers 1 --reporter json=qa.json --reporter list'.split(' ')
  const { child, ended } = spawnSvc(words, { SVC_HOME: home }, home)
  let printed = ''
  child.stdout!.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  await expect.poll(() => printed).toContain('✗ first')
  child.kill('SIGTERM')
  expect((await ended).code).toBe(130)
  const { cases: results } = JSON.parse(readFileSync(join(home, 'qa.json'), 'utf8'))
  expect(results[0].steps[0].reason).toMatch(
    /^The regular expression .* took longer than 500 ms .*: \(a\+\)\+ is a\+\.$/,
  )
  expect(results.at(-1)).toMatchObject({ outcome: 'not_run' })
})
