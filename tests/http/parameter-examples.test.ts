/** The OpenAPI document has an example of each parameter, and the sandbox accepts every one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openapiDocument } from '#contract/openapi/document.ts'
import { fillPath } from '#foundation/http.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  example: string | number
}
interface Operation {
  parameters?: Parameter[]
  security: Record<string, unknown>[]
  responses: Record<string, unknown>
  'x-endpoint-id': string
}

const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' })
const operations = [document.paths, document['x-websockets']].flatMap((paths) =>
  Object.entries(paths as unknown as Record<string, Record<string, Operation>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  ),
)
// What deletes a project or a key comes last: the others need them.
const withParameters = operations
  .filter(({ operation }) => operation.parameters !== undefined)
  .toSorted((one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'))

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 1 })
})
afterAll(() => sandbox.close())

test('every parameter has an example', () => {
  expect(withParameters.length).toBeGreaterThan(40)
  for (const { path, operation } of withParameters)
    for (const { name, example } of operation.parameters ?? []) expect(example, `${path} ${name}`).toBeDefined()
})

test('lists take all of their examples at once but the cursor', async () => {
  for (const { path, operation } of withParameters) {
    const query = (operation.parameters ?? []).filter((each) => each.in === 'query' && each.name !== 'cursor')
    if (!/list$/.test(operation['x-endpoint-id'])) continue
    const search = new URLSearchParams(query.map(({ name, example }) => [name, String(example)]))
    const response = await fetch(`${sandbox.url}${fillPath(path, { client_id: 'proj_demo' })}?${search}`)
    expect([response.status, await response.text()], path).toEqual([200, expect.any(String)])
  }
})

/** Refusals that say that a value is wrong, and not only that nothing has it. */
const ofValues = ['schema_invalid', 'field_unknown', 'expires_at_in_seconds', 'publishable_key_malformed']

test.each(
  withParameters.map(({ path, method, operation }) => ({ name: `${method} ${path}`, path, method, operation })),
)('$name accepts each of its examples', async ({ path, method, operation }) => {
  const { parameters = [], security } = operation
  const params = Object.fromEntries(
    parameters.flatMap((each) => (each.in === 'path' ? [[each.name, String(each.example)]] : [])),
  )
  const secret = security.some((alternative) => 'secret_key' in alternative) ? 'sk_test_sandbox_demo' : null
  const sent = parameters.filter((each) => each.in !== 'path' && !each.required)
  for (const one of [null, ...sent]) {
    const given = parameters.filter((each) => each.required || each === one)
    const query = new URLSearchParams(
      given.flatMap((each) => (each.in === 'query' ? [[each.name, String(each.example)]] : [])),
    )
    const headers = Object.fromEntries(
      given.flatMap((each) => (each.in === 'header' ? [[each.name, String(each.example)]] : [])),
    )
    const response = await fetch(`${sandbox.url}${fillPath(path, params)}?${query}`, {
      method,
      headers: { ...headers, ...(secret === null ? {} : { authorization: `Bearer ${secret}` }) },
      signal: AbortSignal.timeout(10_000),
    })
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    const body = isJson ? ((await response.json()) as { reason_code?: string; fields?: { path: string }[] }) : null
    if (!isJson) await response.body?.cancel()
    const label = `${one?.name} ${JSON.stringify(body)}`
    // A body that is missing is another matter.
    const names = parameters.map(({ name }) => name)
    const wrong = (body?.fields ?? []).map((field) => field.path).filter((field) => names.includes(field))
    expect(wrong, label).toEqual([])
    if (
      method === 'GET' &&
      security.every((alternative) => Object.keys(alternative).length === 0 || 'admin_token' in alternative)
    ) {
      expect(ofValues, label).not.toContain(body?.reason_code)
      // 206: a range. 426: a socket, whose handshake this is not.
      expect([200, 206, 404, 426, 503], label).toContain(response.status)
    }
  }
})
