/** `svc qa observe` over real integrations: each violates one rule, and one violates none. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { journalRules, observeRules } from '../../src/journal/rules/index.ts'
import type { CaseResult, RunResult } from '../../src/qa/result.ts'
import { violations } from '../observe/violations.ts'
import { root, spawnSvc } from './process.ts'
import { startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

const home = temporaryDirectory()
const script = join(root, 'tests/observe/run.ts')
const host = { now: () => Date.now() }

/** Runs an integration under observation. Resolves to the cases by the ids of their rules. */
async function observe(integration: string, args = '') {
  const command = `${process.execPath} ${script} ${integration}`
  const { code, stdout, stderr } = await svc(`qa observe -q -o json ${args} -- ${command}`, {
    env: { SVC_HOME: home, PATH: process.env.PATH as string },
    host,
  })
  expect(stderr).toBe('')
  const { cases } = JSON.parse(stdout) as RunResult
  const byRule = new Map(cases.map((item) => [item.id.replace('observe/', ''), item]))
  const standings = (wanted: string) =>
    [...byRule].flatMap(([name, { tags }]) => (tags[0] === wanted ? [name] : [])).sort()
  return { code, byRule, standings, breached: [...standings('error'), ...standings('warning')].sort() }
}

test('a correct integration violates no rule, although each had something to judge', async () => {
  const { code, byRule, standings, breached } = await observe('clean')
  expect(breached.map((name) => [name, byRule.get(name)?.steps.map(({ title }) => title)])).toEqual([])
  expect(standings('holds')).toEqual(Object.keys(journalRules).sort())
  expect(code).toBe(0)
}, 60_000)

describe('each rule is violated by its integration, and by no other', () => {
  test.each(Object.entries(violations))(
    '%s',
    async (name, { also = [] }) => {
      const { code, byRule, breached } = await observe(name)
      expect(breached).toEqual([name, ...also].sort())
      const { severity, costs } = observeRules[name as keyof typeof observeRules]
      const isError = breached.some((each) => observeRules[each as keyof typeof observeRules].severity === 'error')
      expect(code).toBe(isError ? 5 : 0)
      const { outcome, steps } = byRule.get(name) as CaseResult
      expect(outcome).toBe(severity === 'error' ? 'failed' : 'passed')
      expect(steps[0]?.exchanges.length).toBeGreaterThan(0)
      expect(steps[0]?.checks).toMatchObject([
        {
          subject: name,
          hint: expect.stringContaining(costs ?? 'its costs'),
          actual: expect.stringMatching(/\(req_\w{11}/),
        },
      ])
    },
    30_000,
  )
})

describe('how it runs', () => {
  let cli: TestCli
  beforeAll(async () => {
    cli = await startTestCli()
  })
  afterAll(() => cli[Symbol.asyncDispose]())

  const command = (...words: string[]) => `-- ${process.execPath} ${words.join(' ')}`
  const run = (args: string) =>
    svc(`qa observe ${args}`, { env: { SVC_HOME: home, PATH: process.env.PATH as string }, host })

  test('the list has the finding, its requests, what to do and what it costs', async () => {
    const { code, stdout, stderr } = await run(command(script, 'retried-in-vain'))
    expect(code).toBe(0)
    expect(stderr).toMatch(/^sandbox http:\S+ for \S+ \S+ retried-in-vain\n$/)
    const text = stdout
      .replaceAll(/req_\w{11}/g, 'req_1')
      .replaceAll(/\d\d:\d\d:\d\d\.\d{3}/g, '12:00:00.000')
      .replaceAll(/:\d{4,5},/g, ':4010,')
      .replace(/in [\d.]+ m?s\n/, 'in 1 s\n')
      .replace(process.execPath, 'node')
      .replace(script, 'run.ts')
    expect(text.split('\n').slice(0, 14)).toEqual([
      'svc qa observe  node run.ts retried-in-vain: 2 requests in 1 s',
      expect.stringMatching(/^against a fresh sandbox \S+ at http:\/\/127\.0\.0\.1:4010, test key$/),
      '',
      '! warning  retried-in-vain  what cannot succeed is not repeated',
      '    GET /v1/decisions/slot_00000000000 was repeated unchanged once after 404 not_found.',
      '      12:00:00.000  GET /v1/decisions/slot_00000000000 → 404  req_1',
      '      12:00:00.000  GET /v1/decisions/slot_00000000000 → 404  req_1',
      '    do     Repeat only when the error body has retryable: true. Of 4xx, only 429 has.',
      '    costs  Each repetition counts against the rate limit and gets the same response.',
      '',
      'The sandbox ended with the command. Keep its requests: --reporter list --reporter html=observe.html',
      '',
      expect.stringMatching(/^✓ \d+ rules hold: credential-refused, /),
      expect.any(String),
    ])
  })

  test('the exit code of the command comes before that of the findings', async () => {
    const { code, stdout } = await run(command('-e', 'process.exit(3)'))
    expect(code).toBe(3)
    expect(stdout).toContain('0 hold, 47 not seen')
  })

  test('--strict makes a warning fail', async () => {
    expect((await run(`-q --strict ${command(script, 'fill-unused')}`)).code).toBe(5)
  })

  test('--since judges what the journal of the running sandbox has, and names the command that shows a request', async () => {
    const asked = await cli.svc('placements create --set session_id=undefined -o json')
    expect(asked.code).toBe(0)
    const { code, stdout, stderr } = await cli.svc('qa observe --since 10m')
    expect({ code, stderr }).toEqual({ code: 5, stderr: '' })
    expect(stdout).toContain('✗ error    session-for-all  each person has a session of their own')
    const id = /see {4}svc requests show (req_\w{11})\n/.exec(stdout)?.[1]
    expect((await cli.svc(`requests show ${id} -o json`)).stdout).toContain('undefined')
  })

  test('--for watches the running sandbox for a time, and judges only the requests of that time', async () => {
    const { code, stdout, stderr } = await cli.svc('qa observe --for 1ms')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `watching ${cli.sandbox.url}: use the integration; it is judged after 0.001 s\n`,
    })
    expect(stdout).not.toContain('✗')
  })

  test('Ctrl-C ends the watch and judges it; the exit code is that of the findings', async () => {
    const { child, ended } = spawnSvc(['qa', 'observe'], { SVC_HOME: cli.home }, cli.home)
    const [note] = (await once(child.stderr as Readable, 'data')) as [Buffer]
    expect(note.toString()).toContain('use the integration; press Ctrl-C to judge it')
    expect((await cli.svc('placements create --set session_id=null -o json')).code).toBe(0)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    expect(code).toBe(5)
    expect(stdout).toContain("session_id was 'null', once: a placeholder.")
    expect(stdout).not.toContain('undefined')
  }, 120_000)

  test('every reporter has the findings', async () => {
    const file = join(home, 'observe.xml')
    await run(`-q --reporter junit=${file} --reporter tap ${command(script, 'beacon-missing')}`)
    const xml = readFileSync(file, 'utf8')
    expect(xml).toContain('<testcase name="every loaded frame is reported as rendered" classname="observe"')
    expect(xml).toContain('A frame was loaded and no beacon came, once')
    expect(xml).not.toContain(':0:0')
  })

  test.each([
    ['npm test', 2, 'Write the command to run after --.'],
    ['--url localhost:3000', 2, "'localhost:3000' is not the address of a page."],
    ['--headed', 2, '--headed needs a page to show.'],
    ['--for soon', 2, 'It must be a duration such as 20s or 2m.'],
    ['--since 10m -- true', 2, 'A command runs against a sandbox of its own, which has no earlier requests.'],
    ['--for 1s', 7, 'No sandbox responds at '],
    [`--url http://localhost:9 -- ${process.execPath} -e 0`, 7, 'ended with 0 before http://localhost:9 responded.'],
  ])('%s', async (args, expected, message) => {
    const { code, stderr } = await run(args)
    expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringContaining(message) })
  })

  test('without a browser nothing is judged: 7', async () => {
    const { code, stderr } = await cli.svc('qa observe --url http://localhost:3000 --browser-path nowhere')
    expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('There is no browser at nowhere.') })
    expect(stderr).toContain('Without --url only the requests are judged.')
  })

  test('every rule is explained in docs/qa-observe.md', () => {
    const text = readFileSync(join(root, 'docs/qa-observe.md'), 'utf8')
    for (const [name, { severity, title, costs, fix }] of Object.entries(observeRules)) {
      expect(text).toContain(`| \`${name}\` | ${severity} | ${title} | ${costs} ${fix} |`)
    }
  })
})
