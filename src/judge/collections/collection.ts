/**
 * A collection of requests for the tools that send them by hand, independent of their formats. Methods, paths,
 * parameters, descriptions and examples are those of the contract, as in the OpenAPI document; `turn` has their order.
 */
import { type Endpoint, isControlPlane } from '#contract/endpoint.ts'
import { contract, v1 } from '#contract/index.ts'
import { listShape, readSource } from '#contract/objects.ts'
import { findExamples } from '#contract/openapi/examples.ts'
import { parameterExample } from '#contract/openapi/parameter-examples.ts'
import { isObject, type Json, withoutValue, withValue } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { type Step, turn } from './turn.ts'

/** The values that a collection starts with. A key is null where there is none that may be written into a file. */
export interface CollectionSettings {
  base_url: string
  client_id: string
  secret_key: string | null
  publishable_key: string | null
  origin: string
  /** For a sandbox whose control plane needs one. */
  control_token: string | null
}

/** The seeded project that every sandbox has, with keys that never change (A03), and an origin that it allows. */
export const demoProject = {
  client_id: 'proj_demo',
  secret_key: 'sk_test_sandbox_demo',
  publishable_key: 'pk_test_sandbox_demo',
  origin: 'http://localhost:3000',
} as const

export interface Variable {
  name: string
  /** Empty where a request sets it, and for a key that is not written. */
  value: string
  is_secret: boolean
  about: string
  /** The name of the request that sets it; null for a setting. */
  set_by: string | null
}

/** A parameter of a query, or a header. */
export interface Field {
  name: string
  /** May contain variables, as `{{name}}`. */
  value: string
  /** False: it is there to be switched on. */
  is_sent: boolean
  about: string
}

export interface CollectionRequest {
  id: string
  name: string
  endpoint_id: string
  about: string
  method: Endpoint['method']
  /** With variables in the places of its parameters: `/v1/decisions/{{slot_id}}`. */
  path: string
  query: readonly Field[]
  headers: readonly Field[]
  /** The variable with the credential; null for none. */
  bearer: string | null
  body: Json | null
  status: number
  is_json: boolean
  captured: Readonly<Record<string, string>>
  expected: Readonly<Record<string, Json>>
  is_poll: boolean
  /** Successful responses, by a few words about each. */
  responses: Readonly<Record<string, Json>>
}

export interface CollectionFolder {
  name: string
  about: string
  requests: readonly CollectionRequest[]
}

export interface Collection {
  name: string
  about: string
  variables: readonly Variable[]
  folders: readonly CollectionFolder[]
}

/** Returns the collection of a turn; `only: 'v1'` leaves out what exists in a sandbox alone. */
export function describeCollection(settings: CollectionSettings, only?: 'v1'): Collection {
  const { control_token } = settings
  const folders = turn
    .map(({ name, about, steps }) => ({
      name,
      about,
      requests: steps
        .filter(({ endpoint }) => only === undefined || endpoint in v1)
        .map((step) => describeRequest(step, control_token !== null)),
    }))
    .filter(({ requests }) => requests.length > 0)
  return {
    name: 'Sponsored placements',
    about: [
      'One turn of the sponsored placement API, v1, from consent to the billed view. Run it as it is, from top to bottom: requests set the variables of those after them.',
      'The key is a test key of a sandbox: never put a secret key of production into a file that you share.',
    ].join('\n\n'),
    variables: [...ownVariables(settings), ...capturedVariables(folders)],
    folders,
  }
}

function ownVariables(settings: CollectionSettings): Variable[] {
  const { base_url, client_id, secret_key, publishable_key, origin, control_token } = settings
  const row = (name: string, value: string | null, about: string, is_secret = false) => ({
    name,
    value: value ?? '',
    is_secret,
    about,
    set_by: null,
  })
  const rows = [
    row('base_url', base_url, 'The service: a sandbox, as svc start prints it.'),
    row('client_id', client_id, 'Project ID.'),
    row('secret_key', secret_key, 'Server Test Key of the project. It belongs on a server.', true),
    row('publishable_key', publishable_key, 'Publishable key of the project, for pages.'),
    row('origin', origin, 'Origin of the page, which the project allows.'),
    row('session_id', 'collection-session', 'One user in one conversation.'),
  ]
  if (control_token === null) return rows
  return [...rows, row('control_token', control_token, 'Token of the control plane of the sandbox.', true)]
}

/** Tokens are secret while they are valid. */
function capturedVariables(folders: readonly CollectionFolder[]): Variable[] {
  return folders.flatMap(({ requests }) =>
    requests.flatMap(({ name, captured }) =>
      Object.keys(captured).map((variable) => ({
        name: variable,
        value: '',
        is_secret: variable === 'activation_token',
        about: `Set by "${name}".`,
        set_by: name,
      })),
    ),
  )
}

function describeRequest(step: Step, hasControlToken: boolean): CollectionRequest {
  const endpoint: Endpoint = contract[step.endpoint]
  return {
    id: step.id,
    name: step.name,
    endpoint_id: endpoint.id,
    about: endpoint.description,
    method: endpoint.method,
    path: endpoint.path.replace(/{(\w+)}/g, (_, name: string) => variableFor(step, name) ?? `{{${name}}}`),
    query: describeQuery(step, endpoint),
    headers: describeHeaders(step, endpoint, hasControlToken),
    bearer: step.bearer ?? null,
    body: step.example === undefined ? null : describeBody(step, step.example),
    status: endpoint.status,
    is_json: !('media_type' in endpoint.response),
    captured: step.captured ?? {},
    expected: step.expected ?? {},
    is_poll: step.is_poll ?? false,
    responses: findExamples(endpoint.id, 'response'),
  }
}

function describeQuery(step: Step, { query }: Endpoint): Field[] {
  if (query === undefined) return []
  return listShape(query).map(([name, schema]) => {
    const value = findEntry(step.query ?? {}, name)
    return {
      name,
      value: value ?? String(parameterExample(step.endpoint, name)),
      is_sent: value !== undefined,
      about: readSource(schema)?.description ?? '',
    }
  })
}

function describeHeaders(step: Step, endpoint: Endpoint, hasControlToken: boolean): Field[] {
  const own = Object.entries(endpoint.request_headers ?? {}).map(([name, { required, description }]) => ({
    name,
    value: variableFor(step, name) ?? String(parameterExample(endpoint.id, name)),
    is_sent: required,
    about: description,
  }))
  const isFromPage = step.bearer === 'activation_token'
  const origin = { name: 'Origin', value: '{{origin}}', is_sent: true, about: 'The origin that the token is bound to.' }
  const token = {
    name: 'x-sandbox-token',
    value: '{{control_token}}',
    is_sent: true,
    about: 'Token of the control plane.',
  }
  return [...own, ...(isFromPage ? [origin] : []), ...(isControlPlane(endpoint) && hasControlToken ? [token] : [])]
}

/** The variables of parameters and fields, by their names in the contract. */
const variables: Readonly<Record<string, string>> = {
  client_id: '{{client_id}}',
  session_id: '{{session_id}}',
  chat_session_id: '{{session_id}}',
  slot_id: '{{slot_id}}',
  job_id: '{{job_id}}',
  asset_token: '{{asset_token}}',
  publishable_key: '{{publishable_key}}',
  beacon_id: '{{new_id}}',
  occurred_at: '{{now}}',
  Origin: '{{origin}}',
}

function variableFor({ variables: own = {} }: Step, name: string): string | undefined {
  return findEntry(own, name) ?? findEntry(variables, name)
}

/** Returns an example with variables in the places of what differs from one project and moment to another. */
function describeBody(step: Step, name: string): Json {
  const example = findEntry(findExamples(step.endpoint, 'body'), name)
  if (example === undefined) throw new Error(`${step.endpoint} has no example ${name}`)
  let body = withVariables(step, example)
  for (const [name, value] of Object.entries(step.changed ?? {})) {
    body = value === undefined ? withoutValue(body, name) : withValue(body, name, value)
  }
  return body
}

function withVariables(step: Step, value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => withVariables(step, item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, variableFor(step, name) ?? withVariables(step, field)]),
  )
}
