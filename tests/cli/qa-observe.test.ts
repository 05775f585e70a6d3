/** `svc observe` over real integrations: each violates one rule, and one violates none. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { readJournal } from '#diagnosis/journal.ts'
import { judge, toRunResult } from '#diagnosis/observe.ts'
import { journalRules, observeRules } from '#diagnosis/rules/index.ts'
import type { CaseResult } from '#qa/result.ts'
import { manualClock, startSandbox } from '#sandbox/index.ts'
import { clean } from '#tests/observe/clean.ts'
import {
  ask,
  beacon,
  call,
  client_id,
  consent,
  fault,
  frame,
  granted,
  newSession,
  now,
  pass,
  show,
  strictKey,
  use,
  view,
} from '#tests/observe/integration.ts'
import { violations } from '#tests/observe/violations.ts'
import { runInProcess } from './in-process.ts'
import { root } from './process.ts'
import { noon, startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

const home = temporaryDirectory()
const script = join(root, 'tests/observe/run.ts')
const system = { now: () => Date.now() }

/** Runs an integration against a sandbox of its own, and judges it. Resolves to the cases by the ids of their rules. */
async function judged(integration: () => Promise<unknown>) {
  const sandbox = await startSandbox({ database: ':memory:', clock: manualClock(noon) })
  const { url, projects } = sandbox
  try {
    use({ url, ...projects.find(({ client_id }) => client_id === 'proj_demo')! }, noon)
    await integration()
    const client = createClient({ base_url: url, credential: projects[0]!.secret_key })
    const about = { client_id: 'proj_demo', command_name: 'svc' }
    const journal = await readJournal(client, await client.sandbox.info(), { limit: 1_000 }, about)
    const watched = { ...journal, is_ended: true, is_whole: true, page: null }
    const result = toRunResult(judge(watched), watched, {
      target: { base_url: url, kind: 'fresh', version: null, key_mode: 'test' },
      svc_version: '',
      started_at_ms: 0,
      ended_at_ms: 0,
      is_strict: false,
      curl: () => '',
      looked_at: '1 request of a test',
      failed_because: [],
    })
    const byRule = new Map(result.cases.map((item) => [item.id.replace('observe/', ''), item]))
    const standings = (wanted: string) =>
      [...byRule].flatMap(([name, { tags }]) => (tags[0] === wanted ? [name] : [])).sort()
    return { byRule, standings, violated: [...standings('error'), ...standings('warning')].sort() }
  } finally {
    await sandbox.close()
  }
}

test('a correct integration violates no rule, although each had something to judge', async () => {
  const { byRule, standings, violated } = await judged(clean)
  expect(violated.map((name) => [name, byRule.get(name)?.steps.map(({ title }) => title)])).toEqual([])
  expect(standings('holds')).toEqual(Object.keys(journalRules).sort())
})

describe('each rule is violated by its integration, and by no other', () => {
  test.each(Object.entries(violations))('%s', async (name, { commit, also = [] }) => {
    const { byRule, violated } = await judged(commit)
    expect(violated).toEqual([name, ...also].sort())
    const { severity, costs } = observeRules[name as keyof typeof observeRules]
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
  })
})

describe('what a finding says', () => {
  const listMessages = ({ byRule }: Awaited<ReturnType<typeof judged>>, rule: string) =>
    byRule.get(rule)!.steps.map(({ title, checks }) => [title, checks[0]?.hint])

  test('a field that is missing is not one that the contract does not know', async () => {
    const result = await judged(() => call('POST', '/v1/placements', { client_id, job_type: 'chat', colour: 'red' }))
    expect(listMessages(result, 'unknown-fields').map(([message]) => message)).toEqual([
      'POST /v1/placements has colour, which the contract does not define (once).',
    ])
    expect(listMessages(result, 'request-refused').map(([message]) => message)).toEqual([
      'session_id of POST /v1/placements is missing (once).',
    ])
  })

  test('a response that lists no field is not explained by its list', async () => {
    const result = await judged(async () => {
      await fault({ path: '/v1/placements', status: 400, reason_code: 'schema_invalid' })
      await ask()
    })
    const [[message, hint] = []] = listMessages(result, 'request-refused')
    expect(message).toContain('POST /v1/placements was refused once with 400 schema_invalid')
    expect(hint).toMatch(/^The response lists no field\. Compare the body with the contract: svc contract show/)
  })

  test('a request that repeats one and is repeated itself is listed once', async () => {
    const { byRule } = await judged(async () => {
      for (let attempt = 0; attempt < 3; attempt++) await call('GET', '/v1/decisions/slot_00000000000')
    })
    const [step] = byRule.get('retried-in-vain')!.steps
    expect(step?.exchanges).toHaveLength(3)
  })

  test('a field under another name is one mistake, not two', async () => {
    const fields = { clientId: client_id, sessionId: 'a', jobType: 'chat' }
    const result = await judged(() => call('POST', '/v1/placements', fields))
    expect(result.violated).toEqual(['unknown-fields'])
  })

  test.each([
    [{ occurred_at_ms: 1_769_860_800.5 }, 'Send milliseconds, as a whole number: 1769860800500.'],
    [{ occurred_at_ms: 1_769_860_800_000.5 }, 'Send a whole number: 1769860800001.'],
    [{ occurred_at_ms: '2026-01-31T12:00:00Z' }, 'Send Date.now(), a number of milliseconds; a text such as'],
    [{ event: undefined }, 'Send one of render, visible, click, completion, heartbeat, play_started, play_completed.'],
  ])('a beacon with %j reads what to send', async (fields, fix) => {
    const result = await judged(async () => beacon(await ask(), 'render', fields))
    expect(listMessages(result, 'request-refused')[0]?.[1]).toContain(fix)
  })

  test('each wrong event of a beacon reads which one was meant', async () => {
    const result = await judged(async () => {
      const answer = await ask()
      await beacon(answer, 'impression')
      await beacon(answer, 'view')
    })
    const fixes = listMessages(result, 'request-refused').map(([, hint]) => /^Send \w+\./.exec(hint ?? '')?.[0])
    expect(fixes).toEqual(['Send render.', 'Send visible.'])
  })

  test('fills that nobody shows, requested one after the other, are placements of each token', async () => {
    const result = await judged(async () => {
      const session_id = newSession()
      for (let token = 0; token < 4; token++) await ask({ session_id })
    })
    expect(listMessages(result, 'fill-unused')).toMatchObject([
      [
        expect.stringContaining('4 of them were requested in one session, each within a second of the last.'),
        expect.stringContaining('Request one placement for each turn, before its answer streams'),
      ],
    ])
  })

  test.each(['undefined', '{slot_id}', 'job_00000000001'])('a poll of %s names no slot', async (named) => {
    const result = await judged(async () => {
      await call('POST', '/v1/jobs', { client_id, session_id: newSession(), consent: granted })
      await call('GET', `/v1/decisions/${named}`)
    })
    expect(result.violated).toEqual(['pending-given-up'])
    expect(listMessages(result, 'pending-given-up')).toMatchObject([
      [
        expect.stringMatching(/ GET \/v1\/decisions\/\S+ names no slot\.$/),
        expect.stringContaining('with each of slot_ids of the job'),
      ],
    ])
  })

  test('a constant consent after a denial is told from a new choice of the user', async () => {
    const session_id = newSession()
    const strict = (purposes: object) =>
      ask({ client_id: 'proj_strict', session_id, consent: purposes }, { key: strictKey })
    const changed = await judged(async () => {
      await strict({ semantic_targeting: false })
      await show(await strict({ semantic_targeting: true }), { key: strictKey })
    })
    expect(changed.violated).toEqual([])
    const constant = await judged(async () => {
      await consent(session_id, 'denied')
      await show(await ask({ session_id, consent: granted }))
    })
    expect(constant.violated).toEqual(['asked-after-denial'])
    expect(listMessages(constant, 'asked-after-denial')[0]?.[1]).toContain("Send the user's choice as consent")
  })

  test('one page with a session for each request is told to keep one', async () => {
    const result = await judged(violations['token-shared'].commit)
    expect(listMessages(result, 'token-shared')[0]?.[1]).toContain('Keep one session_id for the whole conversation')
  })

  test('a view without a render beacon is one mistake', async () => {
    const framed = await judged(async () => {
      const answer = await ask()
      await frame(answer)
      await beacon(answer, 'visible', view())
      await pass(6_000)
    })
    expect(framed.violated).toEqual(['beacon-missing'])
    const drawn = await judged(async () => beacon(await ask(), 'visible', view()))
    expect(drawn.violated).toEqual(['view-not-counted'])
  })

  test('a rejected beacon shows no ad', async () => {
    const { byRule } = await judged(async () => {
      const answer = await ask()
      await frame(answer)
      await beacon(answer, 'render', { occurred_at_ms: 1_769_860_800 })
    })
    expect(JSON.stringify(byRule.get('beacon-missing'))).not.toContain('rendered ads were reported as visible')
  })

  test('a beacon of an old client is judged like any other', async () => {
    const result = await judged(async () => {
      const answer = await ask()
      await show(answer)
      await call('POST', '/public/wrapper/v1/beacons', {
        contract_version: 'csl_wrapper_beacon/v1',
        beacon_id: 'mount_a:heartbeat',
        asset_token: answer.body.decision.asset_token,
        beacon_type: 'heartbeat',
        occurred_at_ms_client: now() / 1_000,
      })
    })
    expect(result.violated).toEqual(['beacon-clock', 'deprecated-route'])
  })

  test('a decision that is pushed or sent as a callback needs no poll', async () => {
    const receiver = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const callback_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
    const job = { client_id, session_id: newSession(), consent: granted }
    const result = await judged(async () => {
      const called = once(receiver, 'request')
      await call('POST', '/v1/jobs', { ...job, callback_url })
      await called
      const { body } = await call('POST', '/v1/jobs', { ...job, delivery: { mode: 'websocket' } })
      await call('POST', `/public/wrapper/v1/slots/${body.slot_ids[0]}/decision-ticket`)
    }).finally(() => receiver.close())
    expect(result.violated).toEqual(['deprecated-route'])
  })

  test('fills in the tests of a backend, which has no page, are not judged; one ad that is shown has them judged', async () => {
    const backend = await judged(() =>
      Promise.all([ask({ session_id: newSession() }), ask({ session_id: newSession() })]),
    )
    expect([backend.violated, backend.standings('not_seen').includes('fill-unused')]).toEqual([[], true])
    const result = await judged(async () => {
      await show(await ask())
      await ask({ session_id: newSession() })
    })
    expect(result.violated).toEqual(['fill-unused'])
  })

  test.each([
    ['POST', '/v1/placement', 404, 'POST /v1/placements'],
    ['GET', '/v1/placements', 405, 'POST /v1/placements'],
    ['GET', '/v1/decision/slot_1?wait_ms=1', 404, 'GET /v1/decisions/{slot_id}'],
  ])('%s %s names the endpoint that was probably meant', async (method, path, status, near) => {
    const result = await judged(() => call(method, path, method === 'GET' ? undefined : {}))
    const [[message, hint] = []] = listMessages(result, 'path-unknown')
    expect(message).toBe(`There is no ${method} ${path.split('?')[0]}: ${status}, once.`)
    expect(hint).toContain(`Send it to ${near}. `)
  })

  test('a base URL that ends in /v1 is the mistake, not the path', async () => {
    const result = await judged(() => call('POST', '/v1/v1/beacons', {}))
    expect(listMessages(result, 'path-unknown')[0]?.[1]).toContain(
      'Leave /v1 out of the base URL of the app: its requests then go to POST /v1/beacons.',
    )
  })

  test('a path like no other is not compared, and icons that a browser asks for are no mistake', async () => {
    const result = await judged(() => call('POST', '/v1/something/else/entirely', {}))
    expect(listMessages(result, 'path-unknown')[0]?.[1]).toContain('List the endpoints: svc contract show')
    const icon = () => call('GET', '/v1/icon.png', undefined, { destination: 'image' })
    expect((await judged(icon)).violated).toEqual([])
  })
})

describe('how it runs', () => {
  let cli: TestCli
  beforeAll(async () => {
    cli = await startTestCli()
  })
  afterAll(() => cli[Symbol.asyncDispose]())

  /** Requests a placement as an integration does. */
  const askAs = async (session_id: string) => {
    use({ url: cli.sandbox.url, ...cli.sandbox.keys })
    expect((await ask({ session_id })).status).toBe(200)
  }
  const command = (...words: string[]) => `-- ${process.execPath} ${words.join(' ')}`
  const run = (args: string) =>
    svc(`observe ${args}`, { env: { SVC_HOME: home, PATH: process.env.PATH as string }, system })

  test('the list has the finding, its requests, what to do and what it costs', async () => {
    const { code, stdout, stderr } = await run(command(script, 'retried-in-vain'))
    expect(code).toBe(0)
    expect(stderr).toMatch(/^sandbox http:\S+ for \S+ \S+ retried-in-vain\nNo placement was requested: .*\n$/)
    const text = stdout
      .replaceAll(/req_\w{11}/g, 'req_1')
      .replaceAll(/\d\d:\d\d:\d\d\.\d{3}/g, '12:00:00.000')
      .replaceAll(/:\d{4,5},/g, ':4010,')
      .replace(/in [\d.]+ m?s\n/, 'in 1 s\n')
      .replace(process.execPath, 'node')
      .replace(script, 'run.ts')
    expect(text.split('\n').slice(0, 14)).toEqual([
      'svc observe  node run.ts retried-in-vain: 2 requests in 1 s',
      expect.stringMatching(/^against a fresh sandbox \S+ at http:\/\/127\.0\.0\.1:4010, test key$/),
      '',
      '! warning  retried-in-vain  requests that cannot succeed are not repeated',
      '    GET /v1/decisions/slot_00000000000 was repeated unchanged once after 404 not_found.',
      '      12:00:00.000  GET /v1/decisions/slot_00000000000 → 404  req_1',
      '      12:00:00.000  GET /v1/decisions/slot_00000000000 → 404  req_1',
      '    do     Repeat only when the error body has retryable: true. Of the 4xx, only 429 does.',
      '    costs  Each repetition counts against the rate limit and gets the same response.',
      '',
      'The sandbox ended with the command. Keep its requests: --reporter list --reporter html=observe.html',
      '',
      expect.stringMatching(/^✓ \d+ rules hold: credential-refused, /),
      expect.any(String),
    ])
  })

  test('the exit code of the command comes before that of the findings', { tags: 'depth' }, async () => {
    const { code, stdout } = await run(command('-e', 'process.exit(3)'))
    expect(code).toBe(3)
    expect(stdout).toContain('0 hold, 71 not seen')
  })

  test('a command that sends nothing reads which variable it has to use', { tags: 'depth' }, async () => {
    expect((await run(command('-e', '0'))).stderr).toMatch(
      /error: Nothing was judged: observe saw no request of the app to http:\S+\.\nhint: Does the app read SVC_BASE_URL\?.*\n$/,
    )
  })

  test('a test that runs under svc exec is seen, since that joins', { tags: 'depth' }, async () => {
    const bin = join(root, 'bin/svc.js')
    const { code, stderr, stdout } = await run(command(bin, 'exec', '-q', '--', process.execPath, script, 'clean'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^sandbox http:.*\n$/) })
    expect(stdout).toMatch(/^svc observe {2}.*: \d{2,} requests in /)
  })

  test('the command is repeated without passwords and keys, on stderr and above the list', async () => {
    const { stdout, stderr } = await run(command('-e', '0', 'postgres://svc:pa/ss@db/svc', 'sk_test_abcdef'))
    const shown = ` ${process.execPath} -e 0 postgres://svc:***@db/svc sk_test_redacted`
    expect(stderr.split('\n')[0]).toMatch(/^sandbox http:\S+ for /)
    expect(stderr.split('\n')[0]).toContain(` for${shown}`)
    expect(stdout.split('\n')[0]).toContain(`svc observe ${shown}: 0 requests in `)
  })

  test('a server that ends before its page responds is named without passwords', async () => {
    const url = 'http://127.0.0.1:8/'
    const { code, stderr } = await run(`--url ${url} ${command('-e', '0', 'postgres://svc:pa/ss@db/svc')}`)
    expect(code).toBe(7)
    expect(stderr).toContain(`${process.execPath} -e 0 postgres://svc:***@db/svc ended with 0 before ${url} responded.`)
  })

  test('a signal ends the wait for a page at once, and the command with it', async () => {
    const file = join(temporaryDirectory(), 'app.mjs')
    writeFileSync(file, 'setInterval(() => {}, 1_000)')
    const env = { PATH: process.env.PATH as string }
    await using running = await runInProcess(
      `observe --url http://127.0.0.1:8/ ${command(file)}`,
      { env, system },
      ({ stderr }) => /sandbox http/.test(stderr),
    )
    const { code, stderr } = await running.end('SIGINT')
    expect(code).toBe(130)
    expect(stderr).toContain('stopped before http://127.0.0.1:8/ responded: nothing was judged')
    expect(stderr).not.toContain('did not respond within')
  })

  test('a command that fails is not judged by another server that responds in its place', async () => {
    const other = createServer((_, response) => response.end('Another app.')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`
    const file = join(temporaryDirectory(), 'app.mjs')
    writeFileSync(file, 'process.exitCode = 3')
    const { code, stderr, stdout } = await run(`--url ${url} ${command(file)}`)
    other.close()
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toContain(`ended with 3, and another server responds at ${url}: nothing was judged.`)
  })

  test('a command whose requests go to another sandbox reads which one got them', async () => {
    await using own = await startTestCli()
    const file = join(temporaryDirectory(), 'app.mjs')
    writeFileSync(file, `await fetch('${own.sandbox.url}/v1/placements', { method: 'POST' })`)
    const { stderr } = await own.svc(`observe ${command(file)}`, {
      env: { PATH: process.env.PATH as string },
      system,
    })
    expect(stderr).toContain(
      `hint: The sandbox at ${own.sandbox.url} got 1 request in that time: the app has that address.`,
    )
  })

  test('--strict makes a warning fail', { tags: 'depth' }, async () => {
    expect((await run(`-q --strict ${command(script, 'fill-unused')}`)).code).toBe(5)
  })

  test('--since judges what the journal of the running sandbox has, and names the command that shows a request', async () => {
    await askAs('undefined')
    const { code, stdout, stderr } = await cli.svc('observe --since 10m')
    expect({ code, stderr }).toEqual({ code: 5, stderr: '' })
    expect(stdout).toContain('✗ error    session-for-all  each person has their own session')
    const id = /see {4}svc requests show (req_\w{11})\n/.exec(stdout)?.[1]
    expect((await cli.svc(`requests show ${id} -o json`)).stdout).toContain('undefined')
  })

  test('--for watches the running sandbox for a time, and judges only the requests of that time', async () => {
    const { code, stdout, stderr } = await cli.svc('observe --for 1ms')
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: `\
watching ${cli.sandbox.url}: use the integration; it is judged after 0.001 s
error: Nothing was judged: observe saw no request of the app to ${cli.sandbox.url}.
hint: Does the app read SVC_BASE_URL? A test that starts a sandbox of its own is not seen.
`,
    })
    expect(stdout).not.toContain('✗')
  })

  test('Ctrl-C ends the watch and judges it; the exit code is that of the findings', async () => {
    const options = { env: { SVC_HOME: cli.home }, cwd: cli.home, system }
    const isWatching = ({ stderr }: { stderr: string }) => stderr.includes('press Ctrl-C to judge it')
    const watching = await runInProcess('observe', options, isWatching)
    await askAs('null')
    const { code, stdout } = await watching.end('SIGINT')
    expect(code).toBe(5)
    expect(stdout).toContain("session_id was 'null', once: a placeholder.")
    expect(stdout).not.toContain('undefined')
  })

  test('a base URL that ends in /v1 is named: 7', async () => {
    const { code, stdout, stderr } = await cli.svc(`observe --since 10m --base-url ${cli.sandbox.url}/v1`)
    expect({ code, stdout, stderr }).toEqual({
      code: 7,
      stdout: '',
      stderr: `error: The sandbox at ${cli.sandbox.url}/v1 cannot be read: The base URL must not end in /v1.\nhint: Set it to ${cli.sandbox.url}\n`,
    })
  })

  test('every reporter has the findings', { tags: 'depth' }, async () => {
    const file = join(home, 'observe.xml')
    await run(`-q --reporter junit=${file} --reporter list ${command(script, 'beacon-missing')}`)
    const xml = readFileSync(file, 'utf8')
    expect(xml).toContain('<testcase name="every loaded frame is reported as rendered" classname="observe"')
    expect(xml).toContain('A frame was loaded in a page that loaded no render.js and no beacon arrived, once')
    expect(xml).not.toContain(':0:0')
  })

  test('in the html report a warning looks like one, with what it costs', { tags: 'depth' }, async () => {
    const file = join(home, 'warning.html')
    const { code } = await run(`-q --reporter list --reporter html=${file} ${command(script, 'fill-unused')}`)
    expect(code).toBe(0)
    const html = readFileSync(file, 'utf8')
    const warned = html.split('<details class="case ').find((part) => part.includes('a fill is shown'))
    expect(warned).toContain('<span class="mark warned" role="img" aria-label="passed with a warning"')
    expect(warned).not.toContain('mark passed')
    expect(warned).toContain('The ad was won and never shown')
    expect(html).toContain('<dt>passed with a warning</dt><dd>1</dd>')
  })

  test.each([
    ['npm test', 2, 'Write the command to run after --.'],
    ['--url localhost:3000', 2, "'localhost:3000' is not the address of a page."],
    ['--url http://localhost:6000', 2, 'No browser connects to port 6000'],
    ['--headed', 2, '--headed needs a page.'],
    ['--interactive', 2, '--interactive needs a page.'],
    ['--steps ask.yaml', 2, '--steps needs a page.'],
    ['--url http://localhost:8 --steps nowhere.yaml', 2, 'nowhere.yaml cannot be read'],
    ['--for soon', 2, 'It must be a duration such as 20s or 2m, or milliseconds.'],
    ['--since 10m -- true', 2, 'A command runs against its own sandbox, which has no earlier requests.'],
    ['--for 1s --base-url http://127.0.0.1:9', 7, 'No sandbox responds at http://127.0.0.1:9.'],
    [`--url http://localhost:8 -- ${process.execPath} -e 0`, 7, 'ended with 0 before http://localhost:8 responded.'],
  ])('%s', async (args, expected, message) => {
    const { code, stderr } = await run(args)
    expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringContaining(message) })
  })

  test('without a display --interactive says what to do instead: 7', async () => {
    const { code, stderr } = await svc('observe --url http://localhost:3000 --interactive', {
      env: { SVC_HOME: home },
      system: { ...system, platform: 'linux' },
    })
    expect(code).toBe(7)
    expect(stderr).toBe(
      'error: --interactive opens a window, but there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set.\nhint: Drive the page with a file of steps instead: --steps FILE. Or run it on a desktop.\n',
    )
  })

  test('without a browser nothing is judged: 7', async () => {
    const { code, stderr } = await cli.svc('observe --url http://localhost:3000 --browser-path nowhere')
    expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('No browser found at nowhere.') })
    expect(stderr).toContain('Without --url only the requests are judged.')
  })

  test('every rule is explained in docs/qa-observe.md', () => {
    const text = readFileSync(join(root, 'docs/qa-observe.md'), 'utf8')
    for (const [name, { severity, title, costs, fix }] of Object.entries(observeRules)) {
      expect(text).toContain(`| \`${name}\` | ${severity} | ${title} | ${costs} ${fix} |`)
    }
  })
})

describe('--serve-dir', () => {
  test('finds a secret key in a directory, and nothing in a clean one', async () => {
    await using cli = await startTestCli()
    const dist = join(cli.home, 'dist')
    await mkdir(join(dist, 'assets'), { recursive: true })
    await writeFile(join(dist, 'index.html'), '<p>pk_test_sandbox_demo</p>')
    const clean = await cli.svc('observe --serve-dir dist', { cwd: cli.home })
    expect(clean).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^svc observe {2}dist: 0 requests, 1 served file in /),
    })
    await writeFile(join(dist, 'assets', 'app.js'), '\nconst key = "sk_test_sandbox_demo"\n')
    const leaking = await cli.svc('observe --serve-dir dist', { cwd: cli.home })
    expect(leaking).toMatchObject({
      code: 5,
      stdout: expect.stringContaining('assets/app.js:2 contains the secret key sk_test_….'),
    })
    expect(leaking.stdout).not.toContain('sk_test_sandbox_demo')
    await writeFile(join(dist, 'assets', 'app.js'), 'SponsoredPlacement.startTurn({})')
    const unguarded = await cli.svc('observe --serve-dir dist', { cwd: cli.home })
    expect(unguarded).toMatchObject({ code: 0, stdout: expect.stringContaining('! warning  stub-missing') })
  })

  test('finds one in the scripts of a page', async () => {
    await using cli = await startTestCli()
    const site = createServer((request, response) =>
      response.end(request.url === '/app.js' ? 'x("sk_live_abcdef123")' : '<script src="/app.js"></script>'),
    ).listen(0, '127.0.0.1')
    await once(site, 'listening')
    const page = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    const { stdout } = await cli.svc(`observe --serve-dir ${page}`)
    site.close()
    expect(stdout).toContain(`${page}/app.js:1 contains the secret key sk_live_….`)
  })

  test('a place that cannot be read is not reported as clean', async () => {
    await using cli = await startTestCli()
    const { code, stderr } = await cli.svc('observe --serve-dir nowhere', { cwd: cli.home })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'error: --serve-dir nowhere cannot be read: no such file.\nhint: Correct the path or address.\n',
    })
  })
})
