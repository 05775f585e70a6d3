import { z } from 'zod'
import { bodyErrors, declareEndpoints, reading, writing } from '../endpoint.ts'
import { reasonCode } from '../errors.ts'
import { EpochMs, page, pageQuery, queryNumber, Since } from '../fields.ts'
import { assumed } from '../provenance.ts'

/** Kinds of credential, by what they begin with: secret keys of both modes, activation and beacon tokens. */
export const KeyKind = z.enum(['sk_test', 'sk_live', 'at', 'bt'])
export type KeyKind = z.infer<typeof KeyKind>

const item = {
  request_id: assumed(z.string(), 'A93', 'Equal to the x-request-id header of the answer.'),
  at_ms: assumed(EpochMs, 'A93', 'When it arrived.'),
  method: assumed(z.string(), 'A93', 'HTTP method.'),
  path: assumed(z.string(), 'A93', 'Path and query, tokens redacted.'),
  status: assumed(z.int(), 'A93', 'HTTP status of the answer; 0 when a fault rule left none.'),
  reason_code: assumed(reasonCode.nullable(), 'A12', 'Cause of a failure.'),
  duration_ms: assumed(z.number(), 'A93', 'From the whole request to the answer, milliseconds.'),
  client_id: assumed(z.string().nullable(), 'A93', 'Project of the credential.'),
  key: assumed(KeyKind.nullable(), 'A93', 'Kind of the credential, once it was found good.'),
  key_id: assumed(z.string().nullable(), 'A93', 'The key, or the one that the token was made with.'),
  session_id: assumed(z.string().nullable(), 'A93', 'Session, where the body named one.'),
  slot_id: assumed(z.string().nullable(), 'A93', 'Slot that the answer is about.'),
}

export const RequestItem = z.strictObject(item)
export type RequestItem = z.infer<typeof RequestItem>

const headers = z.record(z.string(), z.string())
const body = z.string().nullable()

export const RequestDetail = z.strictObject({
  ...item,
  request_headers: assumed(headers, 'A93', 'Credentials redacted.'),
  request_body: assumed(body, 'A50', 'As received, without prompt text; asset tokens redacted.'),
  response_headers: assumed(headers, 'A93', 'Headers of the answer.'),
  response_body: assumed(body, 'A93', 'As sent; tokens redacted.'),
})
export type RequestDetail = z.infer<typeof RequestDetail>

/** An item of the list: with `details=true` it has headers and bodies too. */
export const ListedRequest = z.strictObject({
  ...item,
  request_headers: assumed(headers.optional(), 'A93', 'With details=true: credentials redacted.'),
  request_body: assumed(body.optional(), 'A50', 'With details=true: as received, without prompt text; redacted.'),
  response_headers: assumed(headers.optional(), 'A93', 'With details=true: headers of the answer.'),
  response_body: assumed(body.optional(), 'A93', 'With details=true: as sent; tokens redacted.'),
})
export type ListedRequest = z.infer<typeof ListedRequest>

/** What narrows a list and what a match is made of alike. */
const conditions = {
  method: assumed(z.string().max(10).optional(), 'A93', 'Only this method.'),
  path: assumed(
    z.string().max(256).optional(),
    'A93',
    'Only paths that begin with this; with a * in it, paths that it matches whole, * for any text.',
  ),
  status_class: assumed(z.enum(['1xx', '2xx', '3xx', '4xx', '5xx']).optional(), 'A93', 'Only statuses of this class.'),
  reason: assumed(reasonCode.optional(), 'A93', 'Only this cause.'),
  key: assumed(
    z
      .string()
      .regex(/^(sk_test|sk_live|at|bt|key_[0-9a-z]{11})$/, 'must be sk_test, sk_live, at, bt or the id of a key')
      .optional(),
    'A93',
    'Only this kind of credential (sk_test, sk_live, at, bt), or this key by its id.',
  ),
  client_id: assumed(z.string().optional(), 'A93', 'Only this project.'),
  session_id: assumed(z.string().optional(), 'A93', 'Only this session.'),
  since: assumed(Since.optional(), 'A93', 'Only requests since: epoch milliseconds, or a span such as 10m.'),
  until: assumed(Since.optional(), 'A93', 'Only requests until: epoch milliseconds, or a span such as 10m.'),
}
const anyStatus = z.int().min(100).max(599)

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])

/** What a request must be to match; conditions that are left out do not matter. */
export const RequestMatch = z.strictObject({
  ...conditions,
  status: assumed(anyStatus.optional(), 'A93', 'Only this status.'),
  headers: assumed(
    z.record(z.string().max(128), z.string().max(2_048)).optional(),
    'A93',
    'Only requests with these headers, as the journal keeps them; names in any case.',
  ),
  body: assumed(
    z.record(z.string().min(1).max(256), scalar).optional(),
    'A93',
    'Only bodies with these members, by dotted path: measurements.visible_ms. Numbers index arrays.',
  ),
})
export type RequestMatch = z.infer<typeof RequestMatch>

export const FailedCondition = z.strictObject({
  condition: assumed(z.string(), 'A93', 'Which one: status, headers.origin, body.event.'),
  expected: assumed(scalar, 'A93', 'What was asked for.'),
  actual: assumed(scalar, 'A93', 'What the request has; null for nothing.'),
})
export type FailedCondition = z.infer<typeof FailedCondition>

export const NearMiss = z.strictObject({
  ...item,
  failed: assumed(z.array(FailedCondition), 'A93', 'The conditions that it does not meet.'),
})
export type NearMiss = z.infer<typeof NearMiss>

const matchPage = {
  limit: assumed(z.int().min(1).max(1000).optional(), 'A93', 'Items in a page, 1 to 1000; default 50.'),
  cursor: pageQuery.cursor,
}

const matching = {
  ...writing,
  errors: [...bodyErrors, 'schema_invalid'],
} as const

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

export const endpoints = declareEndpoints({
  'requests.list': {
    ...reading,
    path: '/_sandbox/requests',
    summary: 'List the request journal',
    description:
      'Every exchange of the v1 API, newest first. The journal is bounded; info tells how far. A page looks at the newest 5 000 at most: it may hold fewer items than asked for, even none, and a cursor to look further.',
    query: z.strictObject({
      ...pageQuery,
      ...conditions,
      status: assumed(queryNumber(anyStatus).optional(), 'A93', 'Only this status.'),
      after: assumed(
        z
          .string()
          .regex(/^req_[0-9a-z]{11}$/, 'must be the id of a request')
          .optional(),
        'A93',
        'Only requests that arrived after this one, by its request_id.',
      ),
      details: assumed(
        z.enum(['true', 'false']).optional(),
        'A93',
        'With headers and bodies, as of one exchange; such a page holds at most 250 items. Default false.',
      ),
    }),
    response: page(ListedRequest),
    errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
  },
  'requests.show': {
    ...reading,
    path: '/_sandbox/requests/{request_id}',
    summary: 'Show one exchange',
    description: 'Headers and bodies of both sides, with credentials, tokens and prompt text redacted.',
    params: z.strictObject({ request_id: assumed(z.string(), 'A93', 'Identifier of the request.') }),
    query: z.strictObject({}),
    response: RequestDetail,
    errors: ['not_found', 'origin_refused', 'internal_error'],
  },
  'requests.find': {
    ...matching,
    path: '/_sandbox/requests/find',
    summary: 'Find requests by headers and body too',
    description:
      'Requests of the journal that meet every condition, newest first. A page looks at a bounded number of requests: it may hold fewer items than asked for, even none, and a cursor to look further.',
    body: z.strictObject({ ...RequestMatch.shape, ...matchPage }),
    response: page(RequestItem),
  },
  'requests.count': {
    ...matching,
    path: '/_sandbox/requests/count',
    summary: 'Count requests that match',
    description:
      'How many requests of the journal meet every condition. It looks at a bounded number of requests; with the cursor, the next call counts further back, and the counts add up.',
    body: z.strictObject({ ...RequestMatch.shape, cursor: matchPage.cursor }),
    response: z.strictObject({
      count: assumed(z.int().min(0), 'A93', 'Requests that match, of those looked at.'),
      next_cursor: assumed(z.string().nullable(), 'A93', 'Send as cursor to count further back; null at the end.'),
    }),
  },
  'requests.nearest': {
    ...matching,
    path: '/_sandbox/requests/nearest',
    summary: 'Show the near misses of a match',
    description:
      'Of the newest 1 000 requests, those that meet some of the conditions but not all: the fewest failed first, then the newest, each with what failed.',
    body: z.strictObject({
      ...RequestMatch.shape,
      limit: assumed(z.int().min(1).max(100).optional(), 'A93', 'Near misses at most; default 3.'),
    }),
    response: z.strictObject({
      items: assumed(z.array(NearMiss), 'A93', 'Nearest first.'),
    }),
  },
  'requests.replay': {
    ...reading,
    method: 'POST',
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
  },
})
