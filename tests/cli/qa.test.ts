/** `svc qa` from the command line: against a running sandbox, a fresh one, and a service that is no sandbox. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CaseResult, RunResult } from '#qa/result.ts'
import { startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

const head = 'suite: shop\ntitle: A shop\n'
let files = 0

/** A suite file of one case with these steps, one a line, or of all that `text` says. */
function suite(text: string): string {
  const folder = join(cli.home, 'suites')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `shop${++files}.yaml`)
  const steps = text.split('\n').map((line) => `      ${line}\n`)
  writeFileSync(file, text.startsWith('suite:') ? text : `${head}cases:\n  - name: one\n    steps:\n${steps.join('')}`)
  return file
}

/** Runs a suite and returns its cases. */
async function listCases(text: string, args = '', env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await cli.svc(`qa run ${suite(text)} -o json ${args}`, { env })
  expect(stderr).toBe('')
  const result = JSON.parse(stdout) as RunResult
  return { code, result, cases: result.cases, first: result.cases[0]! }
}

function failedChecks({ steps }: CaseResult) {
  return steps.flatMap(({ checks }) => checks.filter(({ passed }) => !passed))
}

describe('steps and expectations', () => {
  test('the way of a placement, from request to billing and evidence', async () => {
    const { code, first } =
      await listCases(`- { placement: { format: banner, topic: coffee }, as: p, expect: { body: { decision.format: banner } } }
- { poll: p, expect: { same_as: p } }
- { frame: p, expect: { headers: { content-security-policy: { $contains: frame-ancestors } } } }
- { beacon: render, expect: { billing: false } }
- { beacon: visible, expect: { body: { reason_code: OK }, billing: { would_bill: true, metric: viewable_impression } } }
- { wait_for: [placement.decided, frame.loaded, beacon.accepted, beacon.accepted] }
- { ledger: p, expect: { body: { beacons: { $length: 2 } }, evidence: [decision, beacon, beacon] } }
- { evidence: verify }`)
    expect(failedChecks(first)).toEqual([])
    expect(first.steps.map(({ outcome }) => outcome)).toEqual(Array(8).fill('passed'))
    expect(code).toBe(0)
  })

  test('consent, activation and what a token may do', async () => {
    const { first } = await listCases(`- { consent: granted, expect: { events: [consent.changed] } }
- { consent: withdrawn, expect: { body: { authoritative_consent.revision: 2 } } }
- { placement: { consent: none }, expect: { body: { decision.no_fill_reason: consent_not_granted } } }
- { activate: null, as: a, expect: { keys: [ok, activation_token, expires_at_ms, key_id, wrapper_tenant_id, project_id] } }
- { config: null, key: activation, expect: { body: { client_id: "{{client_id}}" }, absent: [secret_key] } }
- { config: null, key: activation, origin: "http://evil.example", expect: { reason: origin_mismatch } }
- { placement: null, key: other, expect: { reason: project_mismatch } }
- { placement: null, key: none, headers: { authorization: "Basic x" }, expect: { status: 401 } }`)
    expect(failedChecks(first)).toEqual([])
    expect(first.steps.map(({ reason }) => reason)).toEqual(Array(8).fill(null))
  })

  test('a failed check has the expected and the actual value, and its place in the suite', async () => {
    const { code, first } = await listCases(`- placement: { format: banner }
  expect:
    body:
      decision.format: clip
- { placement: null }`)
    expect(code).toBe(5)
    expect(failedChecks(first)).toMatchObject([
      { subject: 'body.decision.format', expected: 'clip', actual: 'banner', place: { line: 9, column: 30 } },
    ])
    expect(first.steps.map(({ outcome }) => outcome)).toEqual(['failed', 'not_run'])
  })

  test('a success is expected where nothing is said', async () => {
    const { first } = await listCases('- { placement: null, set: { colour: red } }')
    expect(failedChecks(first)).toMatchObject([{ subject: 'status', expected: '2xx', actual: 400 }])
    expect(failedChecks(first)[0]).toMatchObject({
      response_reason: expect.stringMatching(/^field_unknown: /),
      hint: expect.stringContaining('colour: is unknown'),
    })
  })

  test('a response off the contract fails without an expectation; contract: false accepts it', async () => {
    const fault = '- { fault: { effect: rewrite, path: /v1/placements, rewrite: { status: done } } }'
    const off = await listCases(`${fault}\n- { placement: null, expect: { body: { status: ready } } }`)
    expect(failedChecks(off.first)).toMatchObject([{ subject: 'body.status', actual: 'done' }])
    const proxy = await openProxy((body) => body.replace('"status":"ready"', '"status":"done"'))
    const env = { SVC_BASE_URL: proxy.url, ...demoKeys }
    try {
      const { first } = await listCases('- { placement: null }', '', env)
      expect(failedChecks(first)).toMatchObject([
        { subject: 'contract', expected: 'the contract of placements.create' },
      ])
      const loose = await listCases('- { placement: null, contract: false }', '', env)
      expect(loose.code).toBe(0)
    } finally {
      await proxy.close()
    }
  })

  test('a dropped connection, and one that hangs, end their step', async () => {
    const { first } = await listCases(`- { fault: { effect: drop, path: /v1/jobs } }
- { job: null, expect: { response: none } }
- { job: null, expect: { answer: none } }
- { fault: clear }
- { fault: { effect: delay, path: /v1/jobs, latency_ms: 30000 } }
- { job: null, timeout: 100ms }`)
    expect(first.steps.map(({ outcome }) => outcome)).toEqual([...Array(5).fill('passed'), 'failed'])
    expect(first.steps.at(-1)).toMatchObject({ reason: 'It took longer than 100 ms.' })
  })

  test('events that do not come, come in another order, or are of another case', { tags: 'depth' }, async () => {
    const { cases } = await listCases(`${head}cases:
  - name: a
    steps: [{ placement: null }, { frame: null }, { beacon: render, expect: { events: [beacon.accepted, frame.loaded] } }]
  - name: b
    steps: [{ placement: null }, { wait_for: frame.loaded, timeout: 400ms }]
  - name: c
    steps: [{ placement: null }, { wait_for: { type: placement.decided, data: { fill: false } }, timeout: 400ms }]
`)
    expect(outcomes(cases)).toBe('failed failed failed')
    expect(failedChecks(cases[0]!)).toMatchObject([
      { subject: 'events', expected: ['beacon.accepted', 'frame.loaded'] },
    ])
    expect(cases[1]!.steps.at(-1)!.reason).toBe('The event frame.loaded was not emitted. Seen: placement.decided.')
  })

  test('repeated until something holds, and all at once', async () => {
    const { first, cases } = await listCases(`suite: shop
title: A shop
cases:
  - name: one
    project: { rate_limits: { default: 2/min } }
    steps:
      - placement:
        repeat: { times: 9, until: { reason: rate_limited, headers: { retry-after: { $matches: "^[0-9]+$" } } } }
  - name: two
    steps:
      - { placement: { session: "{{session}}-{{index}}" }, repeat: { times: 5, at_once: true } }
`)
    expect(first.outcome).toBe('passed')
    expect(first.steps[0]!.exchanges.at(-1)!.status).toBe(429)
    const bodies = cases[1]!.steps[0]!.exchanges.map(
      (exchange) => JSON.parse(exchange.request_body!).session_id as string,
    )
    expect(bodies.map((session) => session.split('-')[1])).toEqual(['1', '2', '3', '4', '5'])
  })

  test('several steps wait for the same event at once, and each is notified', async () => {
    const text = `${head}cases:
  - name: one
    project: { decision_latency_ms: 400 }
    steps:
      - { job: null }
      - { wait_for: placement.decided, repeat: { times: 3, at_once: true } }
      - { wait_for: frame.loaded, repeat: { times: 3, at_once: true }, timeout: 300ms }
`
    const { first } = await listCases(text, '--fresh')
    expect(first.steps.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['passed', null],
      ['passed', null],
      ['failed', 'The event frame.loaded was not emitted. Seen: job.created, placement.decided.'],
    ])
  })
})

describe('shared state is restored', () => {
  test('clock, faults, scenario and settings, also when a step fails', async () => {
    const before = await cli.svc('sandbox clock show -o json')
    const { first } = await listCases(`- { scenario: no_fill }
- { fault: { path: /v1/jobs } }
- { clock: { set: 1900000000000 } }
- { clock: freeze }
- { call: projects.update, params: { client_id: "{{client_id}}" }, body: { label_text: Ad } }
- { placement: null, expect: { status: 418 } }`)
    expect(first.reason).toBeNull()
    expect(failedChecks(first)).toMatchObject([{ expected: 418, actual: 200 }])
    const faults = await cli.svc('sandbox faults list -o json')
    expect(JSON.parse(faults.stdout)).toMatchObject({ items: [] })
    const scenarios = await cli.svc('sandbox scenario list -o json')
    expect(scenarios.stdout).not.toContain('"active":true')
    expect((await cli.svc('api projects.config -o json')).stdout).toContain('"label_text":"Sponsored"')
    const { now_ms, frozen } = JSON.parse((await cli.svc('sandbox clock show -o json')).stdout)
    expect(JSON.parse(before.stdout)).toMatchObject({ now_ms, frozen })
  })

  test('a running clock runs again, at the time of the host', async () => {
    const text = `${head}cases:
  - { name: a, steps: [{ clock: freeze }, { clock: { advance: 31m } }] }
  - { name: b, steps: [{ call: clock.show, expect: { body: { offset_ms: 0, frozen: false } } }, { clock: resume }] }
`
    const { cases } = await listCases(text, '--fresh')
    expect(outcomes(cases)).toBe('passed passed')
  })

  test('keys that were made for a run are revoked', async () => {
    await listCases('- { placement: null }')
    const { stdout } = await cli.svc('sandbox keys list --limit 1000 -o json')
    const made = (JSON.parse(stdout) as { items: { revoked_at_ms: number | null }[] }).items
    expect(made.length).toBeGreaterThan(3)
    expect(made.filter(({ revoked_at_ms }) => revoked_at_ms === null)).toHaveLength(3)
  })

  test('teardown runs after a failure', async () => {
    const { first } = await listCases(`${head}cases:
  - name: one
    steps: [{ placement: null, expect: { status: 500 } }]
    teardown: [{ consent: withdrawn }]
`)
    expect(first.steps.map(({ title, outcome }) => [title, outcome])).toEqual([
      ['placement', 'failed'],
      ['consent withdrawn', 'passed'],
    ])
  })
})

describe('targets', () => {
  test('a reset is for sandboxes that the run started', async () => {
    const { code, stdout, stderr } = await cli.svc(`qa run ${suite('- { reset: null }')} -o json`)
    const [first] = (JSON.parse(stdout) as RunResult).cases
    expect(first).toMatchObject({
      outcome: 'not_applicable',
      reason: 'Line 6 (reset) needs a sandbox that may be erased: svc qa run --fresh.',
    })
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining('none of 1 case applies') })
  })

  test('a service without a control plane, and with a production key', async () => {
    const proxy = await openProxy((body) => body)
    const text = `${head}cases:
  - { name: a, steps: [{ placement: null, as: p }, { poll: p }, { beacon: render }] }
  - { name: b, steps: [{ clock: freeze }] }
  - { name: c, steps: [{ placement: { no_fill: true } }] }
  - { name: d, steps: [{ placement: null, expect: { billing: false } }] }
  - { name: e, steps: [{ activate: null }] }
`
    try {
      const env = { SVC_BASE_URL: proxy.url, ...demoKeys }
      const test = await listCases(text, '', env)
      expect(test.result.target).toMatchObject({ kind: 'service', version: null, key_mode: 'test' })
      expect(outcomes(test.cases)).toBe('passed not_applicable passed not_applicable not_applicable')
      expect(test.cases[1]!.reason).toContain('needs the control plane of a sandbox')
      const refused = await cli.svc('qa run errors', { env: { ...env, SVC_SECRET_KEY: 'sk_live_sandbox_demo' } })
      expect(refused).toMatchObject({ code: 2, stdout: '' })
      expect(refused.stderr).toContain('--allow-live')
      const live = await listCases(text, '--allow-live', { ...env, SVC_SECRET_KEY: 'sk_live_sandbox_demo' })
      expect(outcomes(live.cases)).toBe('passed not_applicable not_applicable not_applicable not_applicable')
      expect(live.cases[2]!.reason).toContain('test_outcome is never sent with a production key')
    } finally {
      await proxy.close()
    }
  })

  test('nothing to look at is exit code 7, with what to do', async () => {
    const home = temporaryDirectory()
    const nothing = await svc('qa run errors', { env: { SVC_HOME: home } })
    expect(nothing).toMatchObject({ code: 7, stdout: '' })
    expect(nothing.stderr).toContain('svc qa run --fresh')
    const dead = await svc('qa run errors', { env: { SVC_HOME: home, SVC_BASE_URL: 'http://127.0.0.1:9' } })
    expect(dead).toMatchObject({ code: 7, stdout: '' })
    expect(dead.stderr).toContain('http://127.0.0.1:9 cannot be reached')
    const noBrowser = await svc('qa run --fresh --browser-path /nowhere/chrome', { env: { SVC_HOME: home } })
    expect(noBrowser).toMatchObject({ code: 7, stdout: '' })
    expect(noBrowser.stderr).toContain('No browser found at /nowhere/chrome.')
  })

  test('--fresh needs nothing, and --seed makes the same sessions', async () => {
    const home = temporaryDirectory()
    const once = () =>
      svc(`qa run ${suite('- { placement: null }')} --fresh --seed 7 -o json`, { env: { SVC_HOME: home } })
    const sessions = [await once(), await once()].map(({ stdout }) => /\bqa_[0-9a-f]{16}\b/.exec(stdout)?.[0])
    expect(sessions[0]).toBe(sessions[1])
    expect(sessions[0]).toBeDefined()
  })
})

describe('the command line', () => {
  test('a result holds no key and no token, and a command that repeats the step', async () => {
    const { result, first } = await listCases(
      '- { placement: { format: banner } }\n- { beacon: render, expect: { status: 418 } }\n- { activate: null }',
    )
    const text = JSON.stringify(result)
    expect(text).not.toMatch(/[sp]k_(test|live)_(?!redacted)[a-z0-9]/)
    expect(text).not.toMatch(/(ast|at|bt)_[0-9a-z]{11}_(?!redacted)/)
    const { curl } = first.steps[1]!.exchanges[0]!
    expect(curl).toContain(`-H 'authorization: Bearer '"$SVC_SECRET_KEY"''`)
    expect(curl).toContain(`"asset_token":"'"$ASSET_TOKEN"'"`)
  })

  test('the command of a failure on a fresh sandbox starts one, and repeats what led to it', {
    tags: 'depth',
  }, async () => {
    const text = `${head}cases:
  - { name: a, steps: [{ placement: null, unset: [session_id], expect: { status: 200 } }] }
  - name: b
    steps:
      - { placement: { format: banner }, as: p }
      - { poll: p }
      - { frame: null }
      - { beacon: render }
      - { call: placements.explain, params: { slot_id: "{{p.body.slot_id}}" }, expect: { body: { beacons: [] } } }
  - { name: c, project: { billing_model: cpc }, steps: [{ config: null, key: secret, expect: { status: 418 } }] }
  - { name: d, project: proj_strict, steps: [{ placement: null, expect: { status: 418 } }] }
  - { name: e, steps: [{ activate: null }, { config: null, key: activation, expect: { status: 418 } }] }
`
    const realTime = { now: () => Date.now() }
    const { stdout } = await cli.svc(`qa run ${suite(text)} --fresh -o json`, { system: realTime })
    const { cases } = JSON.parse(stdout) as RunResult
    const outputs: string[] = []
    for (const { steps } of cases) {
      const { curl } = steps.at(-1)!.exchanges.at(-1)!
      const [, script] = /^svc exec -q -- sh <<'EOF'\n(.+)\nEOF$/s.exec(curl) ?? []
      expect(script, curl).toBeDefined()
      writeFileSync(join(cli.home, 'failure.sh'), `{\n${script}\n} > output.json`)
      const env = { SVC_HOME: temporaryDirectory(), PATH: process.env.PATH! }
      await svc('exec -q -- sh failure.sh', { env, cwd: cli.home })
      outputs.push(readFileSync(join(cli.home, 'output.json'), 'utf8'))
    }
    const [a, b, c, d, e] = outputs.map((text) => JSON.parse(text))
    expect(a).toMatchObject({ reason_code: 'schema_invalid', fields: [{ path: 'session_id' }] })
    expect(b.beacons).toMatchObject([{ event: 'render', reason_code: 'OK' }])
    expect(c.client_id).toMatch(/^proj_qa_/)
    expect(d.status).toBe('ready')
    expect(e.client_id).toBe('proj_demo')
  })

  test('--bail skips the rest, -o json has each case', async () => {
    const text = `${head}cases:
${['a', 'b', 'c'].map((name) => `  - { name: ${name}, steps: [{ placement: null, expect: { status: 418 } }] }`).join('\n')}
`
    const { code, cases } = await listCases(text, '--bail --workers 1')
    expect(outcomes(cases)).toBe('failed not_run not_run')
    expect(cases[1]!.reason).toBe('The run ended after 1 failed (--bail).')
    expect(code).toBe(5)
  })

  test('--last-failed runs what failed in the last run of the directory, until nothing does', async () => {
    const cwd = join(cli.home, 'last')
    mkdirSync(cwd, { recursive: true })
    expect(await cli.svc('qa run --last-failed', { cwd })).toMatchObject({ code: 2, stdout: '' })
    const write = (statuses: readonly number[]) => {
      const steps = statuses.map(
        (status, n) => `  - { name: n${n}, steps: [{ placement: null, expect: { status: ${status} } }] }`,
      )
      writeFileSync(join(cwd, 'shop.yaml'), `${head}cases:\n${steps.join('\n')}\n`)
    }
    const listNames = async (args: string) => {
      const { code, stdout } = await cli.svc(`qa run ${args} -o json`, { cwd })
      return [code, (JSON.parse(stdout) as RunResult).cases.map(({ name, outcome }) => `${name} ${outcome}`).join(', ')]
    }
    write([200, 418, 418, 200])
    expect(await listNames('shop.yaml')).toEqual([5, 'n0 passed, n1 failed, n2 failed, n3 passed'])
    expect(await listNames('--last-failed --bail --workers 1')).toEqual([5, 'n1 failed, n2 not_run'])
    write([200, 200, 418, 200])
    expect(await listNames('shop.yaml --last-failed')).toEqual([5, 'n1 passed, n2 failed'])
    write([200, 200, 200, 418])
    expect(await listNames('--last-failed')).toEqual([0, 'n2 passed'])
    expect(await listNames('--last-failed')).toEqual([5, ''])
    expect((await cli.svc('qa run --last-failed', { cwd })).stderr).toContain(
      `Nothing ran: no case failed in the last run in ${cwd}.\n`,
    )
  })

  test('--watch needs a file to watch', async () => {
    const { code, stdout, stderr } = await cli.svc('qa run errors --watch')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('--watch needs a suite file')
  })

  test('several reporters, files among them', async () => {
    const junit = join(cli.home, 'qa.xml')
    const file = suite('- { placement: null }')
    const { code, stdout, stderr } = await cli.svc(`qa run ${file} --reporter list --reporter junit=${junit}`)
    expect(code).toBe(0)
    expect(stdout).toContain('✓ shop')
    expect(stderr).toContain('junit report')
    expect(readFileSync(junit, 'utf8')).toContain('<testsuite')
    expect(await cli.svc(`qa run ${file} --reporter lst`)).toMatchObject({ code: 2, stdout: '' })
    const unwritable = await cli.svc(`qa run ${file} --reporter list --reporter html=/dev/null/qa.html`)
    expect(unwritable.code).toBe(2)
    expect(unwritable.stdout).toContain('✓ shop')
    expect(unwritable.stderr).toContain('Cannot write the html report to /dev/null/qa.html')
  })

  test('bad suites are exit code 2, every problem of every file at once', async () => {
    const first = suite('- { placemnt: null }')
    const second = suite('- { placement: null, expct: {} }')
    const { code, stderr, stdout } = await cli.svc(`qa run ${first} ${second} nowhere`)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`${first}:6:9: placemnt is not an action. Did you mean placement?`)
    expect(stderr).toContain(`${second}:6:28: Unknown field expct. Did you mean expect?`)
    expect(stderr).toContain('There is no built-in suite named nowhere.')
    expect((await cli.svc(`qa validate ${first}`)).code).toBe(2)
    const one = 'suite: one\ntitle: One\ncases: [{ name: a, steps: [{ placement: null }] }]\n'
    writeFileSync(join(cli.home, 'one.yaml'), one)
    expect((await cli.svc('qa validate one.yaml')).stdout).toMatch(/one\.yaml: valid, 1 case\n$/)
    expect((await cli.svc('qa validate errors')).stdout).toMatch(/^builtin:errors: valid, \d+ cases\n$/)
  })

  test('a suite that show has printed names a schema that is there, in a project with the package and without', async () => {
    const cwd = join(cli.home, 'project')
    mkdirSync(join(cwd, 'node_modules/svc-sandbox/fixtures'), { recursive: true })
    const readSchema = async () => {
      const { stdout } = await cli.svc('qa show errors', { cwd })
      writeFileSync(join(cwd, 'mine.yaml'), stdout)
      expect(await cli.svc('qa validate mine.yaml', { cwd })).toMatchObject({ code: 0 })
      return /^# yaml-language-server: \$schema=(.+)\n/.exec(stdout)![1]!
    }
    const published = await cli.svc('qa validate --schema')
    expect(JSON.parse(published.stdout)).toMatchObject({
      $id: 'urn:svc:qa-suite:v1',
      required: ['suite', 'title', 'cases'],
    })
    expect(JSON.parse(readFileSync(new URL(await readSchema()), 'utf8'))).toEqual(JSON.parse(published.stdout))
    writeFileSync(join(cwd, 'node_modules/svc-sandbox/fixtures/svc.qa.schema.json'), published.stdout)
    expect(await readSchema()).toBe('./node_modules/svc-sandbox/fixtures/svc.qa.schema.json')
    for (const args of ['', '--schema errors']) {
      expect(await cli.svc(`qa validate ${args}`)).toMatchObject({ code: 2, stdout: '' })
    }
  })

  test('list, show and what fits nothing', async () => {
    expect((await cli.svc('qa list')).stdout).toMatch(/^suite +cases +title +tags\n/)
    const { items } = JSON.parse((await cli.svc('qa list formats -o json')).stdout) as {
      items: { cases: { id: string }[] }[]
    }
    expect(items[0]!.cases.map(({ id }) => id)).toContain('formats/a clip fills for chat')
    const shown = await cli.svc("qa show 'formats/a {{format}} fills for {{job_type}}'")
    expect(shown.stdout).toMatch(/^ {2}- name: "?a \{\{format\}\} fills for \{\{job_type\}\}"?\n/)
    expect(await cli.svc('qa run errors --grep nothing-like-it')).toMatchObject({ code: 2, stdout: '' })
    for (const bad of ['--shard 5/4', '--grep (', '--repeat 0']) {
      expect((await cli.svc(`qa run errors ${bad}`)).code).toBe(2)
    }
  })
})

const demoKeys = {
  SVC_CLIENT_ID: 'proj_demo',
  SVC_SECRET_KEY: 'sk_test_sandbox_demo',
  SVC_ORIGIN: 'http://localhost:3000',
}

function outcomes(cases: readonly CaseResult[]): string {
  return cases.map(({ outcome }) => outcome).join(' ')
}

/** The v1 API of the cli's sandbox without its control plane; `change` alters the bodies of responses. */
async function openProxy(change: (body: string) => string): Promise<{ url: string; close(): Promise<void> }> {
  const forward: RequestListener = (incoming, outgoing) => {
    if (incoming.url!.startsWith('/_sandbox')) {
      outgoing.writeHead(404).end()
      return
    }
    const { host: _, ...headers } = incoming.headers
    const onward = request(cli.sandbox.url + incoming.url, { method: incoming.method!, headers }, async (response) => {
      const pieces: Buffer[] = []
      for await (const piece of response) pieces.push(piece as Buffer)
      const { 'content-length': __, ...kept } = response.headers
      outgoing.writeHead(response.statusCode!, kept).end(change(Buffer.concat(pieces).toString()))
    })
    incoming.pipe(onward)
  }
  const server = createServer(forward)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
