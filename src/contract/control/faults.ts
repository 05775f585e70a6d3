/** Faults: a network or a service that fails, on demand and by the same dice every time. */
import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { reasonCode } from '../errors.ts'
import { EpochMs, Format, page } from '../fields.ts'
import { assumed, assumedFields, assumedObject } from '../provenance.ts'

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
const choices = assumedFields('A94', {
  method: z.string().max(10).optional().describe('Only this method.'),
  path: z
    .string()
    .startsWith('/', 'must begin with /')
    .max(256)
    .optional()
    .describe(
      'Only paths that begin with this, such as /v1/beacons; with a * in it, paths that it matches whole, * for any text.',
    ),
  key: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Only requests whose key or token begins with this, such as sk_test_ or at_. Shown redacted.'),
  session_id: z.string().min(1).max(256).optional().describe('Only requests of this session, or about a slot of it.'),
  format: Format.optional().describe('Only requests that allow this format, or are about a slot of it.'),
  status: z.int().min(400).max(599).optional().describe('HTTP status of an error; default: that of the reason code.'),
  reason_code: reasonCode
    .optional()
    .describe('Cause in an error; default: the one of the status, where it has just one, else injected_fault.'),
  rewrite: z
    .record(z.string().min(1).max(256), z.unknown())
    .optional()
    .describe('Of the effect rewrite: members of the answer by dotted path, and their new values.'),
  latency_max_ms: latency.optional().describe('Draw the wait evenly, from latency_ms up to this.'),
  latency_sigma: z
    .number()
    .min(0)
    .max(4)
    .optional()
    .describe('Draw the wait log-normally: latency_ms is its median, this the spread of its logarithm.'),
  times: whole.min(1).optional().describe('Meets this many requests, then no more.'),
  ttl_ms: z.int().min(1).max(86_400_000).optional().describe('Ends after this time, by the sandbox clock.'),
})

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
export const FaultRule = assumedObject('A94', {
  fault_id: z.string().describe('Identifier; answers that it meets carry it as x-sandbox-fault.'),
  ...choices,
  effect: FaultEffect.describe(says.effect),
  served: z.boolean().describe(says.served),
  retry_after_s: wait_s.describe(says.retry_after_s),
  retry_after_format: RetryAfterFormat.describe(says.retry_after_format),
  latency_ms: latency.describe(says.latency_ms),
  rate: share.describe(says.rate),
  seed: whole.describe(says.seed),
  after: whole.describe(says.after),
  scenario: z.string().nullable().describe('The scenario that it belongs to.'),
  created_at_ms: EpochMs.describe('When it was added.'),
  expires_at_ms: EpochMs.nullable().describe('When it ends.'),
  matched: z.int().describe('Requests that matched.'),
  injected: z.int().describe('Requests that it met.'),
})
export type FaultRule = z.infer<typeof FaultRule>

const Cleared = assumedObject('A94', { cleared: z.int().describe('Rules that were removed.') })

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
    params: assumedObject('A94', { fault_id: z.string().describe('Identifier of the rule.') }),
    query: z.strictObject({}),
    response: Cleared,
    errors: ['not_found', 'field_unknown', 'origin_refused', 'storage_unavailable', 'internal_error'],
  },
})
