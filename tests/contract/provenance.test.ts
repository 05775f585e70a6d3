import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { choices } from '#build/docs/choices.ts'
import { type Endpoint, responseHeaders } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { contractListing } from '#contract/listing.ts'

const { endpoints } = contractListing()

describe('every field of every endpoint, at every level', () => {
  test.each(endpoints)('$id', ({ fields }) => {
    for (const { where, path, provenance, decision, description } of fields) {
      const name = `${where} ${path}`
      expect(['documented', 'observed', 'assumed'], name).toContain(provenance)
      expect(description, name).toMatch(/^\S.*\.$/)
      if (provenance !== 'documented') expect(decision, name).not.toBeNull()
      if (decision !== null) expect(choices, name).toHaveProperty(decision)
    }
  })
})

test('the bounds of a documented field of a request are a decision of ours, unless the document states them', () => {
  const bounded = endpoints
    .filter(({ path }) => path.startsWith('/v1/'))
    .flatMap(({ id, fields }) => fields.map((field) => ({ ...field, name: `${id} ${field.path}` })))
    .filter(({ where, provenance, limits }) => where !== 'response' && provenance === 'documented' && limits !== null)
  expect(bounded.length).toBeGreaterThan(10)
  const stated = /overrides\.allowed_formats$/
  expect(bounded.flatMap(({ name, decision }) => (decision === null && !stated.test(name) ? name : []))).toEqual([])
})

test('every endpoint has a summary and a description', () => {
  for (const { id, summary, description } of Object.values<Endpoint>(contract)) {
    expect(summary, id).toMatch(/^\S.*[^.]$/)
    expect(description, id).toMatch(/^\S.*\.$/)
  }
})

test('every header has a provenance', () => {
  for (const { decision, description } of [
    ...Object.values(responseHeaders),
    ...Object.values<Endpoint>(contract).flatMap(({ request_headers = {} }) => Object.values(request_headers)),
  ]) {
    expect(choices).toHaveProperty(decision)
    expect(description).toMatch(/\.$/)
  }
})

test('decisions have ids such as A31, those of old clients such as C03', () => {
  for (const id of Object.keys(choices)) expect(id).toMatch(/^(?:A\d{2,3}|C\d\d)$/)
})

test('every decision that a comment of the contract names exists', () => {
  const text = ['fields.ts', 'limits.ts', 'endpoint.ts', 'errors.ts', 'resources/beacons.ts', 'resources/jobs.ts']
    .map((file) => readFileSync(new URL(`../../src/core/contract/${file}`, import.meta.url), 'utf8'))
    .join('\n')
  for (const [id] of text.matchAll(/\bA\d\d\b/g)) expect(choices).toHaveProperty(id)
})
