/** What a step may expect of its answer. */
import { z } from 'zod'
import { eventTypes } from '../../contract/control/events.ts'
import { reasonCodes } from '../../contract/errors.ts'
import { Json, orVariable } from '../suite/fields.ts'

const Status = orVariable(
  z.union([
    z.int().min(100).max(599),
    z.string().regex(/^[1-5]xx$/),
    z.array(z.union([z.int(), z.string().regex(/^[1-5]xx$/)])).min(1),
  ]),
  'a status such as 200, a list of them, or a class such as 4xx',
)

const reason = z.string()
const paths = z.union([z.string(), z.array(z.string()).min(1)])
const matchers = z.record(z.string(), Json)

const ExpectedEvent = z.union([z.string(), z.strictObject({ type: z.string(), data: matchers.optional() })], {
  error: `must be a type such as ${eventTypes[1]}, or { type, data }`,
})
export type ExpectedEvent = z.infer<typeof ExpectedEvent>

const EvidenceKinds = z.array(z.enum(['decision', 'consent', 'beacon']))

export const Expect = z.strictObject({
  status: Status.optional().describe('Status: 200, [200, 201], 4xx. A success where neither this nor reason is given.'),
  reason: z
    .union([reason, z.array(reason).min(1)])
    .optional()
    .describe(`reason_code of the error body, such as ${Object.keys(reasonCodes)[0]}; its status follows from it.`),
  body: matchers.optional().describe('Members of the body by dotted path, and what they must be.'),
  absent: paths.optional().describe('Members that must not be there, by dotted path.'),
  keys: z
    .union([z.array(z.string()), z.record(z.string(), z.array(z.string()))])
    .optional()
    .describe('Exactly these members, of the body or of objects in it by dotted path.'),
  headers: matchers.optional().describe('Headers of the answer; null for one that must not be there.'),
  same_as: z
    .union([
      z.string(),
      z.strictObject({
        step: z.string(),
        paths: z.array(z.string()).optional(),
        except: z.array(z.string()).optional(),
      }),
    ])
    .optional()
    .describe('The body equals that of an earlier step; request_id is not compared.'),
  answer: z.literal('none').optional().describe('No answer comes: the connection breaks, or the answer ends early.'),
  duration_ms: Json.optional().describe('How long the answer took.'),
  events: z.array(ExpectedEvent).min(1).optional().describe('Events of this case, in this order, others between them.'),
  billing: z
    .union([z.boolean(), matchers])
    .optional()
    .describe('Whether production would bill the placement, or members of the verdict by path.'),
  evidence: z
    .union([z.literal(true), EvidenceKinds])
    .optional()
    .describe('true: every chain holds. A list: the kinds of the entries about the slot, in order.'),
})
export type Expect = z.infer<typeof Expect>
