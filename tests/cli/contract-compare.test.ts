/** `svc contract compare`: what a service says differently is found once, with its provenance; ordinary turns find nothing. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CountedDifference } from '#qa/contract-compare/findings.ts'
import { startSandbox } from '#sandbox/index.ts'
import { type BrokenProxy, type Passing, startProxy } from './broken-proxy.ts'
import { startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

let recorded: TestCli
let other: TestCli
let proxy: BrokenProxy
const folder = temporaryDirectory()
beforeAll(async () => {
  recorded = await startTestCli()
  other = await startTestCli()
  proxy = await startProxy(other.sandbox.url)
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  await recorded[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await other.svc('sandbox clock advance 1m')
  proxy.alter = () => {}
  proxy.failures = []
})

const keys = '--client-id proj_demo --secret-key sk_test_sandbox_demo --publishable-key pk_test_sandbox_demo'

/** A turn of a server integration: a placement; of some also the poll, the frame, beacons, the config and a refusal. */
async function takeTurn(base_url: string, number: number): Promise<void> {
  const send = (path: string, body?: object) =>
    fetch(base_url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const format = ['banner', 'clip', 'native'][number % 3]!
  const about = { client_id: 'proj_demo', session_id: `turn-${number}`, job_type: 'chat' }
  const prompt = { topic: ['coffee', 'shoes', 'travel', 'nothing of ours'][number % 4]!, text: 'Which one?' }
  const response = await send('/v1/placements', { ...about, prompt, overrides: { allowed_formats: [format] } })
  const placed = (await response.json()) as { slot_id: string; placement: { asset_token: string } | null }
  if (number % 10 !== 0) return
  await send(`/v1/decisions/${placed.slot_id}`)
  await send('/v1/projects/proj_demo/config')
  await send('/v1/placements', { ...about, slots_requested: 9 })
  const { asset_token } = placed.placement!
  await fetch(`${base_url}/v1/render/${asset_token}`)
  const occurred_at_ms = Date.parse(response.headers.get('date') ?? '')
  for (const event of ['render', 'visible']) {
    await send('/v1/beacons', { beacon_id: `beacon-${number}-${event}`, asset_token, event, occurred_at_ms })
  }
}

async function recordTurns(name: string, count: number): Promise<string> {
  await recorded.svc('sandbox reset --yes')
  for (let number = 0; number < count; number++) {
    // The clock stands still otherwise, and with it the rate limit.
    if (number % 100 === 0) await recorded.svc('sandbox clock advance 1m')
    await takeTurn(recorded.sandbox.url, number)
  }
  const file = join(folder, name)
  const { code, stderr } = await recorded.svc(`requests export ${file} --force`)
  expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote')])
  return file
}

async function findings(
  args: string,
): Promise<{ code: number; findings: CountedDifference[]; stderr: string; report: Report }> {
  // The other sandbox has the clock of this computer.
  const { code, stdout, stderr } = await recorded.svc(`contract compare ${args} -o json`, { system: { now: Date.now } })
  expect(proxy.failures).toEqual([])
  const report = JSON.parse(stdout) as Report
  return { code, findings: report.findings, stderr, report }
}

interface Report {
  ok: boolean
  compared: number
  findings: CountedDifference[]
  outcomes: { service: string; other: string; count: number }[]
  not_compared: { why: string; count: number }[]
  left_out: { file: string; why: string; count: number }[]
}

/** Alters three fields, one of each provenance, and a status. */
function alterFour(passing: Passing): void {
  const { path, json } = passing
  if (path.startsWith('/v1/placements') && json?.placement != null) {
    Object.assign(json.placement, { width: 'wide' })
    Object.assign((json.decision as { constraints: object }).constraints, { max_render_delay_ms: 1 })
  }
  if (json?.disclosure !== undefined) Object.assign(json.disclosure as object, { label_text: 'Ad' })
  if (/^slots_requested_out_of_range$|^formats_empty$/.test(String(json?.reason_code))) passing.status = 422
}

// Each format with each topic, and of each some with everything around them.
test('ordinary turns have no difference', async () => {
  const file = await recordTurns('turns.har', 60)
  const { code, report, stderr } = await findings(file)
  expect(report).toMatchObject({
    ok: true,
    compared: 96,
    findings: [],
    outcomes: [],
    not_compared: [],
    left_out: [],
  })
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('turns.har with the sandbox: 96 exchanges compared, no difference.'),
  ])
})

test('three altered fields and an altered status are four findings with their provenance', async () => {
  const file = await recordTurns('few.har', 21)
  proxy.alter = alterFour
  const { code, findings: found } = await findings(`${file} --with ${proxy.url} ${keys}`)
  expect(code).toBe(5)
  expect(found).toMatchObject([
    { weight: 'documented', what: 'response placement.width', breaks: 'other', expected: 'wide', count: 21 },
    { weight: 'documented', what: 'status', breaks: 'other', expected: '422 slots_requested_out_of_range', count: 3 },
    { weight: 'observed', what: 'response decision.constraints.max_render_delay_ms', breaks: 'neither', expected: '1' },
    { weight: 'assumed', endpoint: 'projects.config', what: 'response disclosure.label_text', expected: 'Ad' },
  ])
})

test('a sandbox with the overrides of a comparison does not differ from the service any more', async () => {
  proxy.alter = (passing) => {
    alterFour(passing)
    if (passing.path.startsWith('/v1/placements') && passing.status < 300)
      Object.assign(passing.json!, { trace: 'kept' })
  }
  const file = join(folder, 'svc.overrides.json')
  const service = `${proxy.url} ${keys} --origin http://localhost:3000`
  const first = await findings(`${service} --write-overrides ${file}`)
  expect(first.findings.map(({ weight, what, breaks }) => `${weight} ${what} ${breaks}`)).toEqual([
    'documented response placement.width service',
    'documented status service',
    'observed response decision.constraints.max_render_delay_ms neither',
    'assumed response disclosure.label_text neither',
    'addition response trace service',
  ])
  expect(first.stderr).toContain(`svc.overrides.json, 5 rules. Review it, then: svc start --overrides ${file}\n`)
  const { source, ...written } = JSON.parse(readFileSync(file, 'utf8'))
  expect(source).toBe(proxy.url)
  expect(written).toMatchInlineSnapshot(`
    {
      "$schema": "./node_modules/svc-sandbox/fixtures/svc.overrides.schema.json",
      "overrides": [
        {
          "endpoint": "placements.create",
          "path": "placement.width",
          "provenance": "documented",
          "sandbox": 300,
          "seen": 7,
          "value": "wide",
        },
        {
          "endpoint": "placements.create",
          "provenance": "documented",
          "sandbox": 400,
          "seen": 1,
          "status": 422,
          "when": {
            "reason_code": "formats_empty",
          },
        },
        {
          "endpoint": "placements.create",
          "path": "decision.constraints.max_render_delay_ms",
          "provenance": "observed",
          "sandbox": 300000,
          "seen": 7,
          "value": 1,
        },
        {
          "endpoint": "projects.config",
          "path": "disclosure.label_text",
          "provenance": "assumed",
          "sandbox": "Sponsored",
          "seen": 1,
          "value": "Ad",
        },
        {
          "endpoint": "placements.create",
          "path": "trace",
          "provenance": "addition",
          "seen": 8,
          "value": "kept",
        },
      ],
    }
  `)
  const { code, findings: found, report } = await findings(`${service} --overrides ${file}`)
  expect([code, found, report.compared]).toEqual([0, [], 45])
})

describe('recordings of other programs', () => {
  const recording = (name: string) => join(import.meta.dirname, 'recordings', name)
  const compare = async (args: string) => {
    const { code, stdout, stderr } = await recorded.svc(`contract compare ${args}`)
    expect(stderr).not.toContain('sk_test')
    return { code, lines: stdout.split('\n').map((line) => line.trimEnd()) }
  }

  test('a browser that leaves credentials out: what it lacks is the own, what is left out is counted', async () => {
    const { code, lines } = await compare(recording('chrome.har'))
    expect(code).toBe(0)
    expect(lines).toEqual([
      'endpoint           result  compared  findings',
      'render.script      ok             1         0',
      'browser.activate   ok             1         0',
      'placements.create  ok             1         0',
      'render.frame       ok             1         0',
      'beacons.send       ok             2         0',
      '',
      'Not compared',
      '  1 × a file of the service',
      '',
      'Left out',
      '  4 × not of this API (chrome.har)',
      '  1 × without a response (chrome.har)',
      '',
    ])
  })

  test('a browser with preflights, and two browsers with each other', async () => {
    expect((await compare(recording('firefox.har'))).lines).toContain('  4 × a preflight of a browser (firefox.har)')
    const { code, lines } = await compare(`${recording('chrome.har')} --with ${recording('firefox.har')}`)
    expect(code).toBe(0)
    expect(lines).toContain('beacons.send       ok             2         0')
  })

  test('a proxy before a service below a path: also what the service refused, as Markdown', async () => {
    const altered = readFileSync(recording('proxy.har'), 'utf8').replaceAll(
      '\\"label_text\\":\\"Sponsored\\"',
      '\\"label_text\\":\\"Ad|*\\"',
    )
    const file = join(folder, 'proxy.har')
    writeFileSync(file, altered)
    const { code, lines } = await compare(`${file} -o markdown`)
    expect(code).toBe(5)
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "## proxy.har compared with the sandbox

      8 exchanges compared, 3 differences.

      ### Differs from what is documented

      | Endpoint | What | Difference | Times | First |
      | --- | --- | --- | --- | --- |
      | \`placements.create\` | \`response placement.render.label_text\` | is Ad\\|\\*; the sandbox says Sponsored. The service breaks its document | 1 | entry 4, req\\_0000000000y |

      ### Differs from what is assumed here: the service decides

      | Endpoint | What | Difference | Times | First |
      | --- | --- | --- | --- | --- |
      | \`projects.config\` | \`response disclosure.label_text\` | is Ad\\|\\*; the sandbox says Sponsored | 1 | entry 2, req\\_0000000000v |
      | \`decisions.get\` | \`response placement.render.label_text\` | is Ad\\|\\*; the sandbox says Sponsored | 1 | entry 5, req\\_00000000011 |

      ### Not in these counts

      - 3 × left out of proxy.har: not of this API

      "
    `)
  })

  test('what is no recording, empty, or a file of something else is an error', async () => {
    const file = join(folder, 'none.har')
    writeFileSync(file, '{"log":{}}')
    const { code, stderr } = await recorded.svc(`contract compare ${file}`)
    expect([code, stderr]).toEqual([2, expect.stringContaining('none.har is not a HAR file: it has no log.entries.')])
    writeFileSync(file, '{"log":{"entries":[]}}')
    const empty = await recorded.svc(`contract compare ${file}`)
    expect([empty.code, empty.stderr]).toEqual([5, expect.stringContaining('Nothing of none.har was compared.')])
    const whole = readFileSync(join(import.meta.dirname, 'recordings/proxy.har'), 'utf8')
    const { log } = JSON.parse(whole) as { log: { entries: { response: { content: { text?: string } } }[] } }
    for (const { response } of log.entries) delete response.content.text
    writeFileSync(file, JSON.stringify({ log }))
    const lacking = await recorded.svc(`contract compare ${file}`)
    expect([lacking.code, lacking.stderr]).toEqual([
      5,
      expect.stringContaining('No response of none.har was compared: '),
    ])
  })
})

test('a service that is not there is exit code 7; a production key is refused, and no key is printed', async () => {
  const file = join(import.meta.dirname, 'recordings/proxy.har')
  const gone = await recorded.svc(`contract compare ${file} --with http://127.0.0.1:9 ${keys}`)
  expect([gone.code, gone.stderr]).toEqual([7, expect.stringContaining('No response comes from http://127.0.0.1:9.')])
  const named = await recorded.svc(`contract compare ${file} --base-url http://127.0.0.1:9 ${keys}`)
  expect([named.code, named.stderr]).toEqual([gone.code, gone.stderr])
  const both = await recorded.svc(`contract compare ${file} --base-url http://127.0.0.1:9 --with ${proxy.url} ${keys}`)
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('both name the other side')])
  const live = await recorded.svc(`contract compare ${file} --with ${proxy.url} ${keys.replace('sk_test', 'sk_live')}`)
  expect([live.code, live.stderr]).toEqual([4, expect.stringContaining('This is a production key.')])
  expect(gone.stdout + gone.stderr + live.stdout + live.stderr).not.toMatch(/[sp]k_(?:test|live)_sandbox/)
})

describe('svc start --overrides', () => {
  test('says so in the start and in the status, and refuses a file that is wrong, with the place', async () => {
    const rule = { endpoint: 'placements.create', path: 'decision.constraints.max_render_delay_ms', value: 7 }
    await using sandbox = await startSandbox({ overrides: { overrides: [rule] } })
    expect(sandbox.warnings).toEqual(['responses are changed by overrides: 1 rule'])
    const wrong = (overrides: unknown) => startSandbox({ overrides }).catch((error: Error) => error.message)
    expect(await wrong({ overrides: [{ ...rule, endpoint: 'placement' }] })).toContain(
      'overrides[0].endpoint must be one of',
    )
    expect(await wrong({ overrides: [{ endpoint: rule.endpoint, path: 'x' }] })).toContain(
      'overrides[0] must have path and',
    )
    expect(await wrong({ overrides: [{ ...rule, path: 'a..b' }] })).toContain('must be a dotted path')
    expect(await wrong([])).toContain('it must be an object')
  })
})
