import { z } from 'zod'
import { endpoint, reading } from '../endpoint.ts'
import { assumed } from '../provenance.ts'
import { RequestDetail } from './requests.ts'

/** Something of a journalled request that went out otherwise than it came. */
export const NotRestored = z.strictObject({
  path: assumed(z.string(), 'A93', 'What: a member of the body by dotted path, or authorization.'),
  message: assumed(z.string(), 'A93', 'What was done about it.'),
})
export type NotRestored = z.infer<typeof NotRestored>

export const ReplayResult = z.strictObject({
  replayed: assumed(z.string(), 'A93', 'The request that was sent again.'),
  status_before: assumed(z.int(), 'A93', 'HTTP status that it had then.'),
  not_restored: assumed(z.array(NotRestored), 'A93', 'What the journal does not keep and the request went without.'),
  exchange: assumed(
    RequestDetail,
    'A93',
    'The new exchange, as the journal has it: redacted, with its own request_id.',
  ),
})
export type ReplayResult = z.infer<typeof ReplayResult>

export const replayRequest = endpoint({
  ...reading,
  method: 'POST',
  id: 'requests.replay',
  path: '/_sandbox/requests/{request_id}/replay',
  summary: 'Send a request of the journal again',
  description:
    'The sandbox sends it to itself, through its own socket: faults, rates, validation and the journal treat it as any other request. It acts for the key that the request had, and asset tokens are made anew, so that no secret is needed and none is told. Prompt text is not kept: a request goes without it. Whatever else the journal does not keep must be given, or nothing is sent.',
  params: z.strictObject({ request_id: assumed(z.string(), 'A93', 'Identifier of the request.') }),
  body: z.strictObject({
    set: assumed(
      z.record(z.string().min(1).max(256), z.unknown()).optional(),
      'A93',
      'Members of the body by dotted path, and their new values: overrides.bidfloor. Numbers index arrays.',
    ),
    key_id: assumed(
      z
        .string()
        .regex(/^key_[0-9a-z]{11}$/, 'must be the id of a key')
        .optional(),
      'A93',
      'Act for this key instead: a secret key as itself, a publishable key as a page that has activated with it.',
    ),
  }),
  response: ReplayResult,
  errors: [
    'not_found',
    'replay_incomplete',
    'content_type_unsupported',
    'json_malformed',
    'schema_invalid',
    'field_unknown',
    'origin_refused',
    'internal_error',
  ],
})
