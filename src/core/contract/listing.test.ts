import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Endpoint } from './endpoint.ts'
import { contract } from './index.ts'
import { contractListing, endpointFields, type ListedField } from './listing.ts'
import { assumed } from './objects.ts'

const listing = contractListing()

function field(endpoint: string, where: string, path: string, variant: string | null = null): ListedField | undefined {
  return listing.endpoints
    .find(({ id }) => id === endpoint)
    ?.fields.find((row) => row.where === where && row.path === path && row.variant === variant)
}

test('the listing matches the schema of its endpoint', () => {
  expect(contract['contract.show'].response.parse(JSON.parse(JSON.stringify(listing)))).toEqual(listing)
  expect(listing.endpoints.map(({ id }) => id)).toEqual(Object.keys(contract))
})

test('a field has its type, its values and its provenance', () => {
  expect(field('placements.create', 'body', 'overrides.allowed_formats')).toEqual({
    where: 'body',
    path: 'overrides.allowed_formats',
    variant: null,
    type: 'string[]',
    values: ['banner', 'clip', 'native'],
    limits: 'at least 1 item',
    required: false,
    provenance: 'documented',
    decision: null,
    description: expect.stringMatching(/^Formats that may fill/),
  })
  expect(field('placements.create', 'body', 'prompt')?.type).toBe('object | string')
  expect(field('placements.create', 'response', 'placement')?.type).toBe('object | null')
  expect(field('decisions.get', 'query', 'wait_ms')?.type).toBe('integer')
  expect(field('placements.list', 'response', 'items[].created_at_ms')?.required).toBe(true)
})

test('the limits of a field are in words: range, length and items, including those of a union and of each item', () => {
  const limits = (endpoint: string, path: string, where = 'body') => field(endpoint, where, path)?.limits
  expect(limits('placements.create', 'slot_hint.max_width')).toBe('1 to 4,096')
  expect(limits('placements.create', 'prompt.text')).toBe('at most 8,000 characters')
  expect(limits('placements.create', 'prompt')).toBe('at most 8,000 characters')
  expect(limits('placements.create', 'overrides.blocked_categories')).toBe(
    'at most 256 items, each 1 to 256 characters',
  )
  expect(limits('placements.create', 'slots_requested')).toBe('1 to 4')
  expect(limits('placements.list', 'limit', 'query')).toBe('1 to 1,000')
  expect(limits('placements.create', 'job_type')).toBeNull()
})

test('each variant of a value is listed under its name', () => {
  expect(field('placements.create', 'response', 'decision.format', 'FillDecision')?.provenance).toBe('documented')
  expect(field('placements.create', 'response', 'decision.format', 'NoFillDecision')).toMatchObject({
    type: 'null',
    provenance: 'assumed',
    decision: 'A31',
  })
  expect(field('jobs.create', 'body', 'job.job_type', 'BrowserJobRequest')?.provenance).toBe('documented')
})

test('an unnamed variant is named by its constant', () => {
  const endpoint: Endpoint = {
    ...contract['health.live'],
    response: z.union([
      z.object({ kind: assumed(z.literal('fixed'), 'A93', 'Kind.'), ms: assumed(z.int(), 'A93', 'Time.') }),
      z.object({ kind: assumed(z.literal('spread'), 'A93', 'Kind.') }),
    ]),
  }
  expect(endpointFields(endpoint).map(({ path, variant }) => [path, variant])).toEqual([
    ['kind', 'kind: fixed'],
    ['ms', 'kind: fixed'],
    ['kind', 'kind: spread'],
  ])
})

test('no field is listed twice', () => {
  for (const { id, fields } of listing.endpoints) {
    const keys = fields.map(({ where, path, variant }) => `${where} ${path} ${variant}`)
    expect(new Set(keys).size, id).toBe(keys.length)
  }
})

test('a field without provenance is an error that names it', () => {
  const endpoint: Endpoint = {
    ...contract['health.live'],
    response: z.object({ outer: assumed(z.object({ inner: z.string() }), 'A93', 'An object.') }),
  }
  expect(() => endpointFields(endpoint)).toThrow('health.live: response outer.inner has no provenance')
})

test('causes have their status, no-fill reasons whether to retry', () => {
  expect(listing.reason_codes.find(({ reason_code }) => reason_code === 'beacon_stale')).toMatchObject({
    error: 'validation_error',
    status: 400,
    retryable: false,
  })
  expect(listing.no_fill_reasons.find(({ no_fill_reason }) => no_fill_reason === 'policy_block')).toMatchObject({
    nbr: 7,
    retryable: false,
  })
})
