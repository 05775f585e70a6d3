/** Where each field of the contract comes from: documented, observed or assumed, as this sandbox lists it. */
import { useEffect, useState } from 'react'
import { call } from './api.ts'

export interface FieldOrigin {
  provenance: string
  /** The decision that it follows from, such as A31. */
  decision: string | null
  description: string
}

/** Fields of one part of an endpoint by their dotted path; elements of arrays count as their array. */
export type Provenance = ReadonlyMap<string, FieldOrigin>

export type Part = 'params' | 'query' | 'body' | 'response'

/** What GET /_sandbox/contract lists of an endpoint. */
export interface ListedEndpoint {
  id: string
  method: string
  path: string
  stability: string
  provenance: string
  fields: ({ where: Part; path: string; type: string; required: boolean; variant: string | null } & FieldOrigin)[]
}

let listing: Promise<readonly ListedEndpoint[]> | undefined

/** Resolves to the endpoints of this sandbox, read once. */
export async function readEndpoints(): Promise<readonly ListedEndpoint[]> {
  listing ??= call('contract.show').then(({ endpoints }) => endpoints as unknown as ListedEndpoint[])
  try {
    return await listing
  } catch (error) {
    listing = undefined
    throw error
  }
}

/** Returns a path without the marks of arrays: `beacons[].event` and `beacons.0.event` are `beacons.event`. */
export function plainPath(path: string): string {
  return path.replace(/\[\d*\]/g, '').replace(/\.\d+(?=\.|$)/g, '')
}

/** Returns the provenance of the fields of an endpoint's part once it is read; until then none. */
export function useProvenance(endpoint: string | undefined, part: Part): Provenance | undefined {
  const [found, setFound] = useState<Provenance>()
  useEffect(() => {
    if (endpoint === undefined) return
    let isShown = true
    readEndpoints().then(
      (endpoints) => {
        const fields = endpoints.find(({ id }) => id === endpoint)?.fields ?? []
        const own = fields.filter(({ where }) => where === part)
        if (isShown) setFound(new Map(own.map((field) => [plainPath(field.path), field])))
      },
      // Without it the values are shown all the same.
      () => undefined,
    )
    return () => {
      isShown = false
    }
  }, [endpoint, part])
  return found
}
