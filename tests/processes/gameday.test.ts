/** `svc sandbox gameday` by its own turns, at their times. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { GamedayReport } from '#gameday/report.ts'
import { svc, temporaryDirectory } from '#tests/cli/test-cli.ts'

const file = `\
gameday: short
seed: 3
rate: 2
length: 10s
view: 1s
timeline: [{ fault: away, at: 3s, for: 4s }]
patience: 2s
expect: { billed: 100 %, fills: 10 % }
`

test('turns during an outage are lost, those around it are billed, and a missed expectation ends with 5', async () => {
  const home = temporaryDirectory()
  writeFileSync(join(home, 'missed.yaml'), file)
  const words = 'sandbox gameday missed.yaml --html page.html -o json'
  const { code, stdout, stderr } = await svc(words, { env: { SVC_HOME: home }, cwd: home })
  const report: GamedayReport = JSON.parse(stdout)
  expect(code).toBe(5)
  expect(report.plan).toHaveLength(20)
  // How many of them a busy computer keeps is not certain; that some are kept, and not all, is.
  const { without, with: kept } = report.funnel.find(({ step }) => step === 'billed')!
  expect(without).toBeGreaterThan(kept)
  expect(kept).toBeGreaterThan(1)
  expect(report.losses.filter(({ reason }) => reason === 'unreachable')).toContainEqual(
    expect.objectContaining({ phase: 'away', missed: 'requested', without: 0 }),
  )
  expect(report.expectations.map(({ expectation, ok }) => [expectation, ok])).toEqual([
    ['fills', true],
    ['billed', false],
  ])
  expect(stderr).toMatch(/^short: 20 turns, twice, about \d+ s\n/)
  expect(readFileSync(join(home, 'page.html'), 'utf8')).toContain('<p class="bad">1 expectation missed</p>')
})
