/** `svc sandbox gameday` by the turns of a command, and what is refused. Those of svc itself: tests/processes/gameday.test.ts */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runInProcess } from './in-process.ts'
import { root } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

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
  `import { existsSync, writeFileSync } from 'node:fs'
const { SVC_BASE_URL: base, SVC_SECRET_KEY: key, SVC_CLIENT_ID: client_id } = process.env
const headers = { authorization: \`Bearer \${key}\`, 'content-type': 'application/json' }
const ask = (session_id) => {
  const body = JSON.stringify({ client_id, session_id, job_type: 'chat' })
  return fetch(\`\${base}/v1/placements\`, { method: 'POST', headers, body }).catch(() => {})
}
const isAway = () => fetch(\`\${base}/v1/projects/\${client_id}/config\`, { headers }).then(() => false, () => true)
// The first turn begins the timeline, in the second run with its outage.
await ask('first')
if (existsSync('first')) while (!(await isAway()));
writeFileSync('first', '')
for (let count = 0; count < 20; count++) await ask(\`s\${count}\`)
`,
)

test('a command is measured in a sandbox of its own for each run', async () => {
  // The outage lasts as long as the command, however long that is.
  const away = file
    .replace('rate: 10', 'rate: 1')
    .replace('length: 2s', 'length: 1h')
    .replace('at: 500ms, for: 1s', 'at: 0s, for: 1h')
  writeFileSync(join(home, 'away.yaml'), `${away}expect: { fills: 10 % }\n`)
  const { code, stdout, stderr } = await run(`away.yaml -- ${process.execPath} app.mjs`)
  expect({ code, stderr }).toEqual({
    code: 5,
    stderr: expect.stringContaining('The turns are the requests for an ad in a sandbox of its own for '),
  })
  expect(stdout).toMatch(/\nturn +21 +21 +100 %\n/)
  expect(stdout).toMatch(/\naway +decided +no_response +20 +0\n/)
  expect(stdout).toMatch(/\nexpectation +expected +measured +verdict\nfills kept +at least 10 % +[\d.]+ % +missed\n/)
})

test('a command that requests no ad is a failure, and so is one that fails without faults', async () => {
  const silent = await run(`met.yaml -- ${process.execPath} --version`)
  expect(silent).toMatchObject({ code: 5, stderr: expect.stringContaining('Nothing was measured') })
  const failing = await run(`met.yaml -- ${process.execPath} missing.mjs`)
  expect(failing).toMatchObject({ code: 5, stderr: expect.stringContaining('exit code 1 without faults') })
})

test('an interrupt ends a run at once', async () => {
  const options = { env: { SVC_HOME: home }, cwd: home }
  const hasNote = ({ stderr }: { stderr: string }) => stderr.includes('short: 20 turns')
  const running = await runInProcess('sandbox gameday missed.yaml', options, hasNote)
  expect(await running.end('SIGINT')).toMatchObject({ code: 130 })
})

test('the plan is the same for the same seed, and is printed without playing it', async () => {
  const { code, stdout, stderr } = await run('missed.yaml --dry-run')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'turn       at  format',
    '   1    72 ms  banner',
    '   2   145 ms  banner',
  ])
  expect((await run('missed.yaml --dry-run')).stdout).toBe(stdout)
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
  expect(JSON.parse(readFileSync(join(root, 'fixtures/svc.gameday.schema.json'), 'utf8'))).toEqual(JSON.parse(stdout))
})
