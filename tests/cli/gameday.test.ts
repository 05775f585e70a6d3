/** `svc sandbox gameday`: real runs with a short timeline, by turns of svc itself and by those of a command. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { GamedayReport } from '#gameday/report.ts'
import { root, spawnSvc } from './process.ts'
import { type Result, svc, temporaryDirectory } from './test-cli.ts'

const home = temporaryDirectory()
const run = (args: string) => svc(`sandbox gameday ${args}`, { env: { SVC_HOME: home }, cwd: home })

const file = `\
gameday: short
seed: 3
rate: 10
length: 2s
view: 1s
timeline: [{ fault: away, at: 500ms, for: 1s }]
patience: 1s
`
writeFileSync(join(home, 'missed.yaml'), `${file}expect: { billed: 100 %, fills: 10 % }\n`)
writeFileSync(join(home, 'met.yaml'), `${file}expect: { fills: 10 % }\n`)
writeFileSync(
  join(home, 'app.mjs'),
  `const { SVC_BASE_URL: base, SVC_SECRET_KEY: key, SVC_CLIENT_ID: client_id } = process.env
const headers = { authorization: \`Bearer \${key}\`, 'content-type': 'application/json' }
for (let count = 0; count < 20; count++) {
  const body = JSON.stringify({ client_id, session_id: \`s\${count}\`, job_type: 'chat' })
  fetch(\`\${base}/v1/placements\`, { method: 'POST', headers, body }).catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 100))
}
`,
)

let own: Result
let app: Result
// Both take as long as their timelines.
beforeAll(async () => {
  const command = `met.yaml -- ${process.execPath} app.mjs`
  ;[own, app] = await Promise.all([run('missed.yaml --html page.html -o json'), run(command)])
}, 60_000)

const billed = ({ funnel }: GamedayReport) => funnel.find(({ step }) => step === 'billed')

test('turns during an outage are lost, those around it are billed, and a missed expectation ends with 5', () => {
  const { code, stdout, stderr } = own
  const report: GamedayReport = JSON.parse(stdout)
  expect(code).toBe(5)
  expect(report.plan).toHaveLength(20)
  // How many of them a busy computer keeps is not certain; that some are kept, and not all, is.
  const { without, with: kept } = billed(report)!
  expect(without).toBeGreaterThan(kept)
  expect(kept).toBeGreaterThan(1)
  expect(report.losses.filter(({ reason }) => reason === 'unreachable')).toContainEqual(
    expect.objectContaining({ phase: 'away', missed: 'requested', without: 0 }),
  )
  expect(report.expectations.map(({ expectation, ok }) => [expectation, ok])).toEqual([
    ['fills', true],
    ['billed', false],
  ])
  expect(stderr).toContain('short: 20 turns, twice, about 6 s\n')
  expect(readFileSync(join(home, 'page.html'), 'utf8')).toContain('<p class="bad">1 expectation missed</p>')
})

test('a command is measured in a sandbox of its own for each run', () => {
  const { code, stdout, stderr } = app
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('The turns are the requests for an ad in a sandbox of its own for '),
  })
  expect(stdout).toMatch(/\nturn +20 +20 +100 %\n/)
  expect(stdout).toMatch(/\naway +decided +no_response +\d+ +0\n/)
  expect(stdout).toMatch(/\nexpectation +expected +measured +verdict\nfills kept +at least 10 % +[\d.]+ % +met\n$/)
})

test('a command that requests no ad is a failure, and so is one that fails without faults', async () => {
  const silent = await run(`met.yaml -- ${process.execPath} --version`)
  expect(silent).toMatchObject({ code: 5, stderr: expect.stringContaining('Nothing was measured') })
  const failing = await run(`met.yaml -- ${process.execPath} missing.mjs`)
  expect(failing).toMatchObject({ code: 5, stderr: expect.stringContaining('exit code 1 without faults') })
})

test('an interrupt ends a run at once', async () => {
  const running = spawnSvc(['sandbox', 'gameday', join(home, 'missed.yaml')], { SVC_HOME: home }, home)
  const [note] = await once(running.child.stderr!, 'data')
  expect(String(note)).toContain('short: 20 turns')
  running.child.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 130 })
})

test('the plan is the same for the same seed, and is printed without playing it', async () => {
  const { code, stdout, stderr } = await run('missed.yaml --plan')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'turn       at  format',
    '   1    72 ms  banner',
    '   2   145 ms  banner',
  ])
  expect((await run('missed.yaml --plan')).stdout).toBe(stdout)
})

test.each([
  ['', 'error: Name the file of the game day.\nhint: An example: svc docs game-days\n'],
  ['none.yaml', `error: ${home}/none.yaml cannot be read: no such file.\n`],
  [
    'met.yaml --url localhost:3000',
    "error: 'localhost:3000' is not the address of a page.\nhint: Write it in full: http://localhost:3000\n",
  ],
  ['met.yaml --steps a.yaml', 'error: --steps needs a page.\nhint: Name it: --url http://localhost:3000\n'],
])('what is missing is said before anything is played: %s', async (args, stderr) => {
  expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr })
})

test('a file with mistakes is refused with their places', async () => {
  writeFileSync(join(home, 'wrong.yaml'), file.replace('rate: 10', 'rte: 10'))
  const { code, stderr } = await run('wrong.yaml')
  expect(code).toBe(2)
  expect(stderr).toBe(`\
error: 3 problems:
wrong.yaml:1:1: rate is missing. Turns a second. They start at their times, whatever the responses do.
wrong.yaml:1:1: expect is missing. What must hold, at least one; exit code 5 when something does not.
wrong.yaml:3:1: Unknown field rte. Did you mean rate?
hint: For an example of a game day: svc docs game-days
`)
})

test('the published schema is the one that files are read with', async () => {
  const { stdout } = await run('--schema')
  expect(readFileSync(join(root, 'fixtures/svc.gameday.schema.json'), 'utf8')).toBe(stdout)
})
