/** Fault rules: a network or a service that fails on demand, reproducibly. */
import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../../endpoint.ts'
import { ReasonCode } from '../../errors.ts'
import { EpochMs, Format, MethodFilter, page } from '../../fields.ts'
import { assumed, assumedFields, assumedObject, strictObject } from '../../objects.ts'

/** Maximum number of rules at a time. */
export const maxFaults = 100

export const FaultEffect = z.enum(['error', 'drop', 'reset', 'truncate', 'garble', 'rewrite', 'delay'])
export type FaultEffect = z.infer<typeof FaultEffect>

export const RetryAfterFormat = z.enum(['seconds', 'http_date', 'none'])

const whole = z.int().min(0).max(1_000_000)
const latency = z.number().min(0).max(60_000)

/** Descriptions of the fields that every rule has, given or by default. */
const descriptions = {
  effect:
    'An error response (error); no response (drop); a reset connection (reset); a response cut in the middle (truncate) or that is not JSON (garble); other fields in the response (rewrite); only a delay (delay). Default error.',
  served: 'true: the request takes effect, only its response is lost or damaged. Default false: it has no effect.',
  retry_after_s: 'Retry-After of a 429 or 503, seconds. Default 1.',
  retry_after_format: 'Retry-After as seconds, as an HTTP date, or left out. Default seconds.',
  latency_ms: 'Wait before the response, real milliseconds. Default 0.',
  rate: 'Share of the matching requests that it applies to. Default 1.',
  seed: 'The same seed selects the same requests, counted from the first that matches. Default 1.',
  after: 'Number of matching requests to let through first. Default 0.',
}

const share = z.number().min(0).max(1)
const wait_s = z.int().min(0).max(86_400)

/** The beginning of a path, or a pattern with `*`. */
export const FaultPath = z.string().regex(/^\//, 'must begin with /').max(256)

/** Fields that a rule may leave out. */
const choices = assumedFields('A96', () => ({
  method: MethodFilter.optional().describe('Only this method.'),
  path: FaultPath.optional().describe(
    'Only paths that begin with this, such as /v1/beacons; with a * in it, only paths that match it completely, * for any text.',
  ),
  key: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Only requests whose key or token begins with this, such as sk_test_ or at_. Shown redacted.'),
  session_id: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Only requests of this session, or about one of its slots.'),
  format: Format.optional().describe('Only requests that allow this format, or are about a slot with it.'),
  status: z
    .int()
    .min(400)
    .max(599)
    .optional()
    .describe('HTTP status of an error; default: the status of the reason code.'),
  reason_code: ReasonCode.optional().describe(
    'Cause of an error; default: the cause of the status, if it has only one, else injected_fault.',
  ),
  rewrite: z
    .record(z.string().min(1).max(256), z.unknown())
    .optional()
    .describe('For the effect rewrite: fields of the response by dotted path, and their new values.'),
  latency_max_ms: latency.optional().describe('Draw the wait uniformly, from latency_ms up to this.'),
  latency_sigma: z
    .number()
    .min(0)
    .max(4)
    .optional()
    .describe('Draw the wait log-normally: latency_ms is its median, this the standard deviation of its logarithm.'),
  times: whole.min(1).optional().describe('Applies to this many requests, then no more.'),
  ttl_ms: z.int().min(1).max(86_400_000).optional().describe('Ends after this time, by the sandbox clock.'),
}))

/** A rule as a client sends it. */
export const FaultDraft = strictObject(() => ({
  ...choices(),
  effect: assumed(FaultEffect.optional(), 'A96', descriptions.effect),
  served: assumed(z.boolean().optional(), 'A96', descriptions.served),
  retry_after_s: assumed(wait_s.optional(), 'A96', descriptions.retry_after_s),
  retry_after_format: assumed(RetryAfterFormat.optional(), 'A96', descriptions.retry_after_format),
  latency_ms: assumed(latency.optional(), 'A96', descriptions.latency_ms),
  rate: assumed(share.optional(), 'A96', descriptions.rate),
  seed: assumed(whole.optional(), 'A96', descriptions.seed),
  after: assumed(whole.optional(), 'A96', descriptions.after),
})).refine((rule) => (rule.effect === 'rewrite') === (rule.rewrite !== undefined), {
  message: 'rewrite must be given exactly when effect is rewrite',
  path: ['rewrite'],
})
export type FaultDraft = z.infer<typeof FaultDraft>

/** A stored rule. */
export const FaultRule = assumedObject('A96', () => ({
  fault_id: z.string().describe('Identifier; responses that it affects have it as x-sandbox-fault.'),
  ...choices(),
  effect: FaultEffect.describe(descriptions.effect),
  served: z.boolean().describe(descriptions.served),
  retry_after_s: wait_s.describe(descriptions.retry_after_s),
  retry_after_format: RetryAfterFormat.describe(descriptions.retry_after_format),
  latency_ms: latency.describe(descriptions.latency_ms),
  rate: share.describe(descriptions.rate),
  seed: whole.describe(descriptions.seed),
  after: whole.describe(descriptions.after),
  scenario: z.string().nullable().describe('The scenario that it belongs to; null for a rule added individually.'),
  created_at_ms: EpochMs.describe('When it was added.'),
  expires_at_ms: EpochMs.nullable().describe('When it expires; null for never.'),
  matched: z.int().describe('Requests that matched.'),
  injected: z.int().describe('Requests that it applied to.'),
}))
export type FaultRule = z.infer<typeof FaultRule>

const Cleared = assumedObject('A96', () => ({ cleared: z.int().describe('Rules that were removed.') }))

export const control = declareEndpoints({
  'faults.list': {
    ...reading,
    path: '/_sandbox/faults',
    summary: 'List the fault rules',
    description: 'Newest first, which is the order of evaluation: the first rule that applies to a request decides.',
    response: page(FaultRule),
  },
  'faults.add': {
    ...writing,
    path: '/_sandbox/faults',
    summary: 'Add a fault rule',
    description:
      'Breaks requests of the v1 API and its files before credentials are checked, as a network would. Without any field, every request gets a 503 injected_fault. Rules are part of the state: they and their counters survive a restart and are in snapshots and exports; a reset clears them.',
    body: FaultDraft,
    credential_fields: ['key', 'path', 'session_id', 'rewrite'],
    status: 201,
    response: FaultRule,
  },
  'faults.clear': {
    ...writing,
    method: 'DELETE',
    path: '/_sandbox/faults',
    summary: 'Remove every fault rule',
    description: 'Removes the rules of a scenario as well; its other changes stay in force.',
    query: strictObject(() => ({})),
    response: Cleared,
  },
  'faults.remove': {
    ...writing,
    method: 'DELETE',
    path: '/_sandbox/faults/{fault_id}',
    summary: 'Remove one fault rule',
    description: 'The other rules stay, with their counters.',
    params: assumedObject('A96', () => ({ fault_id: z.string().describe('Identifier of the rule.') })),
    query: strictObject(() => ({})),
    response: Cleared,
    errors: ['not_found'],
  },
})
