/** Faults: a network or a service that fails, on demand and by the same dice every time. */
import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { reasonCode } from '../errors.ts'
import { EpochMs, Format, page } from '../fields.ts'
import { assumed } from '../provenance.ts'

/** Most rules at a time. */
export const mostFaults = 100

export const FaultEffect = z.enum(['error', 'drop', 'reset', 'truncate', 'garble', 'rewrite', 'delay'])
export type FaultEffect = z.infer<typeof FaultEffect>

export const RetryAfterFormat = z.enum(['seconds', 'http_date', 'none'])

const whole = z.int().min(0).max(1_000_000)
const latency = z.number().min(0).max(60_000)

/** Members that every rule has, whether or not they are given. */
const says = {
  effect:
    'An error answer; no answer (drop), or a reset connection; an answer cut in the middle, or no longer JSON; other members in the answer; a delay alone. Default error.',
  served: 'true: the request takes effect, and only its answer is lost or spoilt. Default false: it takes none.',
  retry_after_s: 'Retry-After of a 429 or 503, seconds. Default 1.',
  retry_after_format: 'Retry-After as seconds, as an HTTP date, or left out. Default seconds.',
  latency_ms: 'Wait before the answer, real milliseconds. Default 0.',
  rate: 'Share of the matching requests that it meets. Default 1.',
  seed: 'The same seed meets the same requests, counted from the first that matches. Default 1.',
  after: 'Lets this many matching requests through first. Default 0.',
}

const share = z.number().min(0).max(1)
const wait_s = z.int().min(0).max(86_400)

/** Members that a rule may do without. */
const choices = {
  method: assumed(z.string().max(10).optional(), 'A94', 'Only this method.'),
  path: assumed(
    z.string().startsWith('/', 'must begin with /').max(256).optional(),
    'A94',
    'Only paths that begin with this, such as /v1/beacons; with a * in it, paths that it matches whole, * for any text.',
  ),
  key: assumed(
    z.string().min(1).max(256).optional(),
    'A94',
    'Only requests whose key or token begins with this, such as sk_test_ or at_. Shown redacted.',
  ),
  session_id: assumed(
    z.string().min(1).max(256).optional(),
    'A94',
    'Only requests of this session, or about a slot of it.',
  ),
  format: assumed(Format.optional(), 'A94', 'Only requests that allow this format, or are about a slot of it.'),
  status: assumed(
    z.int().min(400).max(599).optional(),
    'A94',
    'HTTP status of an error; default: that of the reason code.',
  ),
  reason_code: assumed(
    reasonCode.optional(),
    'A94',
    'Cause in an error; default: the one of the status, where it has just one, else injected_fault.',
  ),
  rewrite: assumed(
    z.record(z.string().min(1).max(256), z.unknown()).optional(),
    'A94',
    'Of the effect rewrite: members of the answer by dotted path, and their new values.',
  ),
  latency_max_ms: assumed(latency.optional(), 'A94', 'Draw the wait evenly, from latency_ms up to this.'),
  latency_sigma: assumed(
    z.number().min(0).max(4).optional(),
    'A94',
    'Draw the wait log-normally: latency_ms is its median, this the spread of its logarithm.',
  ),
  times: assumed(whole.min(1).optional(), 'A94', 'Meets this many requests, then no more.'),
  ttl_ms: assumed(z.int().min(1).max(86_400_000).optional(), 'A94', 'Ends after this time, by the sandbox clock.'),
}

/** A rule as it is given. */
export const FaultDraft = z
  .strictObject({
    ...choices,
    effect: assumed(FaultEffect.optional(), 'A94', says.effect),
    served: assumed(z.boolean().optional(), 'A94', says.served),
    retry_after_s: assumed(wait_s.optional(), 'A94', says.retry_after_s),
    retry_after_format: assumed(RetryAfterFormat.optional(), 'A94', says.retry_after_format),
    latency_ms: assumed(latency.optional(), 'A94', says.latency_ms),
    rate: assumed(share.optional(), 'A94', says.rate),
    seed: assumed(whole.optional(), 'A94', says.seed),
    after: assumed(whole.optional(), 'A94', says.after),
  })
  .refine((rule) => (rule.effect === 'rewrite') === (rule.rewrite !== undefined), {
    message: 'rewrite names members exactly when effect is rewrite',
    path: ['rewrite'],
  })
export type FaultDraft = z.infer<typeof FaultDraft>

/** A rule as it stands. */
export const FaultRule = z.strictObject({
  fault_id: assumed(z.string(), 'A94', 'Identifier; answers that it meets carry it as x-sandbox-fault.'),
  ...choices,
  effect: assumed(FaultEffect, 'A94', says.effect),
  served: assumed(z.boolean(), 'A94', says.served),
  retry_after_s: assumed(wait_s, 'A94', says.retry_after_s),
  retry_after_format: assumed(RetryAfterFormat, 'A94', says.retry_after_format),
  latency_ms: assumed(latency, 'A94', says.latency_ms),
  rate: assumed(share, 'A94', says.rate),
  seed: assumed(whole, 'A94', says.seed),
  after: assumed(whole, 'A94', says.after),
  scenario: assumed(z.string().nullable(), 'A94', 'The scenario that it belongs to.'),
  created_at_ms: assumed(EpochMs, 'A94', 'When it was added.'),
  expires_at_ms: assumed(EpochMs.nullable(), 'A94', 'When it ends.'),
  matched: assumed(z.int(), 'A94', 'Requests that matched.'),
  injected: assumed(z.int(), 'A94', 'Requests that it met.'),
})
export type FaultRule = z.infer<typeof FaultRule>

const Cleared = z.strictObject({ cleared: assumed(z.int(), 'A94', 'Rules that were removed.') })

export const endpoints = declareEndpoints({
  'faults.list': {
    ...reading,
    path: '/_sandbox/faults',
    summary: 'List the fault rules',
    description: 'Newest first, which is the order they are tried in: the first that meets a request decides.',
    query: z.strictObject({}),
    response: page(FaultRule),
    errors: ['field_unknown', 'origin_refused', 'internal_error'],
  },
  'faults.add': {
    ...writing,
    path: '/_sandbox/faults',
    summary: 'Add a fault rule',
    description:
      'Breaks requests of the v1 API and its files before credentials are checked, as a network would. Without further words: every request is answered with 503 injected_fault. Rules are part of the state: a restart keeps them and what they have counted, a snapshot and an export have them, a reset clears them.',
    body: FaultDraft,
    status: 201,
    response: FaultRule,
    errors: [...writeErrors, 'schema_invalid'],
  },
  'faults.clear': {
    ...writing,
    method: 'DELETE',
    path: '/_sandbox/faults',
    summary: 'Remove every fault rule',
    description: 'Removes those of a scenario as well; the scenario otherwise goes on.',
    query: z.strictObject({}),
    response: Cleared,
    errors: ['field_unknown', 'origin_refused', 'storage_unavailable', 'internal_error'],
  },
  'faults.remove': {
    ...writing,
    method: 'DELETE',
    path: '/_sandbox/faults/{fault_id}',
    summary: 'Remove one fault rule',
    description: 'The others stay, with what they have counted.',
    params: z.strictObject({ fault_id: assumed(z.string(), 'A94', 'Identifier of the rule.') }),
    query: z.strictObject({}),
    response: Cleared,
    errors: ['not_found', 'field_unknown', 'origin_refused', 'storage_unavailable', 'internal_error'],
  },
})
