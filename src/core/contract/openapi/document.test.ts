import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '#foundation/json.ts'
import { type Endpoint, isControlPlane, listFailures } from '../endpoint.ts'
import { ErrorBody, ReasonCode } from '../errors.ts'
import { encodeId, formatKey } from '../ids.ts'
import { contract, type EndpointId, schemaName } from '../index.ts'
import { openapiDocument } from './document.ts'
import { examples } from './examples.ts'

type Node = { [key: string]: Json }

const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' })
const components = document.components as Record<string, Record<string, Node>>
const operations = Object.values<Endpoint>(contract).map((endpoint) => ({
  endpoint,
  operation: at(
    document,
    `#/${endpoint.status === 101 ? 'x-websockets' : 'paths'}/${endpoint.path.replaceAll('/', '~1')}/${endpoint.method.toLowerCase()}`,
  ) as Node,
}))

test('every link leads from a field of a response to a parameter of an operation of the same document', () => {
  let count = 0
  for (const only of [undefined, 'v1', 'sandbox'] as const) {
    const part = openapiDocument({ server_url: 'http://127.0.0.1:4010', only })
    const all = Object.values(part.paths as Node).flatMap((item) => Object.values(item as Node) as Node[])
    for (const { operationId, responses } of all) {
      for (const { links = {}, content } of Object.values(responses as Node) as Node[]) {
        for (const link of Object.values(links as Node) as Node[]) {
          const [[name, expression] = ['', '']] = Object.entries(link.parameters as Record<string, string>)
          const target = all.find((operation) => operation.operationId === link.operationId)
          expect(
            ((target?.parameters ?? []) as Node[]).map((parameter) => parameter.name),
            `${operationId}`,
          ).toContain(name)
          const pointer = expression.replace('$response.body#/', '').split('/')
          const schema = ((content as Node)['application/json'] as Node).schema as Node
          expect(hasField(schema, pointer), `${operationId}: ${expression}`).toBe(true)
          count++
        }
      }
    }
  }
  expect(count).toBeGreaterThan(30)
})

/** Whether a schema, or one of its alternatives, has a field at a path. */
function hasField(schema: Node, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true
  if (typeof schema.$ref === 'string') return hasField(at(document, schema.$ref) as Node, [name, ...rest])
  const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) => (some ?? []) as Node[])
  if (alternatives.some((one) => hasField(one, [name, ...rest]))) return true
  const field = name === '0' ? schema.items : (schema.properties as Node | undefined)?.[name]
  return field !== undefined && hasField(field as Node, rest)
}

test('every endpoint is there, with its parameters, body, credentials and response', () => {
  for (const { endpoint, operation } of operations) {
    const { id, path, params, query, body, credentials, status, response } = endpoint
    expect(operation, id).toMatchObject({ 'x-endpoint-id': id, 'x-stability': endpoint.stability })
    const names = (where: string) =>
      ((operation.parameters ?? []) as Node[]).filter((row) => row.in === where).map(({ name }) => name)
    expect(names('path'), id).toEqual([...path.matchAll(/{(\w+)}/g)].map(([, name]) => name))
    expect(names('path'), id).toEqual(Object.keys(params?.shape ?? {}))
    expect(names('query'), id).toEqual(Object.keys(query?.shape ?? {}))
    const bodyType = body === undefined ? endpoint.body_media_type : 'application/json'
    const bodyContent = (operation.requestBody as Node | undefined)?.content as Node | undefined
    expect(Object.keys(bodyContent ?? {}), id).toEqual(bodyType === undefined ? [] : [bodyType])
    const schemes = isControlPlane(endpoint) ? ['admin_token'] : [...credentials]
    expect((operation.security as Node[]).flatMap(Object.keys), id).toEqual(schemes)
    const { content = {} } = (operation.responses as Node)[status] as Node
    const media_type = 'media_type' in response ? response.media_type.replace(/;.*/, '') : 'application/json'
    // A socket has no content that OpenAPI could describe.
    expect(Object.keys(content as Node), id).toEqual(status === 101 ? [] : [media_type])
  }
  expect(operations.length).toBe(
    [document.paths, document['x-websockets']].flatMap((part) =>
      Object.values(part as Node).flatMap((item) => Object.keys(item as Node)),
    ).length,
  )
})

test('every cause is named under its status, with an example; no other cause has one', () => {
  for (const { endpoint, operation } of operations) {
    const named = Object.values(operation.responses as Record<string, Node>).flatMap(
      (row) => row['x-reason-codes'] ?? [],
    )
    expect(named.toSorted(), endpoint.id).toEqual(listFailures(endpoint).toSorted())
  }
  // Handshakes have theirs in place.
  const responses = operations.filter(({ endpoint }) => endpoint.pages === undefined && endpoint.status !== 101)
  const used = new Set<ReasonCode>(responses.flatMap(({ endpoint }) => listFailures(endpoint)))
  expect(Object.keys(components.examples ?? {})).toEqual(ReasonCode.options.filter((code) => used.has(code)))
  for (const { value } of Object.values(components.examples ?? {})) ErrorBody.parse(value)
})

test('the frame responds with pages, not with the error body', () => {
  const responses = at(document, '#/paths/~1v1~1render~1{asset_token}/get/responses') as Record<string, Node>
  expect(responses['404']).toMatchObject({ 'x-reason-codes': ['asset_token_invalid', 'asset_token_expired'] })
  expect(Object.keys(responses['404']?.content as Node)).toEqual(['text/html'])
})

test('every property, parameter and header has a provenance', () => {
  const marked = (row: Node) =>
    expect.soft(row['x-provenance'], JSON.stringify(row)).toMatchObject({ provenance: expect.any(String) })
  const properties = nodes(document).flatMap((node) => (isSchema(node) ? Object.values(node.properties as Node) : []))
  expect(properties.length).toBeGreaterThan(300)
  for (const property of properties) marked(property as Node)
  for (const { operation } of operations)
    for (const parameter of (operation.parameters ?? []) as Node[]) marked(parameter)
  for (const header of Object.values(components.headers ?? {})) marked(header)
})

test('zod leaves nothing of its own behind', () => {
  const keys = new Set(nodes(document).flatMap(Object.keys))
  const own = ['$defs', '$schema', 'keywords']
  expect([...keys].filter((key) => own.includes(key) || key.startsWith('__'))).toEqual([])
  const formats = new Set(schemaNodes(document).flatMap(({ format }) => (typeof format === 'string' ? [format] : [])))
  expect([...formats].toSorted()).toEqual(['binary', 'date-time', 'int64'])
  expect(JSON.stringify(document)).not.toMatch(/9007199254740991|#\/\$defs/)
})

// That it is valid OpenAPI, and every reference resolves, is checked in tests/docs/openapi.test.ts.
test('identifiers of operations are unique names in any language, and credentials are described', () => {
  const ids = operations.map(({ operation }) => String(operation.operationId))
  expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]*$/)
  expect(ids).toEqual(expect.arrayContaining(['placementsCreate', 'beaconsSend', 'clockAdvance']))
  for (const scheme of operations.flatMap(({ operation }) => (operation.security as Node[]).flatMap(Object.keys))) {
    expect(components.securitySchemes).toHaveProperty(scheme)
  }
})

test('every tag is described and used', () => {
  const tags = (document.tags as Node[]).map(({ name }) => name)
  expect(new Set(operations.flatMap(({ operation }) => operation.tags))).toEqual(new Set(tags))
  for (const { description } of document.tags as Node[]) expect(description).toMatch(/^[A-Z].*\.$/)
})

describe('components', () => {
  test('include every shape that occurs twice', () => {
    const inline = new Map<string, number>()
    for (const schema of schemaNodes(document)) {
      if (!isNameworthy(schema)) continue
      const shape = JSON.stringify(schema, (key, value) =>
        key === 'x-provenance' || key === 'description' ? undefined : value,
      )
      inline.set(shape, (inline.get(shape) ?? 0) + 1)
    }
    expect(inline.size).toBeGreaterThan(100)
    expect([...inline].filter(([, count]) => count > 1)).toEqual([])
  })

  test('each is referred to', () => {
    const text = JSON.stringify(document)
    for (const kind of ['schemas', 'headers', 'examples']) {
      for (const name of Object.keys(components[kind] ?? {})) expect(text).toContain(`"#/components/${kind}/${name}"`)
    }
  })

  test('have names declared by the contract, or named after an operation', () => {
    const declared = operations.flatMap(({ endpoint: { id } }) =>
      ['Request', 'Response'].map(
        (part) => `${id.replace(/(^|[._])([a-z])/g, (_, __, letter: string) => letter.toUpperCase())}${part}`,
      ),
    )
    const names = Object.keys(components.schemas ?? {}).filter((name) => !declared.includes(name) && name !== 'Json')
    expect(names.length).toBeGreaterThan(100)
    expect(names.filter((name) => !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining(['ReasonCode', 'SlotId', 'Placement', 'AllowedFormats']))
    expect(schemaName(ReasonCode)).toBe('ReasonCode')
  })
})

describe('what the parser leaves to rules', () => {
  test('formats: at least one, each once', () => {
    expect(components.schemas?.AllowedFormats).toMatchObject({ minItems: 1, uniqueItems: true })
  })

  test('beacons: one of two times', () => {
    const { properties, allOf } = components.schemas!.BeaconRequest as Record<string, Json>
    const { description: _, 'x-provenance': __, ...text } = (properties as Record<string, Node>).occurred_at!
    expect(allOf).toEqual([
      {
        anyOf: [
          { required: ['occurred_at'], properties: { occurred_at: text } },
          { required: ['occurred_at_ms'], properties: { occurred_at_ms: components.schemas?.EpochMs } },
        ],
      },
    ])
  })

  test('identifiers and keys have patterns that real ones match', () => {
    const readPattern = (name: string) => new RegExp(String(components.schemas?.[name]?.pattern))
    expect(encodeId('slot', 1_234_567_890_123)).toMatch(readPattern('SlotId'))
    expect(encodeId('job', Number.MAX_SAFE_INTEGER)).toMatch(readPattern('JobId'))
    expect('slot_0000000000i').not.toMatch(readPattern('SlotId'))
    const { publishable_key } = at(document, '#/components/schemas/ActivationRequest/properties') as Record<
      string,
      Node
    >
    expect(formatKey('publishable', 'live', 'x')).toMatch(new RegExp(String(publishable_key?.pattern)))
    expect(formatKey('secret', 'live', 'x')).not.toMatch(new RegExp(String(publishable_key?.pattern)))
  })

  test('integers that may exceed 32 bits say so', () => {
    expect(components.schemas?.EpochMs).toEqual({ type: 'integer', format: 'int64', minimum: 0 })
    expect(at(document, '#/components/schemas/SlotHint/properties/max_width')).not.toHaveProperty('format')
  })
})

test('the renderer is sent whole, in part, or not at all', () => {
  const responses = at(document, '#/paths/~1v1~1render.js/get/responses') as Record<string, Node>
  expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '206', '304', '416']))
  expect(responses['416']).not.toHaveProperty('content')
  expect(Object.keys(responses['206']?.headers as Node)).toContain('content-range')
})

test('a body is optional where an empty one will do', () => {
  const optional = operations.flatMap(({ endpoint, operation }) =>
    (operation.requestBody as Node | undefined)?.required === false ? [endpoint.id] : [],
  )
  expect(optional.toSorted()).toEqual([
    'callbacks.resend',
    'clock.freeze',
    'clock.resume',
    'console.confirm',
    'faults.add',
    'keys.create',
    'keys.revoke',
    'projects.update',
    'requests.count',
    'requests.find',
    'requests.nearest',
    'requests.replay',
    'sandbox.reset',
    'sandbox.stop',
    'scenario.use',
    'snapshots.restore',
    'snapshots.save',
    'tokens.revoke',
  ])
})

test.each(Object.entries(examples))('the examples of %s are valid', (id, { body = {}, response = {} }) => {
  const endpoint: Endpoint = contract[id as EndpointId]
  for (const [name, value] of Object.entries<unknown>(body)) {
    expect(() => (endpoint.branch?.(value) ?? endpoint.body)?.parse(value), name).not.toThrow()
  }
  for (const [name, value] of Object.entries<unknown>(response)) {
    expect(() => (endpoint.response as z.ZodType).parse(value), name).not.toThrow()
  }
})

test('a named schema is the same as input and as output', () => {
  for (const { body, response } of Object.values<Endpoint>(contract)) {
    for (const schema of [body, response]) {
      if (!(schema instanceof z.ZodType)) continue
      expect(z.toJSONSchema(schema, { io: 'input' })).toEqual(z.toJSONSchema(schema, { io: 'output' }))
    }
  }
})

/** Every object of the document, however deep. */
function nodes(value: Json): Node[] {
  if (Array.isArray(value)) return value.flatMap(nodes)
  if (typeof value !== 'object' || value === null) return []
  return [value, ...Object.values(value).flatMap(nodes)]
}

/** Every schema of the document, however deep. */
function schemaNodes(value: Json): Node[] {
  return nodes(value).filter((node) => ['type', 'anyOf', 'oneOf', 'enum', 'const'].some((key) => key in node))
}

/** A shape with fields, alternatives, values or a pattern of its own; not one that is another, a list of it, or null. */
function isNameworthy(schema: Node): boolean {
  if (isSchema(schema) || 'enum' in schema || typeof schema.pattern === 'string') return true
  const options = (schema.anyOf ?? schema.oneOf ?? []) as Node[]
  return options.filter(({ type }) => type !== 'null').length > 1 && !options.every((option) => 'required' in option)
}

function isSchema(node: Node): boolean {
  return node.type === 'object' && typeof node.properties === 'object'
}

function at(root: Json, pointer: string): Json | undefined {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<Json | undefined>((node, step) => (node as Node | undefined)?.[step], root)
}
