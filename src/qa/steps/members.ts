/** Members that steps have beside their action. */
import { z } from 'zod'
import { Expect } from '../expect/schema.ts'
import { Duration, Json, Name, orVariable } from '../suite/fields.ts'

/** Names of credentials; any other text is sent as it is. */
export const keyNames = ['secret', 'publishable', 'live', 'other', 'activation', 'beacon', 'none'] as const

const Key = z.union([
  z.string(),
  z.strictObject({
    project: z.string().optional(),
    class: z.enum(['secret', 'publishable']).optional(),
    mode: z.enum(['test', 'live']).optional(),
  }),
])

const Repeat = z.union([
  orVariable(z.int().min(1).max(10_000), 'a whole number from 1 on'),
  z.strictObject({
    times: orVariable(z.int().min(1).max(10_000), 'a whole number from 1 on').describe('How often, at most.'),
    until: Expect.optional().describe('Stop as soon as this holds; it must hold in the end.'),
    pause: Duration.optional().describe('Between two of them.'),
    at_once: z.literal(true).optional().describe('All at the same time.'),
  }),
])

/** Of every step. */
export const commonMembers = {
  name: z.string().min(1).optional().describe('What reports call it.'),
  as: Name.optional().describe('Name of its answer: {{name.status}}, {{name.headers.etag}}, {{name.body...}}.'),
  repeat: Repeat.optional().describe('Do it several times; {{index}} counts from 1.'),
  timeout: Duration.optional().describe('How long it may take; default 10s.'),
  expect: Expect.optional().describe('What its answer must be.'),
}

/** Of steps that send a request of the API. */
export const requestMembers = {
  key: Key.optional().describe(
    'Credential: secret (default), publishable, live, other (of another project), activation, beacon (what the last frame handed out), none, { project, class, mode }, or text.',
  ),
  origin: z.string().nullable().optional().describe('Origin header; null for none.'),
  headers: z.record(z.string(), z.string().nullable()).optional().describe('Headers; null takes one away.'),
  query: z.record(z.string(), Json).optional().describe('Parameters of the query string.'),
  set: z.record(z.string(), Json).optional().describe('Members of the body by dotted path.'),
  unset: z.array(z.string()).optional().describe('Members to take out of the body, by dotted path.'),
  contract: z.literal(false).optional().describe('false: the answer is not checked against the contract.'),
}
