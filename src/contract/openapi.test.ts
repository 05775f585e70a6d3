import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../foundation/json.ts'
import { type Endpoint, failuresOf } from './endpoint.ts'
import { ErrorBody, reasonCodes } from './errors.ts'
import { contract } from './index.ts'
import { openapiDocument } from './openapi.ts'

type Node = { [key: string]: Json }

const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' })
const components = document.components as Record<string, Record<string, Node>>
const operations = Object.values<Endpoint>(contract).map((endpoint) => ({
  endpoint,
  operation: at(document, `#/paths/${endpoint.path.replaceAll('/', '~1')}/${endpoint.method.toLowerCase()}`) as Node,
}))

test('every endpoint is there, with its parameters, body, credentials and response', () => {
  for (const { endpoint, operation } of operations) {
    const { id, path, params, query, body, credentials, status, response } = endpoint
    expect(operation, id).toMatchObject({ operationId: id, 'x-stability': endpoint.stability })
    const names = (where: string) =>
      ((operation.parameters ?? []) as Node[]).filter((row) => row.in === where).map(({ name }) => name)
    expect(names('path'), id).toEqual([...path.matchAll(/{(\w+)}/g)].map(([, name]) => name))
    expect(names('path'), id).toEqual(Object.keys(params?.shape ?? {}))
    expect(names('query'), id).toEqual(Object.keys(query?.shape ?? {}))
    const bodyType = body === undefined ? endpoint.body_media_type : 'application/json'
    const bodyContent = (operation.requestBody as Node | undefined)?.content as Node | undefined
    expect(Object.keys(bodyContent ?? {}), id).toEqual(bodyType === undefined ? [] : [bodyType])
    expect((operation.security as Node[]).flatMap(Object.keys), id).toEqual([...credentials])
    const { content } = (operation.responses as Node)[status] as Node
    const media_type = 'media_type' in response ? response.media_type.replace(/;.*/, '') : 'application/json'
    expect(Object.keys(content as Node), id).toEqual([media_type])
  }
  expect(operations.length).toBe(
    Object.values(document.paths as Node).flatMap((item) => Object.keys(item as Node)).length,
  )
})

test('every cause is named under its status, every other one has an example', () => {
  for (const { endpoint, operation } of operations) {
    const named = Object.values(operation.responses as Record<string, Node>).flatMap(
      (row) => row['x-reason-codes'] ?? [],
    )
    expect(named.toSorted(), endpoint.id).toEqual(failuresOf(endpoint).toSorted())
  }
  expect(Object.keys(components.examples ?? {})).toEqual(Object.keys(reasonCodes))
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
  expect([...keys].filter((key) => key === '$defs' || key === '$schema' || key.startsWith('__'))).toEqual([])
  expect(JSON.stringify(document)).not.toMatch(/9007199254740991|#\/\$defs/)
})

// That it is valid OpenAPI, and every reference resolves, is checked in tests/docs/openapi.test.ts.
test('identifiers of operations are unique, and credentials are described', () => {
  const ids = operations.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const scheme of operations.flatMap(({ operation }) => (operation.security as Node[]).flatMap(Object.keys))) {
    expect(components.securitySchemes).toHaveProperty(scheme)
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
