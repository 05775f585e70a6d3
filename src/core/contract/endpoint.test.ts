import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { type Endpoint, listFailures, responseHeaders } from './endpoint.ts'
import { contract, type EndpointId } from './index.ts'
import { warnings } from './warnings.ts'

const causesOf = (id: EndpointId) => listFailures(contract[id])

describe('causes of failure follow from the declaration', () => {
  test('without a body, credentials, a rate or a database there is little that can fail', () => {
    expect(causesOf('render.script')).toEqual(['http_malformed', 'injected_fault', 'internal_error'])
    expect(causesOf('health.live')).toEqual([
      'http_malformed',
      'origin_refused',
      'secret_in_field',
      'field_unknown',
      'internal_error',
    ])
  })

  test.each<[EndpointId, string[]]>([
    ['decisions.get', ['json_malformed', 'body_empty', 'content_type_unsupported', 'payload_too_large']],
    ['projects.config', ['json_malformed', 'body_empty', 'project_mismatch']],
    ['browser.activate', ['activation_token_expired', 'token_in_wrong_place']],
    ['beacons.send', ['project_mismatch', 'not_found']],
    ['clock.freeze', ['body_empty', 'credential_missing', 'rate_limited', 'injected_fault']],
  ])('%s cannot fail as endpoints of another kind do', (id, others) => {
    expect(causesOf(id).filter((code) => others.includes(code))).toEqual([])
  })

  test.each<[EndpointId, string[]]>([
    ['decisions.get', ['rate_limited', 'schema_invalid', 'secret_key_in_browser', 'not_found']],
    ['beacons.send', ['payload_too_large', 'body_empty', 'origin_mismatch', 'beacon_stale']],
    ['browser.activate', ['schema_invalid', 'rate_limited', 'origin_missing']],
    ['snapshots.delete', ['schema_invalid', 'not_found', 'storage_unavailable', 'origin_refused']],
  ])('%s has the causes of its parts and its own', (id, causes) => {
    expect(causesOf(id)).toEqual(expect.arrayContaining(causes))
  })

  test('each is named once', () => {
    for (const id of Object.keys(contract) as EndpointId[]) {
      expect(new Set(causesOf(id)).size, id).toBe(causesOf(id).length)
    }
  })
})

/** The parts of a schema that are read: its components, and the checks of a text. */
interface Definition {
  shape?: Record<string, z.core.$ZodType>
  options?: readonly z.core.$ZodType[]
  checks?: readonly { _zod: { def: { check: string; format?: string; error?: unknown } } }[]
  check?: string
  format?: string
  error?: unknown
  [part: string]: unknown
}

/** Returns the paths of texts for which zod would word the error of a wrong form. */
function unworded(schema: z.core.$ZodType, path: string): string[] {
  const definition = schema._zod.def as unknown as Definition
  const { shape = {}, options = [], checks = [] } = definition
  const forms = [definition, ...checks.map(({ _zod }) => _zod.def)].filter(({ check }) => check === 'string_format')
  const parts = ['innerType', 'element', 'in', 'out', 'valueType'].map((name) => definition[name])
  const inner = [...options, ...parts].filter((each) => each !== undefined) as z.core.$ZodType[]
  return [
    ...forms.filter(({ error }) => error === undefined).map(({ format }) => `${path}: ${format}`),
    ...inner.flatMap((each) => unworded(each, path)),
    ...Object.entries(shape).flatMap(([name, field]) => unworded(field, `${path}.${name}`)),
  ]
}

test('a text of the wrong form is refused in our own words', () => {
  const found = Object.entries<Endpoint>(contract).flatMap(([id, { params, query, body }]) =>
    [params, query, body].flatMap((schema) => (schema === undefined ? [] : unworded(schema, id))),
  )
  expect(found).toEqual([])
})

test('an endpoint for servers lists the warning of a secret key from a page, an alias its deprecation and successor', () => {
  for (const { id, credentials, successor, status, response_headers = [] } of Object.values<Endpoint>(contract)) {
    if (status === 101) continue
    if (credentials.includes('secret_key')) expect(response_headers, id).toContain('x-sandbox-warning')
    if (successor !== undefined) expect(response_headers, id).toEqual(expect.arrayContaining(['deprecation', 'link']))
  }
})

test('the header of warnings names each of them', () => {
  const [, names = ''] = responseHeaders['x-sandbox-warning'].description.split('tolerated: ')
  expect(names.replace('.', '').split(', ')).toEqual(Object.keys(warnings))
})
