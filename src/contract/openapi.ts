import { z } from 'zod'
import type { Json, JsonObject } from '../foundation/json.ts'
import { type Credential, type Endpoint, failuresOf } from './endpoint.ts'
import { ApiError, ErrorBody, errorCodes, type ReasonCode, reasonCodes } from './errors.ts'
import { failureHeaders, type ResponseHeader, responseHeaders } from './headers.ts'
import { compat, contract, schemaName, v1 } from './index.ts'

type Part = 'v1' | 'compat' | 'sandbox'

/**
 * Returns the OpenAPI 3.1 document of v1 and the control plane, or of one of them with the components that it refers to,
 * computed from the contract. Every field has `x-provenance` with `provenance` and `decision`, every failure
 * `x-reason-codes`.
 */
export function openapiDocument({ server_url, only }: { server_url: string; only?: Part | undefined }): JsonObject {
  const endpoints = Object.values<Endpoint>(contract).filter(({ id }) => only === undefined || partOf(id) === only)
  const { roots, components } = schemas(endpoints)
  const paths = pathItems(endpoints, roots)
  const text = only === undefined ? null : JSON.stringify([paths, components])
  const used = (kind: string, named: JsonObject) =>
    Object.fromEntries(
      Object.entries(named).filter(([name]) => text?.includes(`"#/components/${kind}/${name}"`) !== false),
    )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sponsored placement service, API v1',
      version: '1',
      description: [
        'API v1 of the sponsored placement service, and the control plane of its sandbox under `/_sandbox/`.',
        'Every field carries `x-provenance`: documented (stated in the API document), observed (seen in public clients) or assumed (chosen here; may differ in production), with the id of the decision.',
        'Any path can also respond with 404 not_found, 405 method_not_allowed and, in the sandbox, 421 host_not_allowed.',
      ].join('\n\n'),
    },
    servers: [{ url: server_url }],
    tags: [
      { name: 'v1', description: 'The public API.' },
      { name: 'deprecated', description: 'Aliases for old clients. Off with svc start --strict.' },
      { name: 'sandbox', description: 'The control plane of the sandbox. No credential; same host, same origin.' },
    ].filter(({ name }) => only === undefined || name === only),
    paths,
    components: {
      securitySchemes: securitySchemes(),
      headers: used(
        'headers',
        Object.fromEntries(
          Object.entries(responseHeaders).map(([name, { type, provenance, decision, description }]) => [
            name,
            { description, schema: { type }, 'x-provenance': { provenance, decision } },
          ]),
        ),
      ),
      examples: used(
        'examples',
        Object.fromEntries(
          (Object.keys(reasonCodes) as ReasonCode[]).map((code) => [
            code,
            { summary: reasonCodes[code].message, value: new ApiError(code).toBody('req_00000000001', '{base_url}') },
          ]),
        ),
      ),
      schemas: used('schemas', components),
    },
  }
}

/** Returns the named schemas for `components`, and the JSON Schema of every params, query, body and response. */
function schemas(endpoints: readonly Endpoint[]): { roots: Map<string, JsonObject>; components: JsonObject } {
  const parts: Record<string, z.ZodType> = { ErrorBody }
  const names = new Map<unknown, string>()
  for (const { id, params, query, body, response } of endpoints) {
    for (const [part, schema] of Object.entries({ params, query, body, response })) {
      if (!(schema instanceof z.ZodType)) continue
      parts[`${id} ${part}`] = schema
      if (part === 'body') names.set(schema, `${pascalCase(id)}Request`)
      if (part === 'response' && !hasNamedOrigin(schema)) names.set(schema, `${pascalCase(id)}Response`)
    }
  }
  const { $defs = {}, properties = {} } = z.toJSONSchema(z.object(parts), { metadata: new NamedSchemas(names) })
  const components = Object.entries($defs as JsonObject).filter(([name]) => !isAnyJson(name))
  return {
    roots: new Map(
      Object.entries(properties as JsonObject).map(([name, schema]) => [name, rewrite(schema) as JsonObject]),
    ),
    components: Object.fromEntries(
      [...components, ['Json', { description: 'Any JSON value.' }] as const]
        .map(([name, schema]): [string, Json] => [name, rewrite(schema)])
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  }
}

/** The metadata of schemas, with the name that makes them components as their `id`. */
class NamedSchemas extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  readonly #names: ReadonlyMap<unknown, string>

  constructor(names: ReadonlyMap<unknown, string>) {
    super()
    this.#names = names
  }

  override get<S extends z.core.$ZodType>(schema: S): z.core.$replace<z.core.GlobalMeta, S> | undefined {
    const meta = z.globalRegistry.get(schema)
    const id = schemaName(schema) ?? this.#names.get(schema)
    return id === undefined ? meta : ({ ...meta, id } as z.core.$replace<z.core.GlobalMeta, S>)
  }
}

/** A described copy of a named schema refers to it, and needs no name of its own. */
function hasNamedOrigin(schema: z.core.$ZodType): boolean {
  const parent = schema._zod.parent
  return parent !== undefined && (schemaName(parent) !== null || hasNamedOrigin(parent))
}

/** zod numbers unnamed recursive schemas; in the contract the only one is any JSON value. */
function isAnyJson(name: string): boolean {
  return name.startsWith('__schema')
}

/** Rewrites JSON Schema of zod for OpenAPI: components instead of `$defs`, `x-provenance`, no meaningless bounds. */
function rewrite(node: Json): Json {
  if (Array.isArray(node)) return node.map(rewrite)
  if (typeof node !== 'object' || node === null) return node
  const { provenance, decision, ...schema } = node
  if (typeof provenance !== 'string') {
    return Object.fromEntries(Object.entries(node).flatMap(([key, value]) => keyword(node, key, value)))
  }
  return {
    ...Object.fromEntries(Object.entries(schema).flatMap(([key, value]) => keyword(schema, key, value))),
    'x-provenance': { provenance, decision: decision ?? null },
  }
}

function keyword(schema: JsonObject, key: string, value: Json): [string, Json][] {
  if (key === '$ref' && typeof value === 'string') {
    const name = value.replace('#/$defs/', '')
    return [[key, `#/components/schemas/${isAnyJson(name) ? 'Json' : name}`]]
  }
  if (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) return []
  if (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) return []
  if (key === 'pattern' && schema.format === 'date-time') return []
  return [[key, rewrite(value)]]
}

function pathItems(endpoints: readonly Endpoint[], roots: ReadonlyMap<string, JsonObject>): JsonObject {
  const items: Record<string, JsonObject> = {}
  for (const endpoint of endpoints) {
    const item = items[endpoint.path] ?? {}
    item[endpoint.method.toLowerCase()] = operation(endpoint, roots)
    items[endpoint.path] = item
  }
  return items
}

function operation(endpoint: Endpoint, roots: ReadonlyMap<string, JsonObject>): JsonObject {
  const { id, summary, description, stability, provenance, rate } = endpoint
  const body = roots.get(`${id} body`)
  const parameters = [
    ...fieldParameters('path', roots.get(`${id} params`)),
    ...fieldParameters('query', roots.get(`${id} query`)),
    ...headerParameters(endpoint),
  ]
  return {
    operationId: id,
    tags: [tagOf(endpoint)],
    ...(stability === 'deprecated' ? { deprecated: true } : {}),
    summary,
    description,
    security: endpoint.credentials.map((credential) => ({ [credential]: [] })),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined && endpoint.body_media_type === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content:
              endpoint.body_media_type === undefined
                ? { 'application/json': { schema: body ?? {} } }
                : { [endpoint.body_media_type]: { schema: { type: 'string', format: 'binary' } } },
            'x-body-limit-bytes': endpoint.body_limit_bytes,
          },
        }),
    responses: {
      [endpoint.status]: success(endpoint, roots.get(`${id} response`)),
      ...notModified(endpoint),
      ...failures(endpoint),
    },
    'x-stability': stability,
    'x-rate-class': rate,
    'x-provenance': { provenance, decision: null },
  }
}

function fieldParameters(where: 'path' | 'query', schema: JsonObject | undefined): Json[] {
  const required = (schema?.required ?? []) as string[]
  return Object.entries((schema?.properties ?? {}) as JsonObject).map(([name, property]) => {
    const { description, 'x-provenance': provenance, ...rest } = property as JsonObject
    return {
      name,
      in: where,
      required: required.includes(name),
      description: description ?? '',
      schema: rest,
      'x-provenance': provenance ?? null,
    }
  })
}

function headerParameters({ request_headers = {} }: Endpoint): Json[] {
  return Object.entries(request_headers).map(([name, { type, required, description, provenance, decision }]) => ({
    name,
    in: 'header',
    required,
    description,
    schema: { type },
    'x-provenance': { provenance, decision },
  }))
}

function success({ summary, response, response_headers = [] }: Endpoint, schema: JsonObject | undefined): JsonObject {
  const content =
    'media_type' in response ? pageContent(response.media_type) : { 'application/json': { schema: schema ?? {} } }
  return { description: summary, headers: headerReferences(response_headers), content }
}

/** A response with an ETag is a 304 for a client that has it already. */
function notModified({ response_headers = [] }: Endpoint): JsonObject {
  if (!response_headers.includes('etag')) return {}
  return { 304: { description: 'Not modified: If-None-Match has the ETag.', headers: headerReferences(['etag']) } }
}

/** Returns one response per status: the causes with the error body, and those with a page. */
function failures(endpoint: Endpoint): JsonObject {
  const { pages = {}, response } = endpoint
  const headers: Readonly<Record<string, readonly ResponseHeader[]>> = failureHeaders
  const byStatus = Object.groupBy(
    failuresOf(endpoint),
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
          description: `${hasPages ? 'A page' : errorNames.join(', ')}: ${codes.join(', ')}`,
          headers: headerReferences(headers[status] ?? []),
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

function pageContent(media_type: string): JsonObject {
  return { [media_type.replace(/;.*/, '')]: { schema: { type: 'string' } } }
}

function headerReferences(names: readonly ResponseHeader[]): JsonObject {
  return Object.fromEntries(['x-request-id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function securitySchemes(): JsonObject {
  const schemes: Record<Credential, string> = {
    secret_key:
      'Secret key of a server: sk_test_ (Server Test Key, non-billable) or sk_live_. Never together with an Origin header.',
    activation_token:
      'Browser activation token, from POST /v1/browser/activate. Short-lived; bound to a project and an origin.',
    beacon_token: 'Created by the hosted frame for render.js; valid for the beacons of one asset token.',
  }
  return Object.fromEntries(
    Object.entries(schemes).map(([name, description]) => [name, { type: 'http', scheme: 'bearer', description }]),
  )
}

function partOf(id: string): Part {
  return id in v1 ? 'v1' : id in compat ? 'compat' : 'sandbox'
}

/** Returns the tag of an endpoint. What clients that exist send under /v1 is a part of the public API. */
function tagOf({ id, stability }: Endpoint): string {
  if (stability === 'deprecated') return stability
  return partOf(id) === 'sandbox' ? 'sandbox' : 'v1'
}

/** `placements.create` becomes `PlacementsCreate`. */
function pascalCase(id: string): string {
  return id.replace(/(?:^|[._-])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
