import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Endpoint } from '#contract/endpoint.ts'
import { compat, contract } from '#contract/index.ts'
import { looseObject, strictObject } from '#contract/objects.ts'
import { BrowserJobRequest, JobRequest } from '#contract/resources/jobs.ts'
import { fastParse, needsFullParse } from './fast-parse.ts'

const endpoints = { ...contract, ...compat } as Record<string, Endpoint>

/** The schemas of all bodies and queries. */
const schemas: [name: string, schema: z.ZodType, isQuery: boolean][] = [
  ...Object.entries(endpoints).flatMap(([id, { query, body }]) => [
    ...(body === undefined ? [] : [[`${id} body`, body, false] as const]),
    ...(query === undefined ? [] : [[`${id} query`, query, true] as const]),
  ]),
  ['a job', JobRequest, false],
  ['a job of a browser', BrowserJobRequest, false],
].map(([name, schema, isQuery]) => [name as string, schema as z.ZodType, isQuery === true])

describe('an acceptor agrees with the parser of the schema', () => {
  test.each(schemas)('%s', (_name, schema, isQuery) => {
    const values = anyValue(schema, isQuery ? fc.string() : anything)
    fc.assert(
      fc.property(values, (value) => expectAgreement(schema, value)),
      { numRuns: isQuery ? 20 : 100 },
    )
  })

  const shortText = z.string().min(2).max(4)
  const cases: [name: string, schema: z.ZodType, values: unknown[]][] = [
    ['text is counted in characters', shortText, ['a', 'ab', '😀', '😀😀', '😀😀😀😀', '😀😀😀😀😀', 'abcde']],
    ['patterns', z.string().regex(/^a/).regex(/b$/), ['ab', 'a', 'b', 'axb']],
    ['a stateful pattern', z.string().regex(/a/g), ['a', 'a', 'ba', 'b']],
    ['formats', z.iso.datetime({ offset: true }), ['2026-01-01T00:00:00Z', '2026-01-01']],
    ['numbers', z.number().min(0).max(1), [0, -0, 1, 0.5, 1.1, -1, Number.NaN, Number.POSITIVE_INFINITY, '1']],
    ['bounds that are not values', z.number().gt(0).lt(1), [0, 0.5, 1]],
    ['whole numbers', z.int(), [0, 1.5, 2 ** 53, -(2 ** 53), Number.MAX_SAFE_INTEGER]],
    ['other formats of numbers', z.int32(), [0, 2 ** 31, 2 ** 31 - 1]],
    ['values that are converted', z.coerce.number(), ['1', 1, 'a']],
    ['defaults', strictObject(() => ({ a: z.string().default('b') })), [{}, { a: 'c' }, { a: 1 }]],
    ['nullable', z.string().nullable(), [null, 'a', undefined, 1]],
    ['lists', z.array(z.int()).min(1).max(2), [[], [1], [1, 2], [1, 2, 3], ['1'], { length: 1 }]],
    ['a union takes its first variant', z.union([z.object({ a: z.string() }), looseAny]), [{ a: 'b', c: 1 }, { c: 1 }]],
    ['a loose object', looseObject(() => ({ a: z.string() })), [{ a: 'b', c: 1 }, { c: 1 }]],
    ['changed text', z.string().trim().toLowerCase(), [' A ', 1]],
    ['a refinement', z.string().refine((text) => text !== 'a'), ['a', 'b']],
    ['of an object', strictObject(() => ({ a: z.int() })).refine(({ a }) => a > 1), [{ a: 1 }, { a: 2 }]],
    ['of a list', z.array(z.int()).refine(({ length }) => length > 1), [[1], [1, 2]]],
    ['of a choice', z.enum(['a', 'b']).refine((text) => text !== 'a'), ['a', 'b', 'c']],
    ['an object with its own fields only', strictObject(() => ({ constructor: z.unknown().optional() })), [{}, []]],
    ['a list is no object', strictObject(() => ({})), [{}, [], [1], null, 'a']],
    ['a field named __proto__', strictObject(() => ({})), [JSON.parse('{"__proto__":1}')]],
  ]
  test.each(cases)('%s', (_name, schema, values) => {
    for (const value of values) expectAgreement(schema, value)
  })
})

test('usual requests are accepted without the parser, with their fields in the order of the schema', () => {
  const placement = {
    session_id: 'chat-42',
    client_id: 'proj_demo',
    job_type: 'chat',
    overrides: { allowed_formats: ['banner'], bidfloor: 1.5 },
    slot_hint: { position: 'inline', max_width: 640 },
    prompt: { topic: 'keyboards' },
    consent: { semantic_targeting: true, prompt_shared: false },
  }
  const beacon = {
    beacon_id: 'beacon-0001',
    asset_token: 'ast_00000000001_x',
    event: 'visible',
    occurred_at_ms: 1_795_213_525_892,
    measurements: { visible_ratio: 1, visible_ms: 1000, page_visible: true },
  }
  for (const [id, body] of [
    ['placements.create', placement],
    ['beacons.send', beacon],
  ] as const) {
    const schema = contract[id].body!
    const byParser = JSON.stringify(schema.parse(body))
    const { run } = schema._zod
    schema._zod.run = () => {
      throw new Error('the parser was used')
    }
    try {
      expect(JSON.stringify(fastParse(schema, body))).toBe(byParser)
    } finally {
      schema._zod.run = run
    }
  }
})

const looseAny = z.looseObject({})

/** An accepted value is the value that the parser returns, with its properties in the same order. */
function expectAgreement(schema: z.ZodType, value: unknown): void {
  const accepted = fastParse(schema, value)
  if (accepted === needsFullParse) return
  const parsed = schema.safeParse(value)
  expect(parsed.success, `the parser refuses ${JSON.stringify(value)}`).toBe(true)
  expect(accepted).toStrictEqual(parsed.data)
  expect(JSON.stringify(accepted)).toBe(JSON.stringify(parsed.data))
}

/** Values that a schema mostly accepts, some with parts that are of another kind, at a bound, missing, or unknown. */
function anyValue(schema: z.core.$ZodType, others: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 24, arbitrary: anyUsual(schema, others) }, { weight: 1, arbitrary: others })
}

const anything = fc.oneof(
  fc.constantFrom<unknown>(null, true, '', 'a', '😀', -1, -0, 0.5, Number.POSITIVE_INFINITY, 2 ** 60, [], {}, [null]),
  fc.jsonValue({ maxDepth: 2 }),
)

function anyUsual(schema: z.core.$ZodType, others: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const inside = (inner: z.core.$ZodType) => anyValue(inner, others)
  switch (def.type) {
    case 'object': {
      const fields = Object.entries(def.shape).map(([name, field]) => [name, inside(field)])
      const needed = Object.keys(def.shape).filter((name) => def.shape[name]!._zod.def.type !== 'optional')
      const record = fc.record<Record<string, unknown>>(Object.fromEntries(fields), { requiredKeys: needed })
      const unknownNames = fc.constantFrom('other', '__proto__', 'constructor')
      return fc.oneof(
        { weight: 5, arbitrary: record.map((value) => ({ ...value })) },
        { weight: 4, arbitrary: record.map((value) => Object.fromEntries(Object.entries(value).reverse())) },
        { weight: 1, arbitrary: fc.tuple(record, unknownNames, others).map((parts) => withField(...parts)) },
      )
    }
    case 'array':
      return fc.array(inside(def.element), { maxLength: 3 })
    case 'enum':
    case 'literal':
      return fc.constantFrom(...schema._zod.values!)
    case 'union':
      return fc.oneof(...def.options.map(inside))
    case 'nullable':
      return fc.oneof(inside(def.innerType), fc.constant(null))
    case 'optional':
      return inside(def.innerType)
    case 'boolean':
      return fc.boolean()
    case 'number':
      return fc.oneof(fc.constantFrom(0, 1, 2, 4096, 1_000_000), fc.double(), fc.integer())
    case 'string':
      return fc.oneof(anyText(schema), fc.string({ unit: 'grapheme', maxLength: 300 }))
    default:
      return others
  }
}

/** Texts that match the pattern of a schema, if it has one. */
function anyText(schema: z.core.$ZodType): fc.Arbitrary<string> {
  const { pattern } = (schema as z.core.$ZodString)._zod
  const isPlain = pattern !== undefined && !/\(\?[=!<]|\\p/.test(pattern.source)
  return isPlain ? fc.stringMatching(pattern) : fc.string()
}

function withField(value: Record<string, unknown>, name: string, inner: unknown): Record<string, unknown> {
  const result = { ...value }
  Object.defineProperty(result, name, { value: inner, enumerable: true, configurable: true, writable: true })
  return result
}
