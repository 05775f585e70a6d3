/**
 * The example of each parameter in the OpenAPI document: none is left out, each is valid by its schema, and a sandbox takes
 * it. A tool that fills in the examples sends no request that is refused for one of them.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Endpoint, isControlPlane } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { listShape } from '#contract/objects.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { findExamples } from '#contract/openapi/examples.ts'
import type { Json } from '#foundation/json.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  example?: string | number
}

type Paths = Record<string, Record<string, { parameters?: Parameter[] }>>

const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' }) as { paths: unknown; 'x-websockets': unknown }
const origin = 'http://localhost:3000'
const paths = document.paths as Paths
const sockets = document['x-websockets'] as Paths

const endpoints = Object.values<Endpoint>(contract).map((endpoint) => {
  const item = (endpoint.status === 101 ? sockets : paths)[endpoint.path]
  return { endpoint, parameters: item?.[endpoint.method.toLowerCase()]?.parameters ?? [] }
})

let sandbox: Sandbox
let activation_token: string
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 1 })
  const response = await fetch(`${sandbox.url}/v1/browser/activate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ publishable_key: 'pk_test_sandbox_demo' }),
  })
  activation_token = ((await response.json()) as { activation_token: string }).activation_token
})
afterAll(() => sandbox.close())

test('each parameter has one, which its schema accepts', () => {
  let count = 0
  for (const { endpoint, parameters } of endpoints) {
    const schemas = new Map(
      [endpoint.params, endpoint.query].flatMap((shape) => (shape === undefined ? [] : listShape(shape))),
    )
    for (const { name, example, ...parameter } of parameters) {
      expect(example, `${endpoint.id} ${name}`).toBeDefined()
      count++
      if (parameter.in === 'header') continue
      expect(schemas.get(name)?.safeParse(String(example)).error, `${endpoint.id} ${name}`).toBeUndefined()
    }
  }
  expect(count).toBeGreaterThan(120)
})

test('a sandbox accepts each', async () => {
  const refused: string[] = []
  let count = 0
  for (const { endpoint, parameters } of endpoints) {
    if (endpoint.status === 101) continue
    const optional = parameters.filter((each) => each.in !== 'path' && !each.required)
    const needed = parameters.filter((each) => each.in === 'path' || each.required)
    for (const chosen of [...(needed.length === 0 ? [] : [[]]), ...optional.map((each) => [each])]) {
      count++
      const problem = await send(endpoint, [...needed, ...chosen])
      if (problem !== null) refused.push(`${endpoint.id} ${chosen.map(({ name }) => name).join()}: ${problem}`)
    }
  }
  expect(refused).toEqual([])
  expect(count).toBeGreaterThan(120)
})

/** Sends a request with the examples. Returns why it is refused as malformed; null when it is not. */
async function send(endpoint: Endpoint, parameters: readonly Parameter[]): Promise<string | null> {
  const valueFor = ({ example }: Parameter) => String(example)
  let path = endpoint.path
  const query = new URLSearchParams()
  const headers = new Headers()
  for (const parameter of parameters) {
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(valueFor(parameter)))
    if (parameter.in === 'query') query.set(parameter.name, valueFor(parameter))
    if (parameter.in === 'header') headers.set(parameter.name, valueFor(parameter))
  }
  if (endpoint.credentials.includes('secret_key')) headers.set('authorization', 'Bearer sk_test_sandbox_demo')
  else if (endpoint.credentials.length > 0) {
    headers.set('authorization', `Bearer ${activation_token}`)
    headers.set('origin', origin)
  }
  const body = bodyFor(endpoint)
  if (body !== undefined) headers.set('content-type', 'application/json')
  const controller = new AbortController()
  const response = await fetch(`${sandbox.url}${path}${query.size === 0 ? '' : `?${query}`}`, {
    method: endpoint.method,
    headers,
    signal: controller.signal,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // The request was understood: what it names need not exist.
  if (response.status < 400 || response.status === 404) {
    controller.abort()
    return null
  }
  return `${response.status} ${await response.text()}`
}

function bodyFor(endpoint: Endpoint): Json | undefined {
  if (endpoint.body === undefined) return undefined
  const [example] = Object.values(findExamples(endpoint.id, 'body'))
  return example ?? (isControlPlane(endpoint) ? {} : undefined)
}
