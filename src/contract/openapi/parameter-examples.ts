/** An example of every parameter of a path, query and header, for the OpenAPI document. The sandbox accepts each. */
import { findEntry } from '#foundation/table-entry.ts'

/** By name, or by endpoint and name where another value belongs. */
const examples: Readonly<Record<string, string | number>> = {
  wait_ms: 1_500,
  slot_id: 'slot_038k9tmm001',
  from_slot_id: 'slot_038k9tmm001',
  job_id: 'job_038k9tmm000',
  request_id: 'req_038k9tn0400',
  after: 'req_038k9tn0400',
  key_id: 'key_000000000z8',
  fault_id: 'fault_038k9tmm000',
  grant_id: 'grant_038k9tmm000',
  client_id: 'proj_demo',
  session_id: 'session-1',
  asset_token: 'ast_slot_038k9tmm001_0123456789abcdefghijklmnopqrstuv',
  ticket: 'tkt_0123456789abcdefghijklmnopqrstuv',
  campaign_id: 'cmp_coffee',
  beacon_id: 'instance-1:visible',
  Origin: 'http://localhost:3000',
  'If-None-Match': '"1"',
  Range: 'bytes=0-1023',
  'Last-Event-ID': 12,
  'generation.report event': 'started',
  'beacons.list event': 'visible',
  'tokens.revoke name': 'ci',
  'namespaces.delete name': 'pr-42',
  'scenario.use name': 'pending_then_ready',
  name: 'before-launch',
  token: 'ci',
  limit: 20,
  cursor: '038k9tmm001',
  since: '10m',
  until: '5m',
  format: 'banner',
  fill: 'true',
  decided: 'true',
  billed: 'false',
  checkpoint: 'true',
  foreign: 'false',
  details: 'true',
  'placements.list reason': 'no_demand,below_floor',
  'beacons.list reason': 'BELOW_THRESHOLD',
  'requests.list reason': 'key_unknown',
  reached: 'framed',
  missing: 'billable',
  verdict: 'accepted',
  metric: 'viewable_impression',
  gross_cpm: '4.20',
  currency: 'USD',
  kind: 'decision',
  after_seq: 0,
  since_seq: 0,
  method: 'POST',
  path: '/v1/beacons',
  status_class: '4xx',
  key: 'sk_test',
  'requests.list status': 400,
  'callbacks.list status': 'failed',
  type: 'beacon.*',
}

/** Returns the example of a parameter. @throws Error for one that has none yet */
export function parameterExample(endpoint_id: string, name: string): string | number {
  const found = findEntry(examples, `${endpoint_id} ${name}`) ?? findEntry(examples, name)
  if (found === undefined) throw new Error(`The parameter ${name} of ${endpoint_id} has no example: add one here.`)
  return found
}
