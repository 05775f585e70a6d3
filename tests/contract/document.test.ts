import { describe, expect, test } from 'vitest'
import { responseHeaders } from '#contract/endpoint.ts'
import { errorCodes, reasonCodes } from '#contract/errors.ts'
import { v1 } from '#contract/index.ts'
import { contractListing } from '#contract/listing.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import { BeaconEventInput, beaconEventSpellings, beaconEvents } from '#contract/resources/beacons.ts'
import {
  additionalErrors,
  adoptedNoFillReasons,
  adoptedReasonCodes,
  adoptedSpellings,
  sandboxReasonCodes,
} from './adopted-tables.ts'
import { documentedBeaconKinds, documentedEndpoints, documentedErrors, documentedFields } from './api-document.ts'

const fields = new Map(
  contractListing().endpoints.flatMap(({ id, fields }) =>
    fields.map((field) => [key(id, field.where, field.variant, field.path), field] as const),
  ),
)

describe('endpoints', () => {
  test('v1 is exactly what the document lists', () => {
    expect(Object.keys(v1).toSorted()).toEqual(documentedEndpoints.map(({ id }) => id).toSorted())
  })

  test.each(documentedEndpoints)('$method $path', ({ id, method, path, credentials, stability }) => {
    const endpoint = v1[id as keyof typeof v1]
    expect(endpoint).toMatchObject({ id, method, path, stability, provenance: 'documented' })
    const presented = endpoint.credentials.filter((credential) => credential !== 'beacon_token')
    if (credentials !== null) expect(presented).toEqual(credentials)
  })

  test('activation needs an Origin header, a rate limit responds with Retry-After', () => {
    expect(v1['browser.activate'].request_headers.Origin).toMatchObject({ required: true, provenance: 'documented' })
    expect(responseHeaders['retry-after'].provenance).toBe('documented')
  })
})

describe('fields that the document states', () => {
  const rows = Object.entries(documentedFields).flatMap(([place, fields]) =>
    fields.map(([path, type, required, values]) => ({ name: `${place} ${path}`, type, required, values })),
  )

  test.each(rows)('$name', ({ name, type, required, values }) => {
    const field = fields.get(name)
    expect(field).toBeDefined()
    expect(field?.provenance).toBe('documented')
    if (type !== null) expect(field?.type).toBe(type)
    if (values !== undefined) expect(field?.values).toEqual(values)
    if (required !== null) expect(field?.required).toBe(required)
  })

  test('no other field of v1 is documented, except fields of a resource that the document describes', () => {
    const stated = new Set(rows.map(({ name }) => name))
    const fieldPaths = new Set(rows.map(({ name }) => name.split(' ').at(-1)))
    const claims = [...fields].filter(([name, { provenance }]) => {
      return provenance === 'documented' && name.split(' ')[0]! in v1 && !stated.has(name)
    })
    const unfounded = claims.filter(([name, { path }]) => {
      const isFieldOfResource = path.includes('.') || name.startsWith('decisions.get response')
      return !(isFieldOfResource && fieldPaths.has(path))
    })
    expect(unfounded.map(([name]) => name)).toEqual([])
  })
})

describe('errors', () => {
  test('the documented codes have the documented status', () => {
    const documented = Object.entries(errorCodes).filter(([, { provenance }]) => provenance === 'documented')
    expect(Object.fromEntries(documented.map(([code, { status }]) => [code, status]))).toEqual(documentedErrors)
  })

  test('the others are the adopted additions', () => {
    const others = Object.entries(errorCodes).filter(([, { provenance }]) => provenance !== 'documented')
    expect(Object.fromEntries(others.map(([code, { status }]) => [code, status]))).toEqual(additionalErrors)
  })

  test('reason codes by status are the adopted ones and those of the sandbox', () => {
    const byStatus = Object.groupBy(contractListing().reason_codes, ({ status }): number => status)
    const statuses = new Set([...Object.keys(adoptedReasonCodes), ...Object.keys(sandboxReasonCodes)].map(Number))
    expect(Object.keys(byStatus).map(Number)).toEqual([...statuses].toSorted((a, b) => a - b))
    for (const status of statuses) {
      const expected = [...(adoptedReasonCodes[status] ?? []), ...(sandboxReasonCodes[status] ?? [])]
      expect(byStatus[status]?.map(({ reason_code }) => reason_code as string).toSorted()).toEqual(expected.toSorted())
    }
  })

  test('every cause states what happened and what to do', () => {
    for (const [code, { message, hint }] of Object.entries(reasonCodes)) {
      expect(message, code).toMatch(/\.$/)
      expect(hint, code).toMatch(/\.$/)
    }
  })
})

describe('no-fill reasons and beacons', () => {
  test('no-fill reasons are the adopted table', () => {
    const rows = Object.entries(noFillReasons).map(([code, { origin, nbr, retry }]) => [code, [origin, nbr, retry]])
    expect(Object.fromEntries(rows)).toEqual(adoptedNoFillReasons)
  })

  test('beacon kinds are the documented ones, spellings the adopted ones', () => {
    expect(beaconEvents).toEqual(documentedBeaconKinds)
    expect(beaconEventSpellings).toEqual(adoptedSpellings)
    expect(BeaconEventInput.options).toEqual([...documentedBeaconKinds, ...Object.keys(adoptedSpellings)])
  })
})

function key(id: string, where: string, variant: string | null, path: string): string {
  return [id, where, ...(variant === null ? [] : [variant]), path].join(' ')
}
