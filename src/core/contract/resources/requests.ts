import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../endpoint.ts'
import { ReasonCode } from '../errors.ts'
import { BooleanText, EpochMs, MethodFilter, page, pageQuery, queryNumber, RequestId, Since } from '../fields.ts'
import { assumed, assumedFields, assumedObject, strictObject } from '../objects.ts'

/** Kinds of credential, by their prefix: secret keys of both modes, activation and beacon tokens. */
export const KeyKind = z.enum(['sk_test', 'sk_live', 'at', 'bt'])
export type KeyKind = z.infer<typeof KeyKind>

/** Class of an HTTP status. */
export const StatusClass = z.enum(['1xx', '2xx', '3xx', '4xx', '5xx'])

/** A kind of credential, or a key by its id. */
export const KeyFilter = z
  .string()
  .regex(/^(sk_test|sk_live|at|bt|key_[0-9a-z]{11})$/, 'must be sk_test, sk_live, at, bt or the id of a key')

/** As traceparent has it. */
export const TraceId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lower-case hexadecimal digits')

/** The beginning of a path of the journal, or a pattern with `*`. Callbacks have the whole URL. */
export const JournalPath = z
  .string()
  .regex(/^(\/|\*|http)/, 'must begin with / or *, or with http for the URL of a callback')
  .max(256)

const item = assumedFields('A93', () => ({
  request_id: RequestId.describe('Equal to the x-request-id header of the response.'),
  at_ms: EpochMs.describe('When it arrived.'),
  method: z.string().describe('HTTP method.'),
  path: z.string().describe('Path and query, tokens redacted; the URL of a callback that the sandbox sent.'),
  status: z
    .int()
    .describe(
      'HTTP status of the response; 0 when a fault rule prevented it, the client had left, or a callback got none.',
    ),
  reason_code: assumed(ReasonCode.nullable(), 'A12', 'Cause of a failure.'),
  duration_ms: z.number().describe('From the complete request to the response, milliseconds.'),
  client_id: z.string().nullable().describe('Project of the credential.'),
  key: KeyKind.nullable().describe('Kind of the credential, if it was valid.'),
  key_id: z.string().nullable().describe('The key, or the key that the token was issued for.'),
  session_id: z.string().nullable().describe('Session, if the body named one.'),
  slot_id: z.string().nullable().describe('Slot that the response is about.'),
  alias: z
    .string()
    .optional()
    .describe('The deprecated endpoint that it was sent to, by its id, such as wrapper.decision.'),
  old_client: z.string().optional().describe('The version that an old client states, in x-csl-wrapper-version.'),
  trace_id: assumed(
    z.string().optional(),
    'A112',
    'The trace that it is in: that of its traceparent, or of the placement that it is about.',
  ),
}))

export const RequestItem = strictObject(item)
export type RequestItem = z.infer<typeof RequestItem>

const headers = z.record(z.string(), z.string())
const body = z.string().nullable()

export const RequestDetail = assumedObject('A93', () => ({
  ...item(),
  request_headers: headers.describe('Credentials redacted.'),
  request_body: assumed(body, 'A50', 'As received, without prompt text; asset tokens redacted.'),
  response_headers: headers.describe('Response headers.'),
  response_body: body.describe('As sent; tokens redacted.'),
}))
export type RequestDetail = z.infer<typeof RequestDetail>

/** An item of the list; with `details=true` it also has headers and bodies. */
export const ListedRequest = assumedObject('A93', () => ({
  ...item(),
  request_headers: headers.optional().describe('With details=true: credentials redacted.'),
  request_body: assumed(body.optional(), 'A50', 'With details=true: as received, without prompt text; redacted.'),
  response_headers: headers.optional().describe('With details=true: response headers.'),
  response_body: body.optional().describe('With details=true: as sent; tokens redacted.'),
}))
export type ListedRequest = z.infer<typeof ListedRequest>

/** Conditions of both a list and a match. */
const conditions = assumedFields('A93', () => ({
  method: MethodFilter.optional().describe('Only this method.'),
  path: JournalPath.optional().describe(
    'Only paths that begin with this; with a * in it, only paths that match it completely, * for any text.',
  ),
  status_class: StatusClass.optional().describe('Only statuses of this class.'),
  reason: ReasonCode.optional().describe('Only this cause.'),
  key: KeyFilter.optional().describe('Only this kind of credential (sk_test, sk_live, at, bt), or this key by its id.'),
  client_id: z.string().optional().describe('Only this project.'),
  session_id: z.string().optional().describe('Only this session.'),
  trace_id: assumed(TraceId.optional(), 'A112', 'Only this trace, by its 32 hexadecimal digits.'),
  since: Since.optional().describe('Only requests since then: epoch milliseconds, or a span such as 10m.'),
  until: Since.optional().describe('Only requests up to then: epoch milliseconds, or a span such as 10m.'),
}))
const anyStatus = z.int().min(100).max(599)

/** A JSON value without parts. */
export const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])

/** Conditions that a request must meet to match. Those that are left out do not matter. */
export const RequestMatch = assumedObject('A93', () => ({
  ...conditions(),
  status: anyStatus.optional().describe('Only this status.'),
  headers: z
    .record(z.string().max(128), z.string().max(2_048))
    .optional()
    .describe('Only requests with these headers, as the journal stores them; names in any case.'),
  body: z
    .record(z.string().min(1).max(256), Scalar)
    .optional()
    .describe('Only bodies with these fields, by dotted path: measurements.visible_ms. Numbers index arrays.'),
}))
export type RequestMatch = z.infer<typeof RequestMatch>

export const FailedCondition = assumedObject('A93', () => ({
  condition: z.string().describe('Name of the condition: status, headers.origin, body.event.'),
  expected: Scalar.describe('The expected value.'),
  actual: Scalar.describe('The value of the request; null when it has none.'),
}))
export type FailedCondition = z.infer<typeof FailedCondition>

export const NearMiss = assumedObject('A93', () => ({
  ...item(),
  failed: z.array(FailedCondition).describe('The conditions that the request does not meet.'),
}))
export type NearMiss = z.infer<typeof NearMiss>

const matchPage = assumedFields('A93', () => ({
  limit: z.int().min(1).max(1000).optional().describe('Items in a page, 1 to 1000; default 50.'),
  cursor: pageQuery().cursor,
}))

/** They have a body, and change nothing. Conditions are compared with what the journal has redacted, and not stored. */
const matching = { ...writing, role: 'read', credential_fields: ['headers', 'body'] } as const

/** A part of a journalled request that was sent differently from the original. */
export const NotRestored = assumedObject('A93', () => ({
  path: z.string().describe('A field of the body by dotted path, or authorization.'),
  message: z.string().describe('How the request was sent without it.'),
}))
export type NotRestored = z.infer<typeof NotRestored>

export const ReplayResult = assumedObject('A93', () => ({
  replayed: z.string().describe('The request that was sent again.'),
  status_before: z.int().describe('HTTP status of the original response.'),
  not_restored: z
    .array(NotRestored)
    .describe('What the journal does not store, so that the request was sent without it.'),
  exchange: RequestDetail.describe('The new exchange as journalled: redacted, with its own request_id.'),
}))
export type ReplayResult = z.infer<typeof ReplayResult>

export const control = declareEndpoints({
  'requests.list': {
    ...reading,
    path: '/_sandbox/requests',
    summary: 'List the request journal',
    description:
      'Every exchange of the v1 API, newest first. The size of the journal is limited; sandbox status shows the limit. A page searches at most 5 000 exchanges: it may have fewer items than requested, even none, and a cursor to search further.',
    query: assumedObject('A93', () => ({
      ...pageQuery(),
      ...conditions(),
      status: queryNumber(anyStatus).optional().describe('Only this status.'),
      after: z
        .string()
        .regex(/^req_[0-9a-z]{11}$/, 'must be the id of a request')
        .optional()
        .describe('Only requests that arrived after this one, by its request_id.'),
      foreign: BooleanText.optional().describe(
        'true: instead of the journal, the last 100 requests of pages that no project allows. They are kept separately, so that no website can push others out of the journal. Default false.',
      ),
      details: BooleanText.optional().describe(
        'true: items have headers and bodies; such a page has at most 250 items. Default false.',
      ),
    })),
    response: page(ListedRequest),
  },
  'requests.show': {
    ...reading,
    path: '/_sandbox/requests/{request_id}',
    summary: 'Show one exchange',
    description: 'Headers and bodies of both sides, with credentials, tokens and prompt text redacted.',
    params: assumedObject('A93', () => ({ request_id: RequestId.describe('Identifier of the request.') })),
    response: RequestDetail,
    errors: ['not_found'],
  },
  'requests.find': {
    ...matching,
    path: '/_sandbox/requests/find',
    summary: 'Find requests, including by headers and body',
    description:
      'Requests of the journal that meet every condition, newest first. A page searches a limited number of requests: it may have fewer items than requested, even none, and a cursor to search further.',
    body: strictObject(() => ({ ...RequestMatch.shape, ...matchPage() })),
    response: page(RequestItem),
  },
  'requests.count': {
    ...matching,
    path: '/_sandbox/requests/count',
    summary: 'Count requests that match',
    description:
      'The number of requests of the journal that meet every condition. Each call searches a limited number of requests; with the cursor, the next call counts further back, and the counts add up.',
    body: strictObject(() => ({ ...RequestMatch.shape, cursor: matchPage().cursor })),
    response: assumedObject('A93', () => ({
      count: z.int().min(0).describe('Matching requests among those searched.'),
      next_cursor: z.string().nullable().describe('Send as cursor to count further back; null at the end.'),
    })),
  },
  'requests.nearest': {
    ...matching,
    path: '/_sandbox/requests/nearest',
    summary: 'Show the near misses of a match',
    description:
      'Of the newest 1 000 requests, those that meet some of the conditions but not all: the fewest failed first, then the newest, each with what failed.',
    body: assumedObject('A93', () => ({
      ...RequestMatch.shape,
      limit: z.int().min(1).max(100).optional().describe('Maximum number of near misses; default 3.'),
    })),
    response: assumedObject('A93', () => ({ items: z.array(NearMiss).describe('Nearest first.') })),
  },
  'requests.replay': {
    ...writing,
    path: '/_sandbox/requests/{request_id}/replay',
    summary: 'Send a request of the journal again',
    description:
      'The sandbox sends the request to itself over its own socket: fault rules, rate limits, validation and the journal treat it like any other request. It acts as the key of the original request and issues new asset tokens, so that no secret is needed or revealed. Prompt text is not stored: the request is sent without it. Anything else that the journal does not store must be given, or nothing is sent.',
    params: assumedObject('A93', () => ({ request_id: RequestId.describe('Identifier of the request.') })),
    body: assumedObject('A93', () => ({
      set: z
        .record(z.string().min(1).max(256), z.unknown())
        .optional()
        .describe('Fields of the body by dotted path, and their new values: overrides.bidfloor. Numbers index arrays.'),
      key_id: z
        .string()
        .regex(/^key_[0-9a-z]{11}$/, 'must be the id of a key')
        .optional()
        .describe(
          'Act as this key instead: a secret key directly, a publishable key as a page that has activated with it.',
        ),
    })),
    response: ReplayResult,
    errors: ['not_found', 'replay_incomplete'],
  },
})
