/** `svc qa observe --url`: a real browser on pages of an integrator: each violates one rule, and one violates none. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Sandbox, startSandbox } from '../../sandbox/index.ts'
import { writeLocator } from '../../src/cli/process/locator.ts'
import { allPageRules } from '../../src/journal/rules/index.ts'
import type { CaseResult, RunResult } from '../../src/qa/result.ts'
import { svc, temporaryDirectory } from '../cli/test-cli.ts'
import { startApp } from '../observe/app.ts'
import { cleanPage, type Page, wrongPages } from '../observe/pages.ts'

vi.setConfig({ maxConcurrency: 3 })

const home = temporaryDirectory()
let sandbox: Sandbox
let browser_path: string

beforeAll(async () => {
  browser_path = await chromium.executablePath()
  sandbox = await startSandbox({ database: ':memory:', seed: 1 })
  const { url, inspector_url, database, pid, version, projects } = sandbox
  await writeLocator(home, { url, inspector_url, database, pid, version, projects, started_at_ms: Date.now() })
}, 120_000)
afterAll(() => sandbox?.close())

async function observe(page: Page, args = '-o json', span = '5s') {
  await using app = await startApp(sandbox.url, page)
  return await svc(`qa observe -q --url ${app.url} --for ${span} --browser-path ${browser_path} ${args}`, {
    env: { SVC_HOME: home },
    host: { now: () => Date.now() },
  })
}

async function judged(page: Page, span?: string) {
  const { code, stdout, stderr } = await observe(page, '-o json', span)
  expect(stderr).toBe('')
  const { cases } = JSON.parse(stdout) as RunResult
  const of = (wanted: string, isOfPage: boolean) =>
    cases.filter(({ id, tags }) => id.replace('observe/', '') in allPageRules === isOfPage && tags[0] === wanted)
  return { code, cases, of, breached: [...of('error', true), ...of('warning', true)].map(nameOf) }
}

function nameOf({ id }: CaseResult): string {
  return id.replace('observe/', '')
}

test('a correct page violates no rule, about the page or its requests; the ad was brought into view', async () => {
  const { code, cases, of, breached } = await judged(cleanPage, '9s')
  expect(breached).toEqual([])
  expect([...of('error', false), ...of('warning', false)].map(nameOf)).toEqual([])
  expect(of('holds', true).map(nameOf)).toEqual(Object.keys(allPageRules))
  const missing = cases.find((item) => nameOf(item) === 'beacon-missing')
  expect(JSON.stringify(missing?.steps)).toContain('1 of 1 rendered ads were reported as visible.')
  expect(code).toBe(0)
}, 60_000)

// They spend their time waiting, and each judges its own page.
describe.concurrent('each rule about pages is violated by its page', () => {
  test.each(Object.entries(wrongPages))(
    '%s',
    async (name, page) => {
      const { code, cases, breached } = await judged(page)
      expect(breached.sort()).toEqual([name, ...(page.also ?? [])].sort())
      const { severity } = allPageRules[name as keyof typeof allPageRules]
      const found = cases.find((item) => nameOf(item) === name)
      expect(found?.outcome).toBe(severity === 'error' ? 'failed' : 'passed')
      expect(found?.steps[0]?.screenshots[0]?.name).toBe('the page at the end')
      if (severity === 'error') expect(code).toBe(5)
    },
    60_000,
  )
})

test('the html report has the finding and a screenshot of the page', async () => {
  const file = join(home, 'observe.html')
  const { code } = await observe(wrongPages['label-hidden'], `--reporter list --reporter html=${file}`)
  expect(code).toBe(5)
  const html = readFileSync(file, 'utf8')
  expect(html).toContain('every ad has a visible label')
  expect(html).toContain('alt="Screenshot the page at the end"')
}, 60_000)
