/** What was done through the control plane, and with which token (A97). */
import { z } from 'zod'
import { declareEndpoints, reading } from '../../endpoint.ts'
import { EpochMs, page, pageQuery } from '../../fields.ts'
import { assumed, assumedObject, strictObject } from '../../objects.ts'

/** A token by its name, or a page by its origin. */
const AuditedName = z
  .string()
  .max(256)
  .regex(/^[A-Za-z0-9][A-Za-z0-9.:/[\]_-]*$/, 'must be the name of a token, or the origin of a page')

export const AuditItem = assumedObject('A97', () => ({
  audit_id: z.int().describe('Number of the entry; increasing.'),
  at_ms: EpochMs.describe('When it was done, by the system clock.'),
  token: z
    .string()
    .nullable()
    .describe(
      'Name of the token; null on loopback without one, start for the token of svc start, the origin of a page with a grant.',
    ),
  namespace: z.string().nullable().describe('Namespace of a shared store; null without one.'),
  action: z.string().describe('What was done: the id of an endpoint, such as clock.advance.'),
  path: z.string().describe('Path of the request, without its query.'),
  status: z.int().describe('HTTP status of the response.'),
  reason_code: z.string().nullable().describe('Why it was refused or failed; null for a success.'),
}))
export type AuditItem = z.infer<typeof AuditItem>

export const control = declareEndpoints({
  'audit.list': {
    ...reading,
    role: 'admin',
    path: '/_sandbox/audit',
    summary: 'List who changed what through the control plane',
    description:
      'Newest first: every request that changes something, with the name of its token and its outcome. The newest 10 000 are kept; a sandbox without named tokens keeps only entries of this run.',
    query: strictObject(() => ({
      ...pageQuery(),
      token: assumed(AuditedName.optional(), 'A97', 'Only changes made with this token, or by pages of this origin.'),
    })),
    response: page(AuditItem),
  },
})
