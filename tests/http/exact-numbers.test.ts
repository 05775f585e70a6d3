/** Numbers with more digits than JavaScript keeps: kept, compared and returned as they were sent. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Endpoint, isControlPlane } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { isExactNumber, parseExactly } from '#foundation/json/exact-numbers.ts'
import { withTypedNumbers } from '#pipeline/body/typed-numbers.ts'
import type { Response } from './call.ts'
import { asked, beacon, type Filled, fill, key, type Stage, stage } from './stage.ts'

const numbers = [
  '9007199254740993',
  '-12345678901234567890',
  '0.1000000000000000055511151231257827',
  '1.00000000000000001e3',
]

/** The text of a body with a number where JSON.stringify would round it. */
function textOf(body: Record<string, unknown>, field: string, number: string): string {
  return `${JSON.stringify(body).slice(0, -1)},${JSON.stringify(field)}:${number}}`
}

async function send(on: Stage, filled: Filled, beacon_id: string, metadata: string) {
  const raw = textOf(beacon(on.clock, filled, 'heartbeat', { beacon_id }), 'metadata', metadata)
  return on.api.send('POST', '/v1/beacons', { as: key, raw })
}

async function journaled(on: Stage, { headers }: Response<unknown>): Promise<string> {
  const params = { request_id: String(headers['x-request-id']) }
  return (await on.api.accept('requests.show', { params })).body.request_body!
}

test.each(numbers)(
  '%s in the metadata of a beacon keeps its digits in the list, the journal and a replay',
  async (number) => {
    await using on = await stage()
    const filled = await fill(on.api)
    const sent = await send(on, filled, 'exact-01', `{"order":${number},"list":[${number}]}`)
    expect(sent.status, sent.text).toBe(200)
    const listed = await on.api.send('GET', `/_sandbox/beacons?slot_id=${filled.slot_id}`)
    expect(listed.text).toContain(`"metadata":{"order":${number},"list":[${number}]}`)
    expect(await journaled(on, sent)).toContain(`"metadata":{"order":${number},"list":[${number}]}`)
    const replayed = await on.api.accept('requests.replay', {
      params: { request_id: sent.headers['x-request-id'] as string },
      body: { set: { 'metadata.order.part': 1, seq: 7 } },
    })
    expect(replayed.body.exchange.request_body).toContain(`"metadata":{"order":{"part":1},"list":[${number}]}`)
  },
)

test('a beacon whose metadata differs in a digit that is rounded away is another one; the same digits repeat it', async () => {
  await using on = await stage()
  const filled = await fill(on.api)
  const answer = async (metadata: string) => {
    const { status, body } = await send(on, filled, 'exact-02', metadata)
    return [status, (body as { reason_code: string }).reason_code]
  }
  expect(await answer('{"a":1,"order":9007199254740993}')).toEqual([200, 'OK'])
  expect(await answer('{"order":9007199254740993,"a":1}')).toEqual([200, 'DUPLICATE'])
  const others = ['9007199254740992', '9007199254740994', '"9007199254740993"', '{"rawJSON":"9007199254740993"}']
  for (const other of others)
    expect(await answer(`{"a":1,"order":${other}}`), other).toEqual([400, 'beacon_id_conflict'])
})

test('an old beacon keeps the digits of what becomes metadata, and its measurements stay numbers', async () => {
  await using on = await stage()
  const filled = await fill(on.api)
  const raw = `{"beacon_id":"exact-03","asset_token":"${filled.asset_token}","beacon_type":"visible_started",
    "occurred_at_ms_client":${on.clock.now()},"measurements":{"visible_ratio":0.60000000000000000001,"visible_ms":1000,"order":9007199254740993}}`
  const sent = await on.api.send('POST', contract['wrapper.beacon'].path, { as: key, raw })
  expect(sent.status, sent.text).toBe(200)
  const listed = await on.api.send('GET', `/_sandbox/beacons?slot_id=${filled.slot_id}`)
  expect(listed.text).toContain('"metadata":{"order":9007199254740993}')
})

test('placements and jobs keep the digits of their free objects in the journal, refused ones too', async () => {
  await using on = await stage()
  const free = '{"order":9007199254740993}'
  for (const path of ['/v1/placements', '/v1/jobs']) {
    const accepted = await on.api.send('POST', path, { as: key, raw: textOf(asked(), 'targeting', free) })
    expect(accepted.status, accepted.text).toBeLessThan(300)
    expect(await journaled(on, accepted)).toContain(free)
    const refused = await on.api.send('POST', path, {
      as: key,
      raw: textOf(asked({ job_type: 'none' }), 'targeting', free),
    })
    expect(refused.status).toBe(400)
    expect(await journaled(on, refused)).toContain(free)
  }
})

test('a field with a type judges the number as before, whatever its digits', async () => {
  await using on = await stage()
  const status = async (overrides: string) =>
    (await on.api.send('POST', '/v1/placements', { as: key, raw: textOf(asked(), 'overrides', overrides) })).status
  expect(await status('{"bidfloor":0.10000000000000000001}')).toBe(200)
  expect(await status('{"frequency_cap":{"session":9007199254740993}}')).toBe(400)
  expect(await status('{"targeting":{"order":1e999,"other":9007199254740993}}')).toBe(400)
})

const number = '12345678901234567890'

/** Returns a body with an exact number in every number, and in every place for any JSON. */
function sample(schema: z.core.$ZodType): unknown {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'number':
    case 'unknown':
      return parseExactly(number)
    case 'optional':
    case 'nullable':
      return sample(def.innerType)
    case 'pipe':
      return sample(def.out)
    case 'array':
      return [sample(def.element)]
    case 'record':
      return { any: sample(def.valueType) }
    case 'union':
      return sample(
        def.options.find((option) => (option as z.core.$ZodTypes)._zod.def.type === 'object') ?? def.options[0]!,
      )
    case 'object': {
      const fields = Object.entries(def.shape).map(([name, field]) => [name, sample(field)])
      const isLoose = def.catchall !== undefined && (def.catchall as z.core.$ZodTypes)._zod.def.type === 'unknown'
      return Object.fromEntries(isLoose ? [...fields, ['any', parseExactly(number)]] : fields)
    }
    case 'string':
    case 'enum':
    case 'literal':
    case 'boolean':
      return null
    default:
      throw new Error(`say here and in typed-numbers.ts where numbers are in a ${def.type}`)
  }
}

/** Paths of exact numbers whose place in the schema has a type, and of other numbers in places for any JSON. */
function misplaced(schema: z.core.$ZodType, value: unknown, path: string): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'unknown') return isExactNumber(value) ? [] : [path]
  if (def.type === 'number') return typeof value === 'number' ? [] : [path]
  if (def.type === 'optional' || def.type === 'nullable') return misplaced(def.innerType, value, path)
  if (def.type === 'pipe') return misplaced(def.out, value, path)
  if (def.type === 'array') return (value as unknown[]).flatMap((item) => misplaced(def.element, item, `${path}.0`))
  if (def.type === 'record') return misplaced(def.valueType, (value as { any: unknown }).any, `${path}.any`)
  if (def.type === 'union') {
    const found = def.options.map((option) => misplaced(option, value, path))
    return found.some((paths) => paths.length === 0) ? [] : found[0]!
  }
  if (def.type !== 'object') return []
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = Object.hasOwn(def.shape, name) ? def.shape[name] : def.catchall
    return misplaced(field!, inner, `${path}.${name}`)
  })
}

const bodies = Object.entries<Endpoint>(contract).flatMap(([id, endpoint]) =>
  isControlPlane(endpoint) || endpoint.body === undefined
    ? []
    : [
        [id, endpoint.body] as const,
        ...(endpoint.old_client_body === undefined ? [] : [[`${id}, old`, endpoint.old_client_body] as const]),
      ],
)

test.each(bodies)('%s: exact numbers are only where the contract permits any JSON', (_, body) => {
  const variants = body instanceof z.ZodUnion ? (body.options as z.core.$ZodType[]) : [body]
  for (const variant of variants) {
    expect(misplaced(variant, withTypedNumbers(variant, sample(variant)), '')).toEqual([])
  }
})
