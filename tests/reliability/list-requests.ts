/**
 * Requests to every endpoint that reads many rows: each list without a filter, with every value of each filter, and with
 * pages of the largest size. An endpoint or a filter that is missing here is found by `unplaced`.
 */
import type { Endpoint } from '#contract/endpoint.ts'
import { contract, type EndpointId } from '#contract/index.ts'

/** A request to a sandbox. */
export interface Asked {
  path: string
  method?: Endpoint['method']
  query?: string
  body?: unknown
  file?: Blob
}

/** Values of every filter, by the name of its field: those of many rows, of few, of old ones, and of none. */
const values: Readonly<Record<string, readonly string[]>> = {
  foreign: ['true'],
  client_id: ['proj_demo', 'proj_other', 'nowhere'],
  trace_id: ['4bf92f3577b34da6a3ce929d0e0e4736'],
  session_id: ['hot', 'old', 's40000', 's49999', 'nowhere'],
  slot_id: ['slot_00000000000'],
  slot_ids: ['slot_00000000000', 'slot_00000000001,slot_00000000002'],
  without_slot: ['true'],
  since: ['0', '1m', '1h', '100d'],
  until: ['0', '1m', '1h', '100d'],
  event: ['heartbeat', 'play_completed'],
  verdict: ['accepted', 'rejected', 'duplicate'],
  format: ['banner', 'clip'],
  fill: ['true', 'false'],
  kind: ['beacon', 'decision', 'consent'],
  method: ['POST', 'DELETE'],
  path: ['/v1/placements', '*/beacons', '/nowhere'],
  status: ['200', '500'],
  status_class: ['2xx', '5xx'],
  reason: ['schema_invalid'],
  key: ['sk_test', 'sk_live'],
  after: ['req_00000000000'],
  after_seq: ['0', '999000'],
  checkpoint: ['true', 'false'],
  details: ['true'],
  full: ['true'],
  limit: ['1000'],
  cursor: [],
  since_seq: ['0'],
  type: ['callback.failed'],
  token: ['nobody'],
  job_id: ['job_00000000000'],
  campaign_id: ['cmp_sorrelbox', 'cmp_nowhere'],
  beacon_id: ['beacon-1', 'nowhere'],
  billed: ['true', 'false'],
  metric: ['click', 'viewable_impression'],
  gross_cpm: ['4.5', '0.001'],
  currency: ['EUR', 'XXX'],
  decided: ['true', 'false'],
  reached: ['framed', 'rendered', 'visible', 'billable'],
  with_reached: ['true'],
  with_beacons: ['true'],
  missing: ['framed', 'rendered', 'visible', 'billable'],
  from_slot_id: ['slot_00000000000'],
  media: ['true', 'false'],
  by: ['day', 'campaign', 'format', 'job_type', 'session', 'country'],
}

/** Endpoints that read or write a few rows, found by their key, whatever else there is. */
const brief: readonly EndpointId[] = [
  'callbacks.resend',
  'faults.list',
  'faults.add',
  'faults.clear',
  'faults.remove',
  'scenario.list',
  'scenario.use',
  'scenario.clear',
  'clock.show',
  'clock.freeze',
  'clock.resume',
  'projects.show',
  'projects.create',
  'projects.update',
  'keys.create',
  'keys.revoke',
  'requests.show',
  'requests.replay',
  'health.live',
  'health.ready',
  'sandbox.metrics',
  'contract.show',
  'contract.openapi',
  'sandbox.stop',
  'snapshots.delete',
  'placements.explain',
  'bundles.page',
  'bundles.list',
  'bundles.show',
  'bundles.import',
  'demand.replace',
  'console.list',
  'console.confirm',
  'console.revoke',
  'tokens.create',
  'tokens.revoke',
  'namespaces.delete',
]

/** What is sent to an endpoint beside its filters, where that takes a body or a part of the path. */
const bodies: Partial<Record<EndpointId, readonly unknown[]>> = {
  'requests.find': [{ path: '/v1/beacons' }, { body: { event: 'click' } }, { session_id: 'nowhere', limit: 1_000 }],
  'requests.count': [{ method: 'POST' }, { body: { event: 'render' } }],
  'requests.nearest': [{ path: '/v1/beacons', body: { event: 'click' } }],
}
const params = { client_id: 'proj_demo', name: 'large' }

/** Endpoints that read, write or replace the whole state. */
const whole: readonly EndpointId[] = [
  'clock.advance',
  'clock.set',
  'sandbox.export',
  'sandbox.import',
  'sandbox.reset',
  'snapshots.save',
  'snapshots.restore',
]

/** The control plane. Endpoints of the API itself read and write the rows of one slot or session, found by their key. */
const control = Object.values<Endpoint>(contract).filter(({ path }) => path.startsWith('/_sandbox/'))

/** The endpoints that read many rows. */
export const readers = control.filter(({ id }) => ![...brief, ...whole].some((other) => other === id))

/** Returns the endpoints that are in none of the lists above, and the filters without a value. */
export function unplaced(): string[] {
  const endpoints = readers.filter(({ id, method }) => method !== 'GET' && bodies[id as EndpointId] === undefined)
  const filters = new Set(readers.flatMap(({ query }) => Object.keys(query?.shape ?? {})))
  return [...endpoints.map(({ id }) => id), ...[...filters].filter((name) => values[name] === undefined)]
}

/** The requests of an endpoint: without a filter, with each value of each, and with each in pages of the largest size. */
export function listRequests({ id, path, method, query }: Endpoint): Record<string, Asked> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof params) => params[name])
  const all: Record<string, Asked> = {}
  if (method !== 'GET') {
    for (const body of bodies[id as EndpointId] ?? []) all[JSON.stringify(body)] = { method, path: filled, body }
    return all
  }
  if (id === 'events.stream') return { 'a long history': { path: filled, query: 'since_seq=1&type=callback.failed' } }
  all[''] = { path: filled }
  const names = Object.keys(query?.shape ?? {})
  const pages = names.includes('limit') ? ['', '&limit=1000'] : ['']
  for (const name of names) {
    for (const value of anyValue(id, name)!) {
      for (const page of pages) {
        const text = `${name}=${encodeURIComponent(value)}${name === 'limit' ? '' : page}`
        all[text] = { path: filled, query: text }
      }
    }
  }
  return all
}

/** Values of filters that have others in one list. */
const ownValues: Readonly<Record<string, readonly string[]>> = {
  'evidence.manifest client_id': ['proj_demo', 'proj_other'],
  'callbacks.list status': ['failed', 'delivered'],
  'beacons.list reason': ['schema_invalid', 'BELOW_THRESHOLD', 'COMPLETED_TOO_FAST,DUPLICATE'],
  'placements.list reason': ['schema_invalid', 'BELOW_THRESHOLD', 'no_demand,DUPLICATE'],
}

function anyValue(id: string, name: string): readonly string[] | undefined {
  return ownValues[`${id} ${name}`] ?? values[name]
}
