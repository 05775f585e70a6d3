/** A collection in the Postman Collection Format, version 2.1. */
import type { JsonObject } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { Collection, CollectionFolder, CollectionRequest, Field, Variable } from './collection.ts'
import { bodyValue, indent, laterName, laterValue, literal, maxPolls, replaceVariables, usesLater } from './scripts.ts'

const schema = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'

/** Returns the file that Postman imports and newman runs. */
export function writePostman({ name, about, variables, folders }: Collection): JsonObject {
  return {
    info: { name, description: about, schema },
    item: folders.map(folderItem),
    variable: variables.map(variableItem),
  }
}

function folderItem({ name, about, requests }: CollectionFolder): JsonObject {
  return { name, description: about, item: requests.map(requestItem) }
}

/** `secret` masks the value; the schema of 2.1 has no type for it. */
function variableItem({ name, value, is_secret, about }: Variable): JsonObject {
  return { key: name, value, type: 'string', description: about, ...(is_secret ? { secret: true } : {}) }
}

function requestItem(request: CollectionRequest): JsonObject {
  const sent = requestDefinition(request)
  const before = usesLater(request) ? [script('prerequest', [`pm.variables.set('${laterName}', ${laterValue});`])] : []
  return {
    name: request.name,
    event: [...before, script('test', testLines(request))],
    request: { ...sent, description: request.about },
    response: Object.entries(request.responses).map(([name, body]) => ({
      name: name.replaceAll('_', ' '),
      originalRequest: sent,
      status: request.status === 201 ? 'Created' : 'OK',
      code: request.status,
      _postman_previewlanguage: 'json',
      header: [{ key: 'Content-Type', value: 'application/json; charset=utf-8' }],
      cookie: [],
      body: JSON.stringify(body, null, 2),
    })),
  }
}

function requestDefinition({ method, path, query, headers, bearer, body }: CollectionRequest): JsonObject {
  const sent = query.filter(({ is_sent }) => is_sent).map(({ name, value }) => `${name}=${value}`)
  const json = body === null ? [] : [{ key: 'Content-Type', value: 'application/json' }]
  return {
    method,
    header: [...json, ...headers.map(fieldItem)],
    auth:
      bearer === null
        ? { type: 'noauth' }
        : { type: 'bearer', bearer: [{ key: 'token', value: `{{${bearer}}}`, type: 'string' }] },
    url: {
      raw: `{{base_url}}${path}${sent.length === 0 ? '' : `?${sent.join('&')}`}`,
      host: ['{{base_url}}'],
      path: path.slice(1).split('/'),
      ...(query.length === 0 ? {} : { query: query.map(fieldItem) }),
    },
    ...(body === null
      ? {}
      : {
          body: {
            mode: 'raw',
            raw: withDynamicVariables(JSON.stringify(body, null, 2)),
            options: { raw: { language: 'json' } },
          },
        }),
  }
}

function fieldItem({ name, value, is_sent, about }: Field): JsonObject {
  return { key: name, value, description: about, ...(is_sent ? {} : { disabled: true }) }
}

/** Postman has variables for a new identifier and for the present time. */
function withDynamicVariables(text: string): string {
  const own: Readonly<Record<string, string>> = { new_id: '$guid', now: '$isoTimestamp' }
  return replaceVariables(text, (name) => `{{${findEntry(own, name) ?? name}}}`)
}

function script(listen: 'prerequest' | 'test', exec: string[]): JsonObject {
  return { listen, script: { type: 'text/javascript', exec } }
}

function testLines(request: CollectionRequest): string[] {
  const { status, is_json, captured, expected, is_poll } = request
  const lines = [`pm.test('The status is ${status}', () => pm.response.to.have.status(${status}));`]
  if (!is_json) return lines
  const checks = [
    ...Object.entries(expected).map(
      ([path, value]) =>
        `pm.test('${path} is ${value}', () => pm.expect(${bodyValue(path)}).to.eql(${literal(value)}));`,
    ),
    ...Object.entries(captured).map(
      ([name, path]) => `pm.collectionVariables.set('${name}', ${bodyValue(path)} ?? '');`,
    ),
  ]
  if (checks.length === 0) return lines
  return [...lines, 'const body = pm.response.json();', ...(is_poll ? pollLines(checks) : checks)]
}

/** A pending decision sends the request again. */
function pollLines(checks: readonly string[]): string[] {
  return [
    `const polls = body.status === 'pending' ? Number(pm.variables.get('polls') ?? 0) + 1 : 0;`,
    `pm.variables.set('polls', polls);`,
    `if (polls > 0 && polls < ${maxPolls}) {`,
    '  pm.execution.setNextRequest(pm.info.requestName);',
    '} else {',
    ...indent(checks),
    '}',
  ]
}
