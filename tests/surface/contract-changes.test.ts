/**
 * The contract beside that of the last release: what breaks clients is named in the changelog, or fails here. Each rule is shown
 * on a small document that breaks it, and on changes that break nobody.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeChanges, findBreakingChanges, unnamedChanges } from '#build/contract/contract-changes.ts'
import { isRepository, readContractAt, readLastRelease } from '#build/contract/last-release.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { isObject, type Json, type JsonObject } from '#foundation/json.ts'

const root = join(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const current = JSON.parse(JSON.stringify(openapiDocument({ server_url: 'http://127.0.0.1:4010' }))) as JsonObject

/** None before the first release: there is no client that a change could break. */
const releases = [readLastRelease(version)].filter((release) => release !== null)

test.each(releases)('each change since $version that breaks clients is named in the changelog', (released) => {
  const changelog = readFileSync(join(root, 'docs/changelog.md'), 'utf8')
  expect(changelog).toContain(`\n## ${released.version}\n`)
  const unnamed = unnamedChanges(findBreakingChanges(released.document, current), changelog, released.version)
  expect(unnamed, describeChanges(unnamed)).toEqual([])
})

test.each(isRepository() ? ['HEAD'] : [])('the contract of %s is read from its sources', (commit) => {
  const document = readContractAt(commit)
  expect(Object.keys(document.paths as JsonObject)).toContain('/v1/placements')
  expect(findBreakingChanges(document, document)).toEqual([])
})

/** Changes of a contract: a path into the document, and what is put there; nothing is removed by undefined. */
type Edit = [path: string, value: Json | undefined]

const base: JsonObject = {
  paths: {
    '/v1/ads': {
      post: {
        security: [{ secret_key: [] }, { token: [] }],
        parameters: [
          { name: 'wait', in: 'query', required: false, schema: { type: 'integer', minimum: 0, maximum: 9 } },
        ],
        requestBody: {
          required: false,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Ask' } } },
        },
        responses: {
          200: {
            headers: { etag: {} },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Ad' } } },
          },
          409: { content: {} },
        },
      },
      get: { responses: {} },
    },
  },
  'x-websockets': { '/v1/feed': { get: { responses: { 101: {} } } } },
  components: {
    schemas: {
      Ask: {
        type: 'object',
        additionalProperties: false,
        required: ['topic'],
        properties: {
          topic: { type: 'string', minLength: 1, maxLength: 9, pattern: '^(shoes|coffee)$' },
          count: { type: ['number', 'null'] },
          format: { enum: ['banner', 'clip'] },
          tags: { type: 'array', maxItems: 3, items: { type: 'string' } },
          either: { anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'string' } } }] },
        },
      },
      Ad: {
        type: 'object',
        required: ['id', 'width'],
        properties: {
          id: { type: 'string' },
          width: { type: 'number' },
          format: { enum: ['banner', 'clip'] },
          more: { type: 'object', additionalProperties: { type: 'string' } },
          outcome: { anyOf: [{ const: 'fill' }, { type: 'null' }] },
        },
      },
    },
  },
}

function edited(...edits: Edit[]): JsonObject {
  const document = structuredClone(base)
  for (const [path, value] of edits) {
    const names = path.split(' ')
    const last = names.pop() ?? ''
    let at: Json = document
    for (const name of names) {
      const next: Json | undefined = Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined
      if (next === undefined) throw new Error(`The document has no ${path}.`)
      at = next
    }
    if (!isObject(at)) throw new Error(`The document has no object at ${path}.`)
    if (value === undefined) delete at[last]
    else at[last] = value
  }
  return document
}

const post = 'paths /v1/ads post'
const ask = 'components schemas Ask'
const ad = 'components schemas Ad'

describe('a change that breaks clients is found and named by its place', () => {
  test.each<[Edit, string]>([
    [['paths /v1/ads', undefined], 'POST /v1/ads: is gone'],
    [['paths /v1/ads get', undefined], 'GET /v1/ads: is gone'],
    [['x-websockets /v1/feed', undefined], 'GET /v1/feed: is gone'],
    [[`${post} security`, [{ secret_key: [] }]], 'POST /v1/ads: token is no longer enough'],
    [['paths /v1/ads get security', [{ token: [] }]], 'GET /v1/ads: no credential is no longer enough'],
    [[`${post} parameters`, []], 'POST /v1/ads query wait: is gone'],
    [[`${post} parameters 0 required`, true], 'POST /v1/ads query wait: is required now'],
    [
      ['paths /v1/ads get parameters', [{ name: 'key', in: 'header', required: true, schema: {} }]],
      'GET /v1/ads header key: is required now',
    ],
    [[`${post} parameters 0 schema maximum`, 8], 'POST /v1/ads query wait: maximum is 8 now, before 9'],
    [[`${post} parameters 0 schema minimum`, 1], 'POST /v1/ads query wait: minimum is 1 now, before 0'],
    [[`${post} requestBody required`, true], 'POST /v1/ads body: is required now'],
    [[`${post} requestBody content`, { 'text/plain': {} }], 'POST /v1/ads body: application/json is gone'],
    [[`${post} responses 409`, undefined], 'POST /v1/ads 409: is gone'],
    [[`${post} responses 200 headers`, {}], 'POST /v1/ads 200 header etag: is gone'],
    [[`${post} responses 200 content`, { 'text/plain': {} }], 'POST /v1/ads 200 body: application/json is gone'],
    [[`${ask} required`, ['topic', 'count']], 'Ask.count: is required now'],
    [[`${ask} properties count`, undefined], 'Ask.count: is gone'],
    [[`${ask} properties count type`, 'number'], 'Ask.count: the type null is no longer accepted'],
    [[`${ask} properties count type`, ['integer', 'null']], 'Ask.count: the type number is no longer accepted'],
    [[`${ask} properties format enum`, ['banner']], 'Ask.format: "clip" is no longer accepted'],
    [[`${ask} properties topic enum`, ['shoes']], 'Ask.topic: only "shoes" is accepted now'],
    [[`${ask} properties topic minLength`, 2], 'Ask.topic: minLength is 2 now, before 1'],
    [[`${ask} properties topic maxLength`, 8], 'Ask.topic: maxLength is 8 now, before 9'],
    [[`${ask} properties topic format`, 'email'], 'Ask.topic: format is "email" now, before unlimited'],
    [
      [`${ask} properties topic pattern`, '^(shoes)$'],
      'Ask.topic: pattern is "^(shoes)$" now, before "^(shoes|coffee)$"',
    ],
    [[`${ask} properties tags maxItems`, 2], 'Ask.tags: maxItems is 2 now, before 3'],
    [[`${ask} properties tags items type`, 'number'], 'Ask.tags[]: the type string is no longer accepted'],
    [[`${ask} properties either anyOf`, [{ type: 'string' }]], 'Ask.either|2: the type object is no longer accepted'],
    [[`${ad} properties width`, undefined], 'Ad.width: is gone'],
    [[`${ad} required`, ['id']], 'Ad.width: may be absent now'],
    [[`${ad} properties width type`, ['number', 'null']], 'Ad.width: the type null is new in responses'],
    [[`${ad} properties width type`, 'string'], 'Ad.width: the type string is new in responses'],
    [[`${ad} properties format enum`, ['banner', 'clip', 'native']], 'Ad.format: "native" is new in responses'],
    [[`${ad} properties format`, { type: 'string' }], 'Ad.format: any value is sent now, not only "banner", "clip"'],
    [[`${ad} properties more additionalProperties type`, 'number'], 'Ad.more.*: the type number is new in responses'],
    [
      [`${ad} properties outcome anyOf`, [{ const: 'fill' }, { const: 'no_fill' }, { type: 'null' }]],
      'Ad.outcome|2: "no_fill" is new in responses',
    ],
  ])('%j', (edit, expected) => {
    const found = findBreakingChanges(base, edited(edit)).map(({ place, problem }) => `${place}: ${problem}`)
    expect(found).toContain(expected)
    // The removal of a path is that of each of its operations.
    expect(found).toHaveLength(edit[0] === 'paths /v1/ads' ? 2 : 1)
  })

  test('a field of an object that also has alternatives, whose fields may get types', () => {
    const either = (topic: JsonObject) => [
      { anyOf: [{ required: ['topic'], properties: { topic } }, { required: ['tags'] }] },
    ]
    const before = edited([`${ask} allOf`, either({})])
    const typed = edited([`${ask} allOf`, either({ type: 'string' })])
    expect(findBreakingChanges(before, typed)).toEqual([])
    const without = edited([`${ask} allOf`, either({})], [`${ask} properties count`, undefined])
    expect(findBreakingChanges(before, without)).toEqual([{ place: 'Ask.count', problem: 'is gone' }])
  })

  test('closing an object that was open', () => {
    const open = edited([`${ask} additionalProperties`, undefined])
    expect(findBreakingChanges(open, base)).toEqual([{ place: 'Ask', problem: 'unknown fields are refused now' }])
  })
})

test.each<Edit>([
  ['paths /v1/ads get description', 'Words.'],
  ['paths /v1/new', { get: { responses: {} } }],
  ['paths /v1/ads put', { responses: {} }],
  [`${post} security`, [{ token: [] }, { secret_key: [] }, { admin: [] }]],
  [`${post} parameters 0 schema`, { type: 'number' }],
  ['paths /v1/ads get parameters', [{ name: 'page', in: 'query', required: false, schema: {} }]],
  [`${post} responses 503`, { content: {} }],
  [`${ask} properties more`, { type: 'string' }],
  [`${ask} required`, []],
  [`${ask} properties topic maxLength`, 99],
  [`${ask} properties topic minLength`, undefined],
  [`${ask} properties topic pattern`, '^(shoes|tea|coffee)$'],
  [`${ask} properties format enum`, ['banner', 'clip', 'native']],
  [`${ad} properties more2`, { type: 'string' }],
  [`${ad} required`, ['id', 'width', 'format']],
  [`${ad} properties format enum`, ['banner']],
  [`${ad} properties width type`, 'integer'],
  [`${ad} properties outcome anyOf`, [{ const: 'fill' }]],
  [`${ad} description`, 'Words.'],
])('%j breaks nobody', (...edit) => {
  expect(findBreakingChanges(base, edited(edit))).toEqual([])
})

describe('a change is named', () => {
  const changes = [
    { place: 'GET /v1/ads query wait', problem: 'is gone' },
    { place: 'Ad.render.width', problem: 'is gone' },
  ]
  const unnamed = (entry: string) =>
    unnamedChanges(
      changes,
      `# Changelog\n\n## Unreleased\n\n- New.\n${entry}\n\n## 0.1.0\n\n- Contract: \`Ad\``,
      '0.1.0',
    )

  test.each([
    '- Contract: `GET /v1/ads query wait` and `Ad.render.width` are gone.',
    '- Contract: `GET /v1/ads` takes\n  no wait, `Ad.render` has no width.',
    '- Contract: `GET /v1/ads` ...\n- Contract: `Ad` ...',
  ])('%s', (entry) => {
    expect(unnamed(entry)).toEqual([])
  })

  test.each([
    ['elsewhere in the changelog, as in an earlier version', ''],
    ['outside of an entry of the contract', '- `GET /v1/ads` and `Ad` are different.'],
    ['without backquotes', '- Contract: GET /v1/ads and Ad.'],
    ['by the beginning of another word', '- Contract: `GET /v1/a`, `A` and `Ad.ren`.'],
  ])('not %s', (_, entry) => {
    expect(unnamed(entry)).toEqual(changes)
  })

  test('or the message says which, and what to write', () => {
    expect(describeChanges(changes)).toBe(`\
2 changes of the contract break clients of the last release, and docs/changelog.md does not name them:
  GET /v1/ads query wait: is gone
  Ad.render.width: is gone
Undo them, or name each place, or what it is part of, under "Unreleased": - Contract: \`PLACE\` ...`)
  })
})
