/** `--reporter markdown, ctrf, sarif` and `--compare-with` of every command with a verdict, in the real program. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { commands } from '#src/program.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
  mkdirSync(join(cli.home, 'shop', 'qa'), { recursive: true })
  mkdirSync(join(cli.home, '.git'))
  writeFileSync(join(cli.home, 'shop', 'qa', 'a b.yaml'), suite(418))
  writeFileSync(join(cli.home, 'shop', 'beacons.jsonl'), `${good}\n${good.replace('"render"', '"rendr"')}\n`)
})
afterAll(() => cli[Symbol.asyncDispose]())

const good = '{"beacon_id":"b:1:render","asset_token":"ast_a","event":"render","occurred_at_ms":1767225600000}'
const suite = (status: number) => `suite: shop
title: Shop
cases:
  - name: is open
    steps:
      - request: { method: GET, path: /_sandbox/info }
        expect: { status: ${status} }
`

const run = (line: string) => cli.svc(line, { cwd: join(cli.home, 'shop') })
const written = (name: string) => readFileSync(join(cli.home, 'shop', name), 'utf8')

interface Sarif {
  runs: [
    {
      results: { ruleId: string; level: string; locations: { physicalLocation: object }[] }[]
      invocations: [{ executionSuccessful: boolean; toolExecutionNotifications: { message: { text: string } }[] }]
      automationDetails: { id: string }
    },
  ]
}

function readSarif(name: string) {
  const { runs } = JSON.parse(written(name)) as Sarif
  const [{ results, invocations, automationDetails }] = runs
  return { results, ...invocations[0], id: automationDetails.id }
}

test('each command with --reporter takes --compare-with too', async () => {
  const taking = (await loadAll(commands)).flatMap(({ command, path }) => {
    const flags = (command.options ?? []).map(({ long }) => long)
    // It compares pictures, not a report.
    if (path === 'creatives sheet') return []
    return flags.includes('--reporter') || flags.includes('--compare-with') ? [{ path, flags }] : []
  })
  const paths = taking.map(({ path }) => path)
  expect(paths.toSorted()).toEqual(['beacons lint', 'contract check', 'observe', 'qa hosts', 'qa run'])
  for (const { flags } of taking) expect(flags).toEqual(expect.arrayContaining(['--reporter', '--compare-with']))
})

test('qa run: the place of a check in a suite, relative to the repository', async () => {
  const { code, stdout } = await run("qa run 'qa/a b.yaml' --reporter markdown --reporter sarif=qa.sarif")
  expect(code).toBe(5)
  expect(stdout).toMatch(/^## ❌ svc qa run: 1 of 1 case failed\n/)
  expect(stdout).toContain("curl -sS -X GET '")
  const { results, id } = readSarif('qa.sarif')
  expect(id).toBe('svc-qa-run/')
  expect(results.map(({ ruleId, level, locations }) => [ruleId, level, locations])).toEqual([
    [
      'shop/is open',
      'error',
      [
        {
          physicalLocation: {
            artifactLocation: { uri: 'shop/qa/a%20b.yaml', uriBaseId: '%SRCROOT%' },
            region: { startLine: 7, startColumn: 27 },
          },
        },
      ],
    ],
  ])
})

test('qa run: what changed against the report of an earlier run', async () => {
  writeFileSync(join(cli.home, 'shop', 'changing.yaml'), suite(418))
  await run('qa run changing.yaml -q --reporter ctrf=last.json')
  writeFileSync(join(cli.home, 'shop', 'changing.yaml'), suite(200))
  const { code, stdout, stderr } = await run('qa run changing.yaml --reporter markdown --compare-with last.json')
  expect(code).toBe(0)
  expect(stdout).toContain('1 newly passing, compared with `last.json`.\n\n- newly passing: `shop/is open`\n')
  expect(stderr).toContain('compared with last.json: 1 newly passing\n')
  const listed = await run('qa run changing.yaml --compare-with last.json')
  expect(listed.stderr).toContain('compared with last.json: 1 newly passing\n')
})

test.each([
  ['nowhere.json', 'nowhere.json cannot be read: no such file.'],
  ['beacons.jsonl', 'beacons.jsonl is not JSON. Line 2, column 1:'],
  [
    'wrong.json',
    'wrong.json is not a report of an earlier run.\nhint: Give a file that --reporter ctrf=FILE or json=FILE wrote.',
  ],
])('an earlier run that cannot be read is refused before anything runs: %s', async (name, message) => {
  writeFileSync(join(cli.home, 'shop', 'wrong.json'), '{"version":1}')
  for (const command of ['qa run consent', 'observe --since 1m', 'qa hosts', 'contract check', 'beacons lint x']) {
    const { code, stdout, stderr } = await run(`${command} --compare-with ${name}`)
    expect({ command, code, stdout, stderr }).toEqual({
      command,
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  }
})

test('beacons lint: line and column in the file; the same list as without reporters', async () => {
  const own = await run('beacons lint beacons.jsonl --now 2026-01-01')
  const { code, stdout } = await run(
    'beacons lint beacons.jsonl --now 2026-01-01 --reporter markdown --reporter sarif=b.sarif',
  )
  expect([own.code, code]).toEqual([5, 5])
  expect(stdout).toMatch(/^## ❌ svc beacons lint: 1 of \d+ rules failed\n\nLooked at `2 beacons of beacons\.jsonl`;/)
  const { results } = readSarif('b.sarif')
  const places = results.map(({ ruleId, locations }) => {
    const { artifactLocation, region } = locations[0]!.physicalLocation as {
      artifactLocation: { uri: string }
      region: { startLine: number; startColumn: number }
    }
    expect(artifactLocation.uri).toBe('shop/beacons.jsonl')
    return `beacons.jsonl:${region.startLine}:${region.startColumn}  ${ruleId.replace('beacons-lint/', '')}`
  })
  const listed = [...own.stdout.matchAll(/^(beacons\.jsonl:\d+:\d+) {2}\w+ {2}(\w+)/gm)].map(
    ([, at, rule]) => `${at}  ${rule}`,
  )
  expect(places.toSorted()).toEqual(listed.toSorted())
  expect(listed.length).toBeGreaterThan(0)
})

test('with -o json the own document is on stdout, and the reports are in their files', async () => {
  const { stdout } = await run(
    'beacons lint beacons.jsonl --now 2026-01-01 -o json --reporter list --reporter ctrf=b.json',
  )
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, beacons: 2 })
  expect(JSON.parse(written('b.json')).results.summary.failed).toBe(1)
})

test('contract check: each request is a case', async () => {
  const { code, stdout } = await run(
    'contract check --reporter markdown --reporter ctrf=c.json --reporter sarif=c.sarif',
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^## ✅ svc contract check: passed\n\nLooked at `9 endpoints of http:/)
  const { tests, summary, environment } = JSON.parse(written('c.json')).results
  expect(summary.passed).toBeGreaterThan(30)
  expect(environment.healthy).toBe(true)
  expect(tests.map(({ name }: { name: string }) => name)).toContain('jobs.create: no credential')
  expect(readSarif('c.sarif')).toMatchObject({ results: [], executionSuccessful: true })
  const own = await run('contract check --compare-with c.json')
  expect(own.stdout).toMatch(/^endpoint /)
  expect(own.stderr).toContain('compared with c.json: no change, and nothing fails\n')
})

test('qa observe: a run that saw nothing fails in each format, and no report has a key', async () => {
  const observe = 'observe --reporter markdown --reporter ctrf=o.json --reporter sarif=o.sarif'
  const nothing = await run(`${observe} -- ${process.execPath} -e 0`)
  expect(nothing.code).toBe(5)
  expect(nothing.stdout).toMatch(/^## ❌ svc observe: nothing was checked\n/)
  expect(nothing.stdout).toContain('- ❌ `Nothing was judged: observe saw no request of the app')
  expect(JSON.parse(written('o.json')).results.environment.healthy).toBe(false)
  expect(readSarif('o.sarif')).toMatchObject({ results: [], executionSuccessful: false })
  writeFileSync(
    join(cli.home, 'shop', 'ask.mjs'),
    `const { SVC_BASE_URL, SVC_SECRET_KEY } = process.env
    const headers = { authorization: 'Bearer ' + SVC_SECRET_KEY, 'content-type': 'application/json' }
    await fetch(SVC_BASE_URL + '/v1/placements', { method: 'POST', headers, body: '{"client":"x"}' })
    process.exitCode = 3`,
  )
  const { code, stdout } = await run(`${observe} -- ${process.execPath} ask.mjs`)
  expect(code).toBe(3)
  expect(stdout).toContain('ended with exit code 3.`')
  expect(stdout).toContain('-H \'authorization: Bearer \'"$SVC_SECRET_KEY"')
  const { results, toolExecutionNotifications } = readSarif('o.sarif')
  expect(results).toEqual([])
  expect(toolExecutionNotifications.map(({ message }) => message.text).join('\n')).toContain(
    '(It has no place in a file of the project.)',
  )
  for (const text of [stdout, written('o.json'), written('o.sarif')]) expect(text).not.toMatch(/sk_test_(?!redacted)\w/)
})
