/** `svc contract check`: clean against the sandbox, and each way in which a service can differ is found. */

import stringWidth from 'string-width'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { check as checkCommand } from '#commands/contract/check.ts'
import { type ServiceDifference as Difference, reportLines, type ServiceReport } from '#qa/contract-check/report.ts'
import { plainStyle } from '#text/terminal.ts'
import { type BrokenProxy, type Passing, startProxy } from './broken-proxy.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
let proxy: BrokenProxy
beforeAll(async () => {
  cli = await startTestCli()
  proxy = await startProxy(cli.sandbox.url)
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})
beforeEach(async () => {
  // The clock stands still otherwise, and with it the rate limit of activations.
  await cli.svc('sandbox clock advance 1m')
  proxy.alter = () => {}
  proxy.count = 0
  proxy.failures = []
})
afterEach(() => {
  expect(proxy.failures).toEqual([])
})

const keys =
  '--client-id proj_demo --secret-key sk_test_sandbox_demo --publishable-key pk_test_sandbox_demo --origin http://localhost:3000'
const check = (flags = keys) => cli.svc(`contract check ${proxy.url} ${flags}`)

/** Checks an altered service. Resolves to the differences found, and to the exit code. */
async function foundIn(alter: Alter<Passing>) {
  proxy.alter = alter
  const { code, stdout } = await check(`${keys} -o json`)
  const report = JSON.parse(stdout) as { ok: boolean; differences: Difference[] }
  expect(report.ok).toBe(code === 0)
  return { code, differences: report.differences }
}

type Alter<Altered> = (altered: Altered) => unknown
type Row<Altered> = [name: string, alter: Alter<Altered>, expected: Partial<Difference>]

const isSame: (all: Alter<Passing>) => Alter<Passing> = (all) => all

/** Tests that each alteration is found. Those of a list hide nothing of each other, and are made in one check. */
function testEach<Altered>(
  rows: readonly Row<Altered>[],
  alter: (all: Alter<Altered>) => Alter<Passing>,
  code: number,
): void {
  let found: ReturnType<typeof foundIn> | undefined
  test.each(rows)('%s', async (_, __, expected) => {
    found ??= foundIn(
      alter((altered) => {
        for (const [, change] of rows) change(altered)
      }),
    )
    const { differences, code: actual } = await found
    expect(differences).toContainEqual(expect.objectContaining(expected))
    expect(actual).toBe(code)
  })
}

test('our own sandbox is as documented, and every endpoint is looked at', async () => {
  const { code, stdout, stderr } = await cli.svc('contract check')
  expect(code).toBe(0)
  expect(stderr).toContain(`${cli.sandbox.url} matches the documentation in everything that was checked.\n`)
  expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
    'endpoint           result  requests  documented  observed  assumed',
    'placements.create  ok            13  44/44       22/29     3/3',
    'jobs.create        ok             6  4/4         5/7       -',
    'decisions.get      ok             3  -           -         64/76',
    'browser.activate   ok             5  6/6         -         -',
    'beacons.send       ok             8  -           5/5       2/2',
    'consent.set        ok             2  8/8         3/3       1/1',
    'projects.config    ok             2  -           4/4       35/35',
    'render.script      ok             1  -           -         -',
    'render.frame       ok             1  -           -         -',
    '',
    'Not checked',
    '  placements.create, 429 rate_limited: meeting a rate limit would disturb others',
    '',
    `OpenAPI document compared: ${cli.sandbox.url}/_sandbox/openapi.json`,
    '',
  ])
})

test('its table fits terminals of 80, 100 and 200 columns', { tags: 'depth' }, async () => {
  proxy.alter = (passing) => {
    if (isFill(passing))
      Object.assign(passing.json!.placement, { width: 'three hundred pixels, as a text that goes on' })
  }
  const { stdout } = await check(`${keys} -o json`)
  const report = JSON.parse(stdout) as ServiceReport
  const [columns = []] = checkCommand.tables ?? []
  const shown = [80, 100, 200].map((width) => reportLines(report, columns, { ...plainStyle, columns: width }))
  for (const [index, width] of [80, 100, 200].entries()) {
    expect(shown[index]?.filter((line) => stringWidth(line) > width)).toEqual([])
    expect([width, shown[index]?.slice(0, 3).map((line) => line.trimEnd())]).toEqual([
      width,
      [
        'endpoint           result   requests  documented  observed  assumed',
        'placements.create  differs        13  43/44       22/29     3/3',
        'jobs.create        ok              6  4/4         5/7       -',
      ],
    ])
  }
})

test('its requests are a suite, which can be shown and run by name', { tags: 'depth' }, async () => {
  expect((await cli.svc('qa show contract-check')).stdout).toMatch(/^suite: contract-check$/m)
  const { code, stdout } = await cli.svc('qa run contract-check --fresh -o json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout).totals).toMatchObject({ cases: 41, passed: 41 })
  expect((await cli.svc('qa list')).stdout).not.toContain('contract-check')
})

test('so it is behind a proxy, with every difference in JSON', { tags: 'depth' }, async () => {
  const document = `--openapi ${cli.sandbox.url}/_sandbox/openapi.json`
  const { code, stdout } = await cli.svc(`contract check ${proxy.url} ${keys} ${document} -o json`)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, base_url: proxy.url, mode: 'test', differences: [] })
})

const isFill = ({ path, json }: Passing) =>
  path.startsWith('/v1/placements') && json !== null && json.placement !== null && 'placement' in json

describe('what is documented', () => {
  const first: Row<Passing>[] = [
    [
      'a field is gone',
      (passing) => isFill(passing) && delete (passing.json!.placement as { sponsor_name?: string }).sponsor_name,
      { endpoint: 'placements.create', what: 'response placement.sponsor_name', observed: 'missing' },
    ],
    [
      'a field has another type',
      (passing) => isFill(passing) && Object.assign(passing.json!.placement, { width: '300' }),
      { what: 'response placement.width', expected: 'a number', observed: '300' },
    ],
    [
      'another format fills',
      (passing) => isFill(passing) && Object.assign(passing.json!.decision, { format: 'banner' }),
      { check: 'a native', what: 'response decision.format', expected: 'native', observed: 'banner' },
    ],
    [
      'test_outcome is not heeded',
      (passing) => passing.sent?.test_outcome === 'no_fill' && Object.assign(passing.json!.decision, { fill: true }),
      { check: 'test_outcome no_fill', what: 'response decision.fill' },
    ],
    [
      'errors have another envelope',
      ({ status, json }) => status === 400 && json !== null && Object.assign(json, { error: { code: json.error } }),
      { what: 'error.error' },
    ],
    [
      'a missing key is 403',
      (passing) => passing.status === 401 && Object.assign(passing, { status: 403 }),
      { check: 'no credential', what: 'status', expected: '401', observed: '403' },
    ],
    [
      'any content type is taken',
      (passing) => passing.status === 415 && Object.assign(passing, { status: 200 }),
      { check: 'text/plain', what: 'status', expected: '415', observed: '200' },
    ],
    [
      'the poll path is another',
      ({ path, json }) =>
        path === '/v1/jobs' && json !== null && Object.assign(json, { poll_path_template: '/poll/{slot_id}' }),
      { what: 'response poll_path_template' },
    ],
    [
      'a stale beacon is taken',
      (passing) => passing.json?.reason_code === 'beacon_stale' && Object.assign(passing, { status: 200 }),
      { endpoint: 'beacons.send', check: 'a stale beacon', what: 'status' },
    ],
    [
      'test traffic is billed',
      ({ json }) => json !== null && 'billable' in json && Object.assign(json, { billable: true }),
      { what: 'response billable', observed: 'true' },
    ],
    [
      'any origin activates',
      (passing) => passing.json?.reason_code === 'origin_not_allowed' && Object.assign(passing, { status: 200 }),
      { endpoint: 'browser.activate', check: 'a foreign origin' },
    ],
    [
      'a token is over before it begins',
      ({ json }) => json !== null && 'activation_token' in json && Object.assign(json, { expires_at_ms: 5 }),
      { what: 'response expires_at_ms', observed: 'past' },
    ],
    [
      'the config holds a secret key',
      ({ path, json }) => path.endsWith('/config') && json !== null && Object.assign(json, { note: 'sk_live_oh_no' }),
      { what: 'body', observed: 'a secret key' },
    ],
    [
      'a proxy responds with HTML',
      (passing) =>
        passing.path === '/v1/consent' &&
        Object.assign(passing, { status: 502, text: '<h1>Bad gateway</h1>', json: null }),
      { endpoint: 'consent.set', what: 'status', observed: '502 <h1>Bad gateway</h1>' },
    ],
    [
      'the script is no script',
      ({ path, headers }) => path === '/v1/render.js' && Object.assign(headers, { 'content-type': 'text/plain' }),
      { endpoint: 'render.script', what: 'header content-type' },
    ],
    [
      'the frame is gone',
      (passing) => passing.path.startsWith('/v1/render/') && Object.assign(passing, { status: 404 }),
      { endpoint: 'render.frame', what: 'status' },
    ],
  ]
  const documented = (rows: Row<Passing>[]): Row<Passing>[] =>
    rows.map(([name, alter, expected]) => [name, alter, { ...expected, weight: 'documented' }])
  testEach(documented(first), isSame, 5)
  // What the others above would hide.
  testEach(
    documented([
      [
        'a clip has no video',
        (passing) => isFill(passing) && Object.assign(passing.json!.placement, { video_url: null }),
        { check: 'a clip', what: 'response decision.delivery_url' },
      ],
      [
        'JSON is called text',
        ({ path, headers }) => path.startsWith('/v1/jobs') && Object.assign(headers, { 'content-type': 'text/plain' }),
        { endpoint: 'jobs.create', what: 'header content-type' },
      ],
    ]),
    isSame,
    5,
  )

  test('429 without Retry-After, met on the way', { tags: 'depth' }, async () => {
    let limited = false
    const { code, differences } = await foundIn((passing) => {
      if (limited || passing.path !== '/v1/jobs') return
      limited = true
      Object.assign(passing, { status: 429, json: { ...passing.json, error: 'rate_limited' } })
    })
    expect(differences).toContainEqual(
      expect.objectContaining({ check: 'over the rate limit', what: 'header retry-after' }),
    )
    expect(code).toBe(5)
  })
})

describe('what is not documented is listed, and is no failure', { tags: 'depth' }, () => {
  const rows: Row<Passing>[] = [
    [
      'observed: the request id',
      ({ headers }) => delete headers['x-request-id'],
      { weight: 'observed', what: 'header x-request-id' },
    ],
    [
      'observed: the price',
      (passing) => isFill(passing) && delete (passing.json!.decision as { revenue_estimate?: object }).revenue_estimate,
      { weight: 'observed', what: 'response decision.revenue_estimate' },
    ],
    [
      'assumed: the precise cause',
      ({ json, status }) => status >= 400 && json !== null && Object.assign(json, { reason_code: 'other' }),
      { weight: 'assumed', what: 'error.reason_code' },
    ],
    [
      'assumed: 201 of a job',
      (passing) => passing.status === 201 && Object.assign(passing, { status: 200 }),
      { weight: 'assumed', what: 'status', expected: '201' },
    ],
    [
      'assumed: a status that no document closes',
      (passing) => isFill(passing) && Object.assign(passing.json!, { status: 'cached' }),
      { weight: 'assumed', what: 'response status', observed: 'cached' },
    ],
    [
      'an addition',
      (passing) => isFill(passing) && Object.assign(passing.json!.placement, { colour: 'red' }),
      { weight: 'addition', what: 'response placement.colour', observed: 'red' },
    ],
  ]
  testEach(rows, isSame, 0)
})

describe('the OpenAPI document', () => {
  interface Document {
    paths: Record<string, Record<string, { parameters?: { name: string }[]; responses: Record<string, unknown> }>>
    components: {
      schemas: Record<string, { properties: Record<string, Record<string, unknown>>; required?: string[] }>
    }
  }
  const inDocument = (change: Alter<Document>) => (passing: Passing) => {
    if (passing.path === '/_sandbox/openapi.json') change(passing.json as unknown as Document)
  }

  const documented: Row<Document>[] = [
    [
      'an operation is gone',
      ({ paths }) => delete paths['/v1/jobs'],
      { endpoint: 'jobs.create', what: 'POST /v1/jobs', observed: 'missing' },
    ],
    [
      'a field of a response is gone',
      ({ components }) => delete components.schemas.Placement!.properties.sponsor_name,
      { what: 'response placement.sponsor_name', weight: 'documented' },
    ],
    [
      'a field has another type',
      ({ components }) => Object.assign(components.schemas.Placement!.properties.width!, { type: 'string' }),
      { what: 'response placement.width', expected: 'integer', observed: 'string' },
    ],
    [
      'a value is not allowed',
      ({ components }) => Object.assign(components.schemas.JobType!, { enum: ['chat', 'code'] }),
      { what: 'body job_type', expected: 'the value agent, image, voice' },
    ],
    [
      'more is demanded',
      ({ components }) => components.schemas.PlacementRequest!.required!.push('prompt'),
      { what: 'body prompt', observed: 'required' },
    ],
    [
      'less is promised',
      ({ components }) => Object.assign(components.schemas.Placement!, { required: [] }),
      { what: 'response placement.width', observed: 'not required' },
    ],
    [
      'a field beside alternatives is gone',
      ({ components }) => delete components.schemas.BeaconRequest!.properties.beacon_id,
      { endpoint: 'beacons.send', what: 'body beacon_id', observed: 'missing' },
    ],
    [
      'a query parameter is gone',
      ({ paths }) => Object.assign(paths['/v1/placements']!.post!, { parameters: [] }),
      { what: 'query wait_ms', weight: 'documented' },
    ],
  ]
  const undocumented: Row<Document>[] = [
    [
      'a field is new',
      ({ components }) => Object.assign(components.schemas.Placement!.properties, { colour: { type: 'string' } }),
      { what: 'response placement.colour', weight: 'addition' },
    ],
    [
      'a status is not described',
      ({ paths }) => delete paths['/v1/beacons']!.post!.responses['413'],
      { what: 'status 413', weight: 'assumed' },
    ],
  ]
  const inOpenapi = ([name, alter, expected]: Row<Document>): Row<Document> => [
    name,
    alter,
    { check: 'openapi', ...expected },
  ]
  testEach(documented.map(inOpenapi), inDocument, 5)
  testEach(undocumented.map(inOpenapi), inDocument, 0)

  test('a service that publishes none is checked without; one that is named must be there', {
    tags: 'depth',
  }, async () => {
    proxy.alter = (passing) => passing.path.startsWith('/_sandbox/') && Object.assign(passing, { status: 404 })
    const { code, stdout } = await check()
    expect(code).toBe(0)
    expect(stdout).toContain(`OpenAPI document not compared: ${proxy.url}/_sandbox/openapi.json responded with 404\n`)
    const named = await check(`${keys} --openapi ${proxy.url}/_sandbox/openapi.json`)
    expect(named).toMatchObject({ code: 3, stderr: expect.stringContaining('responded with 404') })
  })
})

describe('keys', () => {
  test('a key of the sandbox is not sent to another service', async () => {
    expect(await check('')).toMatchObject({ code: 4, stderr: expect.stringContaining('There is no secret key for') })
    expect(proxy.count).toBe(0)
  })

  test('a production key is refused, and with --allow-live nothing that makes traffic is sent', async () => {
    const live = keys.replace('sk_test', 'sk_live')
    expect(await check(live)).toMatchObject({ code: 4, stderr: expect.stringContaining('--allow-live') })
    expect(proxy.count).toBe(0)
    const accepted: string[] = []
    proxy.alter = ({ method, path, status, sent }) => {
      if (status < 300) accepted.push(`${method} ${path}`)
      if (sent !== null) expect(sent).not.toHaveProperty('test_outcome')
    }
    const { code, stdout } = await check(`${live} --allow-live`)
    expect(code).toBe(0)
    expect(stdout).toContain(
      'jobs.create, a job of two slots, without job_type: no traffic is sent with a production key',
    )
    expect(accepted.filter((line) => line.startsWith('POST'))).toEqual(['POST /v1/browser/activate'])
  })

  test('nothing that looks like a key or token is repeated', async () => {
    proxy.alter = (passing) =>
      isFill(passing) &&
      Object.assign(passing.json!.placement, { token: `ast_0_${'secret'.repeat(4)}`, key: 'sk_live_secret' })
    expect((await check()).stdout).not.toContain('secret')
  })
})

test('its traffic is not taken for that of an integration', { tags: 'depth' }, async () => {
  await using fresh = await startTestCli()
  expect((await fresh.svc('contract check -q')).code).toBe(0)
  const { code, stderr } = await fresh.svc('observe --since 1h')
  expect({ code, stderr }).toEqual({
    code: 5,
    stderr: expect.stringMatching(/saw no request of the app .* left out \d+ of svc itself/),
  })
})

test('what is assumed of a status does not excuse the body, nor a status that the contract does not have', {
  tags: 'depth',
}, async () => {
  const polled = async (status: number, text: string) => {
    const { code, differences } = await foundIn((passing) => {
      if (/decisions.slot_zzz/.test(passing.path) && passing.status === 404)
        Object.assign(passing, { status, text, json: null })
    })
    return [code, differences.map(({ weight, what }) => `${weight} ${what}`)]
  }
  const body = { slot_id: 'slot_zzzzzzzzzzz', status: 'pending', placement: null, decision: null }
  const request_id = 'req_0000000000x'
  expect((await polled(200, JSON.stringify({ ...body, request_id })))[0]).toBe(0)
  const rubbish = await polled(200, '{"slot_id":5,"status":"banana"}')
  expect(rubbish).toEqual([5, expect.arrayContaining(['assumed status', 'documented response slot_id'])])
  expect(await polled(302, '')).toEqual([5, ['documented status']])
})

test('a service that is always over its rate limit: each wait is printed, and there is an end', {
  tags: 'depth',
}, async () => {
  proxy.alter = (passing) =>
    Object.assign(passing, { status: 429, json: null, text: '{}', headers: { 'retry-after': '0' } })
  const { code, stderr } = await check()
  expect([code, stderr.match(/^Waiting 1 ?s, since .* limits the rate of requests\.$/gm)?.length]).toEqual([3, 7])
  expect(stderr).toContain(`${proxy.url} responded with 429 8 times in a row.`)
})

test('a service that is not there is exit code 7', async () => {
  expect((await cli.svc(`contract check http://127.0.0.1:9 ${keys}`)).code).toBe(7)
  expect((await cli.svc('contract check nonsense')).code).toBe(2)
})
