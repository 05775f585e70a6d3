/** What render.js reports, in the words that the console on the page, `svc observe` and `svc qa hosts` print. */
import { expect, test } from 'vitest'
import { describeBlock, describeRendererError, type ReportedError } from './renderer-errors.ts'

const request = 'POST /api/placement'
const refused = {
  error: 'invalid_request',
  message: 'The body does not match the schema.',
  request_id: 'req_1',
  reason_code: 'schema_invalid',
  hint: 'Send the fields as text.',
  fields: [{ path: 'session_id', message: 'is a number', expected: 'text' }],
}

const redirectFix =
  'Your server redirects the route: to a login where the session is missing, or to another spelling of the address, where a POST becomes a GET. Let the route itself respond.'

test('an error of the service is passed on whole: address, field, kind of value, fix, its page and its request', () => {
  const error = { code: 'request_failed', status: 400, reason_code: 'schema_invalid', request, response: refused }
  expect(describeRendererError(error)).toEqual({
    message: 'POST /api/placement responded with 400: The body does not match the schema. (schema_invalid)',
    causes: ['session_id: is a number (expected: text)'],
    fix: 'Send the fields as text.',
    topic: 'errors/schema_invalid',
    request_id: 'req_1',
  })
  const passedOn = { ...error, code: 'response_unreadable', status: 200 }
  expect(describeRendererError(passedOn).fix).toMatch(/^That is an error of the service, passed on as a placement/)
  expect(describeRendererError({ code: 'response_unreadable', response: refused }).message).toBe(
    'The response is an error of the service: The body does not match the schema. (schema_invalid)',
  )
})

test.each<[ReportedError, message: string, fix: string | null]>([
  [
    {
      code: 'request_failed',
      status: 404,
      reason_code: 'http_404',
      request,
      content_type: 'text/html',
      message: 'Error: http_404',
    },
    'POST /api/placement responded with 404 and text/html: not an error of the service.',
    'Your server has no such route: correct the endpoint of the turn, or add the route.',
  ],
  [
    {
      code: 'request_failed',
      status: 502,
      reason_code: 'http_502',
      request,
      content_type: 'application/json',
      got: ['error', 'message'],
      message: 'Error: The service cannot be reached.',
    },
    'POST /api/placement responded with 502 and application/json with the fields error, message: The service cannot be reached.',
    null,
  ],
  [
    { code: 'request_failed', status: 500, request, content_type: 'application/json', got: ['detail', 'stack'] },
    'POST /api/placement responded with 500 and application/json with the fields detail, stack: not an error of the service.',
    'Your server failed before it had a response to pass on: its log says why. Is the service running at the base URL that it uses (svc sandbox ps)?',
  ],
  [
    { code: 'request_failed', status: 503, request, response: { reason_code: 'injected_fault', fields: 'none' } },
    'POST /api/placement responded with 503: The service is not available. (injected_fault)',
    null,
  ],
  [
    { code: 'request_failed', request, message: 'TypeError: Failed to fetch' },
    'POST /api/placement had no response: TypeError: Failed to fetch.',
    'Is the server running, and does it allow this page to read its responses?',
  ],
  [
    {
      code: 'response_unreadable',
      status: 200,
      request,
      content_type: 'application/json',
      got: ['string: <!doctype html>\n<html lang="en">\n<titl'],
    },
    'POST /api/placement responded with 200: its body is no JSON object. It begins with: <!doctype html> <html lang="en"> <titl',
    'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels.',
  ],
  [
    { code: 'response_unreadable', status: 200, request, content_type: 'application/json', got: ['string: '] },
    'POST /api/placement responded with 200: its body is empty.',
    'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels.',
  ],
  [
    { code: 'response_unreadable', got: ['object: null'] },
    'The response is no JSON object. It begins with: null',
    'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels.',
  ],
  [
    {
      code: 'response_unreadable',
      status: 200,
      request,
      content_type: 'text/html; charset=utf-8',
      got: ['string: <!doctype html>'],
    },
    'POST /api/placement responded with 200 and text/html; charset=utf-8, not with JSON.',
    'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels.',
  ],
  [
    {
      code: 'response_unreadable',
      status: 200,
      request: `${request} > http://localhost:3000/login`,
      content_type: 'text/html',
      got: ['string: <h1>Log in'],
    },
    'POST /api/placement was redirected to http://localhost:3000/login, which responded with 200 and text/html, not with JSON.',
    redirectFix,
  ],
  [
    {
      code: 'request_failed',
      status: 405,
      request: `${request} > http://localhost:3000/api/placement/`,
      content_type: 'text/plain',
      reason_code: 'http_405',
      message: 'Error: http_405',
    },
    'POST /api/placement was redirected to http://localhost:3000/api/placement/, which responded with 405 and text/plain: not an error of the service.',
    redirectFix,
  ],
  // A redirect that the service follows is not the cause.
  [
    {
      code: 'request_failed',
      status: 400,
      request: `${request} > http://localhost:3000/ads`,
      response: { ...refused, request_id: 1 },
    },
    'POST /api/placement was redirected to http://localhost:3000/ads, which responded with 400: The body does not match the schema. (schema_invalid)',
    'Send the fields as text.',
  ],
  [
    {
      code: 'response_unreadable',
      status: 200,
      request,
      content_type: 'application/json',
      got: ['data'],
      wrapped_in: 'data',
    },
    'POST /api/placement responded with 200: its body has the placement response in its field data.',
    'Return what is in data, and nothing around it.',
  ],
  [
    { code: 'response_unreadable', got: ['ok'] },
    'The response has the fields ok, not those of a placement response.',
    'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels.',
  ],
  [
    { code: 'option_unknown', got: ['keep_mounted'], known: ['target', 'keepMounted'] },
    'There is no option keep_mounted: it is ignored.',
    'Did you mean keepMounted?',
  ],
  [
    { code: 'option_unknown', got: ['x', 'y'], known: ['target', 'body'] },
    'There are no options x, y: they are ignored.',
    'The options are target, body.',
  ],
  [
    { code: 'option_unknown', got: ['0', '1', '2'], known: ['target', 'response'] },
    'A text or a list was passed where the options belong.',
    'Pass one object: { target, ... }.',
  ],
  [
    { code: 'csp_blocked', directive: 'frame-src' },
    "The page's Content-Security-Policy does not allow it: frame-src.",
    'Add the origin of what was blocked to that directive of the Content-Security-Policy of the page.',
  ],
  [{ code: 'internal', message: 'RangeError: x' }, 'The renderer failed. (RangeError: x)', null],
  [
    { code: 'late_decision', message: 'cleared' },
    'The decision came after the turn had ended, and was dropped.',
    'With keepMounted: true it is still shown after finish().',
  ],
  [
    { code: 'late_decision', message: 'cancelled' },
    'The decision came after the turn had ended, and was dropped.',
    'Nothing: the turn was cancelled. If it happens often, request earlier.',
  ],
  [{ code: 'of_tomorrow' }, 'The ad could not be shown.', null],
])('%j', (error, message, fix) => {
  const words = describeRendererError(error)
  expect(words.message).toBe(message)
  if (error.code !== 'request_failed' || error.status !== 503) expect(words.fix).toBe(fix)
  expect(words.request_id).toBeNull()
})

test.each<[waited: string, Partial<ReportedError>, fix: string | null]>([
  ['retried, since it said when', { retry_after_ms: 2_000 }, 'Retry after the number of seconds in Retry-After.'],
  ['of an older render.js', {}, 'Retry after the number of seconds in Retry-After.'],
  ['of another status', { status: 400, retry_after_ms: null }, 'Retry after the number of seconds in Retry-After.'],
  ['too far ahead', { retry_after_ms: 30_000 }, 'It was not retried: its Retry-After of 30s is over 10s.'],
  [
    'without a Retry-After',
    { retry_after_ms: null },
    'It was not retried: it came without Retry-After. If the service sent one, your backend has to pass it on.',
  ],
  [
    'of a backend on another origin',
    { retry_after_ms: null, request: 'POST https://api.example/ads' },
    'It was not retried: it came without Retry-After. If the service sent one, your backend has to pass it on, and list it in Access-Control-Expose-Headers.',
  ],
  [
    'of the service itself',
    { retry_after_ms: null, request: 'POST http://127.0.0.1:4010/v1/placements' },
    'It was not retried: it came without Retry-After.',
  ],
])('a 429 %s has its own fix', (_, more, fix) => {
  const hint = 'Retry after the number of seconds in Retry-After.'
  const response = { error: 'rate_limited', message: 'Too many requests.', reason_code: 'rate_limited', hint }
  const error = { code: 'request_failed', status: 429, request, reason_code: 'rate_limited', response, ...more }
  expect(describeRendererError(error).fix).toBe(fix)
  const bare = { ...error, response: undefined }
  expect(describeRendererError(bare).fix).toBe(fix === hint ? null : fix)
})

test.each([
  ['"#ad"', 'Correct the selector, or pass the element itself as target: a selector does not find'],
  ['"slot"', 'Write an id as a selector'],
  ['Object {current}', 'Pass the element of the ref: ref.current.'],
  ['Array {0}', 'Pass one element of the list: list[0].'],
  ['NodeList {0,1}', 'Pass one element of the list: list[0].'],
  ['null', 'Pass an element, or a selector of one.'],
  ['5', 'Pass an element, or a selector of one.'],
])('the target %s is named: %s', (passed, fix) => {
  const words = describeRendererError({ code: 'target_not_found', got: [passed] })
  expect(words.message).toBe(`There is no element for the target ${passed}.`)
  expect(words.fix).toContain(fix)
})

test.each([
  [{ reason: 'consent_expired' }, 'The consent has expired.'],
  [
    { reason: 'consent_from_future', consent_ahead_ms: 62_000, device_ahead_ms: -1_500 },
    'The consent snapshot is from the future. By the time of the service, the clock that stamped it is 1m 2s fast; the clock of this device is 1s 500ms slow.',
  ],
])('the block %j: %s', (block, text) => {
  expect(describeBlock(block)).toBe(text)
})
