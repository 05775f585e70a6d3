/** The tools that do more than call one endpoint, but for those of QA. */

import { z } from 'zod'
import { contract } from '#contract/index.ts'
import { contractListing, type ListedField } from '#contract/listing.ts'
import { BeaconRequest, BeaconResult } from '#contract/resources/beacons.ts'
import { PlacementRequest } from '#contract/resources/placements.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { CliError, didYouMean } from '#text/cli-error.ts'
import { readTopic, readTopics } from './resources.ts'
import { ofOne, type Tool } from './tool.ts'

const someDefaults = { client_id: true, session_id: true, job_type: true } as const
export const createPlacement: Tool = {
  name: 'create_placement',
  command: 'placements create',
  title: contract['placements.create'].summary,
  description: `${contract['placements.create'].description} Defaults: the project of the sandbox, a new session, job_type chat. Choose a format by overrides.allowed_formats, a topic by prompt.topic, a campaign that has to win by overrides.force_campaign_id. Tokens are redacted in the result: send_beacon needs only the slot_id.`,
  effect: 'changes',
  isIdempotent: false,
  input: PlacementRequest.partial(someDefaults),
  inputHint:
    'Formats are { "overrides": { "allowed_formats": ["clip"] } }, a topic is { "prompt": { "topic": "coffee" } }.',
  output: contract['placements.create'].response,
  narrower: ofOne,
  async call(access, input, signal) {
    const client_id = await access.clientId()
    const body = { client_id, session_id: `sess_${access.randomText(12)}`, job_type: 'chat', ...input }
    return (await (await access.client()).call('placements.create', { body }, { signal })).data
  },
}

const ofSlot = { beacon_id: true, slot_id: true, asset_token: true } as const
export const sendBeacon: Tool = {
  name: 'send_beacon',
  command: 'beacons send',
  title: contract['beacons.send'].summary,
  description: `${contract['beacons.send'].description} The slot's own asset token is sent automatically. Defaults: a beacon_id made of slot and event, and the time of the sandbox clock.`,
  effect: 'changes',
  isIdempotent: true,
  input: z.strictObject({
    ...BeaconRequest.omit(ofSlot).shape,
    slot_id: contract['decisions.get'].params.shape.slot_id,
    beacon_id: BeaconRequest.shape.beacon_id.optional(),
  }),
  output: z.strictObject({
    ...BeaconResult.shape,
    would_bill: z.string().nullable().describe('What production would have billed for it.'),
  }),
  narrower: ofOne,
  async call(access, { slot_id, ...input }, signal) {
    const client = await access.client()
    const { placement } = await client.decisions.get({ params: { slot_id: String(slot_id) } }, { signal })
    if (placement === null) {
      const hint = `Only a fill has beacons. See why: explain_placement with slot_id ${slot_id}.`
      throw new CliError('expectation', 'no_fill', `The slot ${slot_id} has no fill.`, hint)
    }
    const hasTime = 'occurred_at' in input || 'occurred_at_ms' in input
    const time = hasTime ? {} : { occurred_at_ms: (await client.clock.show()).now_ms }
    const { asset_token } = placement
    const body = { beacon_id: `${slot_id}:${input.event}`, ...time, ...input, slot_id, asset_token }
    const { data, meta } = await client.call('beacons.send', { body }, { signal })
    return { ...(data as object), would_bill: meta.would_bill }
  },
}

const endpointIds = tableNames(contract)
const ShownEndpoint = z.strictObject({
  id: z.string(),
  method: z.string(),
  path: z.string(),
  stability: z.string(),
  provenance: z.string(),
})
export const showContract: Tool = {
  name: 'show_contract',
  command: 'contract show',
  title: 'Show what is documented, observed and assumed',
  description:
    'An endpoint with a line for each field: type, required, provenance, decision id, limits, values, description. documented: the API document states it. observed: seen in public clients. assumed: chosen by this sandbox, production may differ. Without endpoint: all endpoints without their fields.',
  effect: 'reads',
  isIdempotent: true,
  input: z.strictObject({
    endpoint: z.enum(endpointIds).optional().describe('Only this one, with its fields: placements.create.'),
    where: z.enum(['params', 'query', 'body', 'response']).optional().describe('Only the fields of this part.'),
  }),
  output: z.union([
    z.array(ShownEndpoint),
    z.strictObject({ ...ShownEndpoint.shape, fields: z.record(z.string(), z.array(z.string())) }),
  ]),
  hasOnlyOwnText: true,
  narrower: 'Name an endpoint, and a part with where.',
  async call(_access, { endpoint, where }) {
    const { endpoints } = contractListing()
    if (endpoint === undefined) return endpoints.map(({ fields: _, ...rest }) => rest)
    const { fields, ...facts } = endpoints.find(({ id }) => id === endpoint)!
    const wanted = fields.filter((field) => where === undefined || field.where === where)
    const partName = ({ where, variant }: ListedField) => (variant === null ? where : `${where} of ${variant}`)
    const parts = [...Map.groupBy(wanted, partName)]
    return { ...facts, fields: Object.fromEntries(parts.map(([part, own]) => [part, own.map(describeListed)])) }
  },
}

/** Returns a field as one line. As objects, the fields of the larger endpoints do not fit into a result. */
function describeListed({ path, type, required, provenance, decision, limits, values, description }: ListedField) {
  const facts = [
    type,
    required ? 'required' : 'optional',
    decision === null ? provenance : `${provenance} ${decision}`,
    ...(limits === null ? [] : [limits]),
    ...(values === null ? [] : [`one of ${values.join(' | ')}`]),
  ]
  return `${path}: ${facts.join(', ')}. ${description}`
}

export const readDocs: Tool = {
  name: 'read_docs',
  command: 'docs',
  title: 'Read the documentation',
  description:
    'A page or a code (key_class, no-fill/below_floor), as text. Without topic: all topics, with a sentence each.',
  effect: 'reads',
  isIdempotent: true,
  input: z.strictObject({
    topic: z.string().max(100).optional().describe('server, browser, errors/key_class ...'),
  }),
  output: z.strictObject({ topic: z.string().nullable(), text: z.string() }),
  hasOnlyOwnText: true,
  narrower: 'Read a code or another page: the list of topics has them all.',
  async call(_access, { topic }) {
    const topics = readTopics()
    if (topic === undefined) {
      const pages = topics.filter((each) => !each.topic.includes('/'))
      return { topic: null, text: pages.map(({ topic, summary }) => `${topic}: ${summary}`).join('\n') }
    }
    const text = readTopic(String(topic))
    if (text !== null) return { topic, text }
    const near = didYouMean(
      String(topic),
      topics.flatMap((each) => [each.topic, ...each.topic.split('/').slice(1)]),
    )
    throw new CliError(
      'usage',
      'topic_unknown',
      `There is no topic ${topic}.`,
      `${near ?? ''} Call read_docs without topic.`.trim(),
    )
  },
}
