import { usualAddress, withAddress } from '#foundation/http.ts'
import { isObject, type Json, type JsonObject } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import {
  type Credential,
  type Endpoint,
  failureHeaders,
  fileHeaders,
  isControlPlane,
  listFailures,
  type ResponseHeader,
  responseHeaders,
} from '../endpoint.ts'
import { ApiError, errorCodes, type ReasonCode, reasonCodes } from '../errors.ts'
import { contract, v1 } from '../index.ts'
import { openapiSchemas, operationId, type Schemas } from './components.ts'
import { findExamples } from './examples.ts'
import { responseLinks } from './links.ts'
import { parameterExample } from './parameter-examples.ts'

type Part = 'v1' | 'sandbox'

/** The groups of operations. Generators make a class from each. */
const tags = {
  v1: 'The public API.',
  deprecated: 'Aliases for old clients, which name the route that replaces each. Off with svc start --strict.',
  sandbox: 'The sandbox as a whole: health, state, export and import, and the contract itself.',
  'sandbox-snapshots': 'Named copies of the whole state.',
  'sandbox-clock': 'The one clock of tokens, consent, rates and latency.',
  'sandbox-projects': 'Projects and their settings.',
  'sandbox-keys': 'Keys of projects.',
  'sandbox-placements': 'What was decided, and why.',
  'sandbox-beacons': 'What was received, and how it counts.',
  'sandbox-consent': 'Every revision of the consent of a session.',
  'sandbox-billing': 'What production would have billed.',
  'sandbox-evidence': 'The hash chain over decisions, consent and beacons.',
  'sandbox-requests': 'The request journal.',
  'sandbox-events': 'What happens, as a stream.',
  'sandbox-faults': 'Rules that break requests on purpose.',
  'sandbox-scenario': 'Named cases that an integration must handle.',
} as const

/**
 * Returns the OpenAPI 3.1 document of the contract, or of only v1 or the control plane, with the components that it
 * refers to. Every field has `x-provenance` with `provenance` and `decision`, every failure `x-reason-codes`. WebSocket
 * handshakes are not operations that a generated client could call: they are under `x-websockets`, in the same shape.
 */
export function openapiDocument({ server_url, only }: { server_url: string; only?: Part | undefined }): JsonObject {
  const endpoints = Object.values<Endpoint>(contract).filter((endpoint) => isIncluded(only, endpoint))
  const { parts, components } = openapiSchemas(endpoints)
  const paths = pathItems(
    endpoints.filter(({ status }) => status !== 101),
    parts,
  )
  const sockets = pathItems(
    endpoints.filter(({ status }) => status === 101),
    parts,
  )
  const named = { headers: headers(), examples: errorExamples(), schemas: components }
  const used = usedComponents(paths, named)
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Sponsored placement service, API v1',
      version: '1',
      summary: 'The public API of the service, and the control plane of its sandbox.',
      description: [
        'API v1 of the sponsored placement service, and the control plane of its sandbox under `/_sandbox/`.',
        'Every field carries `x-provenance`: documented (stated in the API document), observed (seen in public clients) or assumed (chosen here; may differ in production), with the id of the decision.',
        'Each operation names the failures that its requests can have. The handshakes of WebSockets are under `x-websockets`. Any path can also respond with 404 not_found, 405 method_not_allowed and, in the sandbox, 421 host_not_allowed; a body where none belongs with 413 or 415.',
      ].join('\n\n'),
      contact: { name: 'The maintainers of svc' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: server_url }],
    tags: usedTags(endpoints),
    paths,
    ...(Object.keys(sockets).length === 0 ? {} : { 'x-websockets': withInlined(sockets, used, named) }),
    components: { securitySchemes: usedSchemes(endpoints), ...used },
  }
  return /^https?:/.test(server_url) ? atAddress(document, server_url) : document
}

/** Returns a document whose examples have the address of a service. */
function atAddress(document: JsonObject, server_url: string): JsonObject {
  if (server_url === usualAddress) return document
  return JSON.parse(withAddress(JSON.stringify(document), JSON.stringify(server_url).slice(1, -1)))
}

function isIncluded(only: Part | undefined, endpoint: Endpoint): boolean {
  if (only === undefined) return true
  return only === 'sandbox' ? isControlPlane(endpoint) : endpoint.id in v1
}

function usedTags(endpoints: readonly Endpoint[]): Json[] {
  const used = new Set(endpoints.map(chooseTag))
  return Object.entries(tags).flatMap(([name, description]) => (used.has(name) ? [{ name, description }] : []))
}

function chooseTag(endpoint: Endpoint): string {
  if (!isControlPlane(endpoint)) return endpoint.stability === 'deprecated' ? 'deprecated' : 'v1'
  const name = `sandbox-${endpoint.id.slice(0, endpoint.id.indexOf('.'))}`
  return Object.hasOwn(tags, name) ? name : 'sandbox'
}

type Components = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>

/**
 * Returns the handshakes with the components that only they refer to inlined: linters do not look for references there.
 */
function withInlined(value: Json, used: Components, components: Components): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => withInlined(item, used, components))
  const { $ref } = value
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(String($ref)) ?? []
  const component = used[kind]?.[name] === undefined ? components[kind]?.[name] : undefined
  if (component !== undefined) return withInlined(component, used, components)
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withInlined(part, used, components)]))
}

/** Returns the components that the paths refer to, directly or through another component. */
function usedComponents(paths: JsonObject, components: Components): Components {
  const used = new Set<string>()
  const open: Json[] = [paths]
  const use = (kind: string, name: string) => {
    const component = components[kind]?.[name]
    if (component === undefined || used.has(`${kind}/${name}`)) return
    used.add(`${kind}/${name}`)
    open.push(component)
  }
  while (open.length > 0) {
    const text = JSON.stringify(open.pop())
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) use(kind, name)
  }
  return Object.fromEntries(
    Object.entries(components).map(([kind, named]) => [
      kind,
      Object.fromEntries(Object.entries(named).filter(([name]) => used.has(`${kind}/${name}`))),
    ]),
  )
}

function usedSchemes(endpoints: readonly Endpoint[]): JsonObject {
  const used = new Set(endpoints.flatMap(security).flatMap((alternative) => Object.keys(alternative)))
  return Object.fromEntries(Object.entries(securitySchemes).filter(([name]) => used.has(name)))
}

function headers(): Components[string] {
  return Object.fromEntries(
    Object.entries(responseHeaders).map(([name, { type, provenance, decision, description }]) => [
      name,
      { description, schema: { type }, 'x-provenance': { provenance, decision } },
    ]),
  )
}

/** Returns the error body of each cause. */
function errorExamples(): Components[string] {
  return Object.fromEntries(
    tableNames(reasonCodes).map((code) => [
      code,
      {
        summary: reasonCodes[code].message,
        value: new ApiError(code).toBody('req_00000000001', usualAddress),
      },
    ]),
  )
}

function pathItems(endpoints: readonly Endpoint[], parts: Schemas['parts']): JsonObject {
  const items: Record<string, JsonObject> = {}
  for (const endpoint of endpoints) {
    const item = items[endpoint.path] ?? {}
    item[endpoint.method.toLowerCase()] = operation(endpoint, parts)
    items[endpoint.path] = item
  }
  return items
}

function operation(endpoint: Endpoint, parts: Schemas['parts']): JsonObject {
  const { id, summary, description, stability, provenance, rate } = endpoint
  const parameters = [
    ...fieldParameters(id, 'path', parts.get(`${id} params`)),
    ...fieldParameters(id, 'query', parts.get(`${id} query`)),
    ...headerParameters(endpoint),
  ]
  return {
    operationId: operationId(id),
    tags: [chooseTag(endpoint)],
    summary,
    description,
    ...(stability === 'deprecated' ? { deprecated: true } : {}),
    security: security(endpoint),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(endpoint, parts.get(`${id} body`)),
    responses: {
      ...successes(endpoint, parts.get(`${id} response`)),
      ...failures(endpoint),
    },
    'x-endpoint-id': id,
    'x-stability': stability,
    'x-rate-class': rate,
    'x-provenance': { provenance, decision: null },
  }
}

/** The control plane needs its token from pages and when the sandbox listens beyond loopback. */
function security(endpoint: Endpoint): JsonObject[] {
  if (isControlPlane(endpoint)) return [{}, { admin_token: [] }]
  return endpoint.credentials.map((credential) => ({ [credential]: [] }))
}

function requestBody(endpoint: Endpoint, schema: JsonObject | undefined): JsonObject {
  const { id, body, body_media_type, body_limit_bytes } = endpoint
  if (body === undefined && body_media_type === undefined) return {}
  const content =
    body_media_type === undefined
      ? { 'application/json': { schema: schema ?? {}, ...exampleValues(id, 'body') } }
      : { [body_media_type]: { schema: binary } }
  return { requestBody: { required: !isBodyOptional(endpoint), content, 'x-body-limit-bytes': body_limit_bytes } }
}

/** An empty body in the control plane means `{}`, which is enough for some endpoints. */
function isBodyOptional(endpoint: Endpoint): boolean {
  return isControlPlane(endpoint) && endpoint.body?.safeParse({}).success === true
}

function exampleValues(id: string, part: 'body' | 'response'): JsonObject {
  const values = Object.entries(findExamples(id, part))
  if (values.length === 0) return {}
  return {
    examples: Object.fromEntries(values.map(([name, value]) => [name, { summary: sentence(name), value }])),
  }
}

/** `forced_no_fill` becomes `Forced no fill`. */
function sentence(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`
}

function fieldParameters(id: string, where: 'path' | 'query', schema: JsonObject | undefined): Json[] {
  const required = Array.isArray(schema?.required) ? schema.required : []
  const properties = isObject(schema?.properties) ? Object.entries(schema.properties) : []
  return properties.map(([name, property]) => {
    const { description, 'x-provenance': provenance, ...rest } = isObject(property) ? property : {}
    return {
      name,
      in: where,
      required: required.includes(name),
      description: description ?? '',
      schema: rest,
      example: parameterExample(id, name),
      'x-provenance': provenance ?? null,
    }
  })
}

function headerParameters({ id, request_headers = {} }: Endpoint): Json[] {
  return Object.entries(request_headers).map(([name, { type, required, description, provenance, decision }]) => ({
    name,
    in: 'header',
    required,
    description,
    schema: { type },
    example: parameterExample(id, name),
    'x-provenance': { provenance, decision },
  }))
}

/** Returns the success and, for files and responses with an ETag, the other ways in which a request can succeed. */
function successes(endpoint: Endpoint, schema: JsonObject | undefined): JsonObject {
  const { id, summary, status, response, response_headers = [] } = endpoint
  const isFile = 'media_type' in response && response.has_ranges === true
  if (status === 101)
    return { [status]: { description: `${summary}: the socket is open.`, headers: headerReferences([]) } }
  const content =
    'media_type' in response
      ? pageContent(response.media_type)
      : { 'application/json': { schema: schema ?? {}, ...exampleValues(id, 'response') } }
  const links = responseLinks(id)
  const whole = [...response_headers, ...sourceHeaders(endpoint), ...(isFile ? fileHeaders[200] : [])]
  return {
    [status]: {
      description: `${summary}.`,
      headers: headerReferences(whole),
      content,
      ...(Object.keys(links).length === 0 ? {} : { links }),
    },
    ...(isFile
      ? {
          206: {
            description: 'The part of the file that Range names.',
            headers: headerReferences([...response_headers, ...fileHeaders[206]]),
            content,
          },
        }
      : {}),
    ...(response_headers.includes('etag')
      ? { 304: { description: 'Not modified: If-None-Match has the ETag.', headers: headerReferences(['etag']) } }
      : {}),
    ...(isFile
      ? {
          416: {
            description: 'Range names no part of the file. No body.',
            headers: headerReferences(fileHeaders[416]),
          },
        }
      : {}),
  }
}

/** Responses that a recording can have say where they come from. */
function sourceHeaders(endpoint: Endpoint): readonly ResponseHeader[] {
  return listFailures(endpoint).includes('not_recorded') ? ['x-sandbox-source'] : []
}

/** Returns one response per status: the causes with the error body, and the causes with a page. */
function failures(endpoint: Endpoint): JsonObject {
  const { pages = {}, response } = endpoint
  const headersByCode: Readonly<Record<string, readonly ResponseHeader[]>> = failureHeaders
  const byStatus = Object.groupBy(
    listFailures(endpoint),
    (code) => pages[code] ?? errorCodes[reasonCodes[code].error].status,
  )
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes = []]) => {
      const bodies = codes.filter((code) => pages[code] === undefined)
      const errorNames = [...new Set(codes.map((code) => reasonCodes[code].error))]
      const hasPages = bodies.length < codes.length && 'media_type' in response
      return [
        status,
        {
          description: `${hasPages ? 'A page' : errorNames.join(', ')}: ${codes.join(', ')}.`,
          headers: headerReferences([
            ...(headersByCode[status] ?? []),
            ...(codes.includes('injected_fault') ? (['x-sandbox-fault', 'x-sandbox-trace'] as const) : []),
            ...sourceHeaders(endpoint),
          ]),
          content: {
            ...(bodies.length === 0 ? {} : { 'application/json': errorContent(bodies) }),
            ...(hasPages ? pageContent(response.media_type) : {}),
          },
          'x-reason-codes': [...codes],
        },
      ]
    }),
  )
}

function errorContent(codes: readonly ReasonCode[]): JsonObject {
  return {
    schema: { $ref: '#/components/schemas/ErrorBody' },
    examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
  }
}

const binary = { type: 'string', format: 'binary' } as const

function pageContent(media_type: string): JsonObject {
  const isText = media_type.startsWith('text/')
  return { [media_type.replace(/;.*/, '')]: { schema: isText ? { type: 'string' } : binary } }
}

function headerReferences(names: readonly ResponseHeader[]): JsonObject {
  const unique = new Set<ResponseHeader>(['x-request-id', ...names])
  return Object.fromEntries([...unique].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })

const securitySchemes: Record<Credential | 'admin_token', JsonObject> = {
  secret_key: bearer(
    'Secret key of a server: sk_test_ (Server Test Key, non-billable) or sk_live_. Never sent with an Origin header.',
  ),
  activation_token: bearer(
    'Browser activation token, from POST /v1/browser/activate. Short-lived; bound to a project and an origin.',
  ),
  beacon_token: bearer('Created by the hosted frame for render.js; valid for the beacons of one asset token.'),
  admin_token: {
    type: 'apiKey',
    in: 'header',
    name: 'x-sandbox-token',
    description:
      'Token of the control plane, printed by svc start. Programs on the same host need none. A sandbox that listens beyond loopback requires it in every request, and a page on its own origin needs it to change something.',
  },
}
