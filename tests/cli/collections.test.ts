/**
 * `svc contract openapi --for`: collections for Postman and .http files. That the tools themselves run them is shown in
 * tests/interop/collections.test.ts.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Collection, type CollectionRequest, demoProject, describeCollection } from '#collections/collection.ts'
import { collectionTools } from '#collections/tools.ts'
import { type Endpoint, isControlPlane } from '#contract/endpoint.ts'
import { contract, type EndpointId, v1 } from '#contract/index.ts'
import { PostmanCollection } from './postman-collection.ts'
import { startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

const none = { SVC_HOME: temporaryDirectory() }
const settings = { base_url: 'http://127.0.0.1:4010', ...demoProject, control_token: null }
const requestsIn = ({ folders }: Collection) => folders.flatMap(({ requests }) => requests)
const collection = describeCollection(settings)
const requests = requestsIn(collection)

describe('the requests', () => {
  test('call every endpoint of v1, and each other public one that is not for old clients', () => {
    const isShown = (endpoint: Endpoint) => !isControlPlane(endpoint) && endpoint.stability !== 'deprecated'
    const shown = Object.values<Endpoint>(contract).flatMap((endpoint) => (isShown(endpoint) ? [endpoint.id] : []))
    expect(shown).toEqual(expect.arrayContaining(Object.keys(v1)))
    const called = new Set(requests.map(({ endpoint_id }) => endpoint_id))
    expect(shown.filter((id) => !called.has(id))).toEqual([])
  })

  test('--v1 has those of v1 alone', () => {
    const called = requestsIn(describeCollection(settings, 'v1')).map(({ endpoint_id }) => endpoint_id)
    expect(new Set(called)).toEqual(new Set(Object.keys(v1)))
  })

  test('have method, path, query, headers and body as the contract has them', () => {
    for (const request of requests) {
      const endpoint: Endpoint = contract[request.endpoint_id as EndpointId]
      expect(request.method, request.id).toBe(endpoint.method)
      const pattern = endpoint.path.replace(/[.]/g, '\\$&').replace(/{\w+}/g, '(\\{\\{\\w+\\}\\}|\\w+)')
      expect(request.path, request.id).toMatch(new RegExp(`^${pattern}$`))
      expect(request.query.map(({ name }) => name)).toEqual(Object.keys(endpoint.query?.shape ?? {}))
      const names = request.headers.map(({ name }) => name)
      expect(names, request.id).toEqual(expect.arrayContaining(Object.keys(endpoint.request_headers ?? {})))
      if (endpoint.credentials.length > 0) expect(endpoint.credentials, request.id).toContain(request.bearer)
      else expect(request.bearer, request.id).toBeNull()
      expect(request.body === null, request.id).toBe(endpoint.body === undefined)
      const filled: unknown = JSON.parse(
        JSON.stringify(request.body).replace(/{{(\w+)}}/g, (_, name) => samples[name]!),
      )
      if (endpoint.body !== undefined) (endpoint.branch?.(filled) ?? endpoint.body).parse(filled)
    }
  })

  test('have names of their own, and use no variable before it is set', () => {
    for (const names of [requests.map(({ id }) => id), requests.map(({ name }) => name)]) {
      expect(new Set(names).size).toBe(names.length)
    }
    const known = new Set(collection.variables.flatMap(({ name, set_by }) => (set_by === null ? [name] : [])))
    for (const name of ['new_id', 'now', 'a_second_later']) known.add(name)
    for (const request of requests) {
      expect(
        [...usedVariables(request)].filter((name) => !known.has(name)),
        request.id,
      ).toEqual([])
      for (const name of Object.keys(request.captured)) known.add(name)
    }
  })

  test('poll what is decided, after what makes it, and store consent before both', () => {
    const at = (id: string) => requests.findIndex((request) => request.id === id)
    expect(at('consent')).toBeLessThan(at('placement'))
    expect(at('placement')).toBeLessThan(at('decision'))
    expect(at('browser_consent')).toBeLessThan(at('browser_job'))
    const polls = requests.filter(({ is_poll }) => is_poll).map(({ id }) => id)
    expect(polls).toEqual(['decision', 'job_decision', 'browser_decision'])
  })
})

test('the demo project is the one that every sandbox has', () => {
  const [{ client_id, keys, settings }] = (
    JSON.parse(readFileSync(join(import.meta.dirname, '../../fixtures/projects.json'), 'utf8')) as {
      projects: [{ client_id: string; keys: Record<string, string>; settings: { allowed_origins: string[] } }]
    }
  ).projects
  const { secret_key, publishable_key } = keys
  const origin = settings.allowed_origins[0]!.replace('*', '3000')
  expect(demoProject).toEqual({ client_id, secret_key, publishable_key, origin })
})

describe('for Postman', () => {
  test('it is a collection of version 2.1, with the values of the running sandbox', async () => {
    const { code, stdout, stderr } = await cli.svc('contract openapi --for postman')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { info, item, variable } = PostmanCollection.parse(JSON.parse(stdout))
    expect(info.schema).toBe('https://schema.getpostman.com/json/collection/v2.1.0/collection.json')
    expect(item.map(({ name }) => name)).toEqual(collection.folders.map(({ name }) => name))
    expect(item.flatMap((folder) => folder.item.map(({ name }) => name))).toEqual(requests.map(({ name }) => name))
    const values = Object.fromEntries(variable.map(({ key, value }) => [key, value]))
    expect(values).toMatchObject({ base_url: cli.sandbox.url, secret_key: 'sk_test_sandbox_demo', asset_token: '' })
    const secret = variable.flatMap((row) => (row.secret === true ? [row.key] : []))
    expect(secret).toEqual(['secret_key', 'activation_token'])
  })

  test('a poll goes on while the decision is pending, and a request has its example', async () => {
    const { stdout } = await cli.svc('contract openapi --for postman --v1')
    const { item } = PostmanCollection.parse(JSON.parse(stdout))
    const [placement, decision] = item.find(({ name }) => name === 'Placement')!.item
    expect(placement!.request.body?.raw).toContain('"topic": "travel backpacks"')
    expect(placement!.response.map(({ name }) => name)).toEqual(['fill', 'no fill', 'pending'])
    expect(decision!.event[0]!.script.exec).toEqual([
      "pm.test('The status is 200', () => pm.response.to.have.status(200));",
      'const body = pm.response.json();',
      "const polls = body.status === 'pending' ? Number(pm.variables.get('polls') ?? 0) + 1 : 0;",
      "pm.variables.set('polls', polls);",
      'if (polls > 0 && polls < 20) {',
      '  pm.execution.setNextRequest(pm.info.requestName);',
      '} else {',
      "  pm.test('status is ready', () => pm.expect(body.status).to.eql('ready'));",
      "  pm.test('decision.fill is true', () => pm.expect(body.decision?.fill).to.eql(true));",
      "  pm.collectionVariables.set('asset_token', body.decision?.asset_token ?? '');",
      '}',
    ])
  })
})

describe('as an .http file', () => {
  test(' a request names what it needs, and takes what others need', async () => {
    const cwd = temporaryDirectory()
    expect((await svc('contract openapi --for http --out api.http', { env: none, cwd })).code).toBe(0)
    const text = readFileSync(join(cwd, 'api.http'), 'utf8')
    expect(text).toContain('@base_url = http://127.0.0.1:4010\n')
    expect(text).toContain(
      [
        '### Wait for the decision',
        '# While the status is pending, send it again.',
        '# @name decision',
        '# @ref placement',
        'GET {{base_url}}/v1/decisions/{{slot_id}}?wait_ms=5000',
        'Authorization: Bearer {{secret_key}}',
        '',
        '> {%',
        '  const body = response.body',
        check('The status is 200', 'response.status', '200'),
        check('status is ready', 'body.status', "'ready'"),
        check('decision.fill is true', 'body.decision?.fill', 'true'),
        '  client.global.set("asset_token", body.decision?.asset_token)',
        '%}',
      ].join('\n'),
    )
    const again = await svc('contract openapi --for http --out api.http', { env: none, cwd })
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('api.http exists.') })
  })
})

test.each(collectionTools)('a key of another service is not written: %s', async (tool) => {
  const cwd = temporaryDirectory()
  const env = { ...none, SVC_SECRET_KEY: 'sk_live_own', SVC_PUBLISHABLE_KEY: 'pk_live_own', SVC_CLIENT_ID: 'proj_own' }
  const line = `contract openapi --for ${tool} --out made --base-url https://ads.example`
  const { code, stderr } = await svc(line, { env, cwd })
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'No key is written for https://ads.example: set secret_key and publishable_key in the tool.\n',
  })
  const text = readFileSync(join(cwd, 'made'), 'utf8')
  expect(text).toContain('https://ads.example')
  expect(text).toContain('proj_own')
  expect(text).not.toMatch(/[sp]k_(live|test)_/)
})

test('with -o json, it says what it wrote; the document can be written too', async () => {
  const cwd = temporaryDirectory()
  const { stdout } = await cli.svc('contract openapi --for postman --out api.json -o json', { cwd })
  const path = join(cwd, 'api.json')
  expect(JSON.parse(stdout)).toEqual({ tool: 'postman', path, files: ['api.json'], requests: 26, folders: 7 })
  expect((await cli.svc('contract openapi --v1 --out openapi.json', { cwd })).stdout).toBe(
    `Wrote ${join(cwd, 'openapi.json')}.\n`,
  )
  expect(JSON.parse(readFileSync(join(cwd, 'openapi.json'), 'utf8'))).toHaveProperty('openapi', '3.1.0')
  expect(await cli.svc('contract openapi --for postman --control')).toMatchObject({ code: 2, stdout: '' })
})

/** A check in a handler. */
function check(name: string, actual: string, expected: string): string {
  return `  client.test("${name}", () => client.assert(${actual} === ${expected}, \`is \${${actual}}\`))`
}

/** What variables of requests may stand for, by name. */
const samples: Readonly<Record<string, string>> = {
  ...demoProject,
  session_id: 'session-1',
  new_id: 'beacon-0001',
  now: '2026-01-01T00:00:00.000Z',
  a_second_later: '2026-01-01T00:00:01.000Z',
  asset_token: 'ast_example',
  browser_asset_token: 'ast_example',
}

function usedVariables({ path, query, headers, bearer, body }: CollectionRequest): Set<string> {
  const sent = [...query, ...headers].filter(({ is_sent }) => is_sent)
  const text = JSON.stringify([path, sent.map(({ value }) => value), bearer === null ? '' : `{{${bearer}}}`, body])
  return new Set([...text.matchAll(/{{(\w+)}}/g)].map(([, name]) => name!))
}
