/** Where each field of the contract comes from: documented, observed or assumed, as this sandbox lists it. */
import { call, type EndpointOutput } from './api.ts'
import { useLoaded } from './resource.ts'

export interface FieldOrigin {
  provenance: string
  /** The decision that it follows from, such as A31. */
  decision: string | null
  description: string
}

/** Fields of one part of an endpoint by their dotted path; elements of arrays count as their array. */
export type Provenance = ReadonlyMap<string, FieldOrigin>

export type Part = 'params' | 'query' | 'body' | 'response'

export interface ListedEndpoint {
  id: string
  method: string
  path: string
  stability: string
  provenance: string
  fields: ({ where: Part; path: string; type: string; required: boolean; variant: string | null } & FieldOrigin)[]
}

export function listedEndpoints({ endpoints }: EndpointOutput<'contract.show'>): readonly ListedEndpoint[] {
  return endpoints as unknown as ListedEndpoint[]
}

let listing: Promise<readonly ListedEndpoint[]> | undefined

/** Resolves to the endpoints of this sandbox, read once. */
export async function readEndpoints(): Promise<readonly ListedEndpoint[]> {
  listing ??= call('contract.show').then(listedEndpoints)
  try {
    return await listing
  } catch (error) {
    listing = undefined
    throw error
  }
}

/** Returns a path without array markers: `beacons[].event` and `beacons.0.event` are `beacons.event`. */
export function plainPath(path: string): string {
  return path.replace(/\[\d*\]/g, '').replace(/\.\d+(?=\.|$)/g, '')
}

/** Returns the provenance of the fields of an endpoint's part once it is read; until then none. */
export function useProvenance(endpoint: string | undefined, part: Part): Provenance | undefined {
  // The values are shown even without it.
  const { data } = useLoaded(`${endpoint} ${part}`, async (): Promise<Provenance | undefined> => {
    if (endpoint === undefined) return undefined
    const fields = (await readEndpoints()).find(({ id }) => id === endpoint)?.fields ?? []
    return new Map(fields.filter(({ where }) => where === part).map((field) => [plainPath(field.path), field]))
  }).state
  return data ?? undefined
}
