/**
 * The links of the OpenAPI document: which value of a response is a parameter of which later request. Generators of tests
 * and of clients follow them.
 */
import type { JsonObject } from '#foundation/json.ts'
import type { EndpointId } from '../index.ts'
import { operationId } from './components.ts'

/** An endpoint that follows, the parameter of its path, and where the response has its value, as a JSON pointer. */
type Link = readonly [follows: EndpointId, parameter: string, pointer: string]

const ofProject: readonly Link[] = [
  ['projects.show', 'client_id', '/client_id'],
  ['projects.update', 'client_id', '/client_id'],
  ['keys.list', 'client_id', '/client_id'],
  ['keys.create', 'client_id', '/client_id'],
  ['evidence.export', 'client_id', '/client_id'],
]

const links: Partial<Record<EndpointId, readonly Link[]>> = {
  'placements.create': [
    ['decisions.get', 'slot_id', '/slot_id'],
    ['render.frame', 'asset_token', '/placement/asset_token'],
  ],
  'decisions.get': [['render.frame', 'asset_token', '/placement/asset_token']],
  'jobs.create': [['decisions.get', 'slot_id', '/slot_ids/0']],
  'wrapper.job': [
    ['wrapper.decision', 'slot_id', '/slot_ids/0'],
    ['wrapper.ticket', 'slot_id', '/slot_ids/0'],
    ['wrapper.generation', 'job_id', '/job_id'],
    ['generation.report', 'job_id', '/job_id'],
  ],
  'placements.list': [['placements.explain', 'slot_id', '/items/0/slot_id']],
  'beacons.list': [['placements.explain', 'slot_id', '/items/0/slot_id']],
  'callbacks.list': [['callbacks.resend', 'slot_id', '/items/0/slot_id']],
  'requests.list': [
    ['requests.show', 'request_id', '/items/0/request_id'],
    ['requests.replay', 'request_id', '/items/0/request_id'],
  ],
  'projects.create': ofProject,
  'projects.list': [['projects.show', 'client_id', '/items/0/client_id']],
  'keys.create': [['keys.revoke', 'key_id', '/key_id']],
  'keys.list': [['keys.revoke', 'key_id', '/items/0/key_id']],
  'faults.add': [['faults.remove', 'fault_id', '/fault_id']],
  'faults.list': [['faults.remove', 'fault_id', '/items/0/fault_id']],
  'snapshots.save': [
    ['snapshots.restore', 'name', '/name'],
    ['snapshots.delete', 'name', '/name'],
  ],
  'snapshots.list': [['snapshots.restore', 'name', '/items/0/name']],
  'bundles.import': [['bundles.show', 'bundle_id', '/bundle_id']],
  'bundles.list': [['bundles.show', 'bundle_id', '/items/0/bundle_id']],
  'scenario.list': [['scenario.use', 'name', '/items/0/name']],
  'tokens.create': [['tokens.revoke', 'name', '/name']],
}

/** Returns the links of the success of an endpoint, by the id of the operation that follows. */
export function responseLinks(id: string): JsonObject {
  const own = links[id as EndpointId] ?? []
  return Object.fromEntries(
    own.map(([follows, parameter, pointer]) => [
      operationId(follows),
      {
        operationId: operationId(follows),
        parameters: { [parameter]: `$response.body#${pointer}` },
        description: `${parameter} is ${pointer} of this response.`,
      },
    ]),
  )
}
