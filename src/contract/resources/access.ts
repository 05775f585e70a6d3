/** Access for a team: named tokens of the control plane, what was done with them, and the namespaces of a shared store. */
import { z } from 'zod'
import { declareEndpoints, reading, roles, writing } from '../endpoint.ts'
import { Done, EpochMs, NoFields, page, pageQuery } from '../fields.ts'
import { assumed, assumedFields, assumedObject, strictObject } from '../objects.ts'

/** At most 40 characters, since a namespace becomes part of a name in the database. */
export const NamespaceName = z
  .string()
  .max(40)
  .regex(/^[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$/, 'must be lower-case letters and digits, with - and _ in between')

/** Letters, digits, dots, hyphens and underscores. */
export const TokenName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be letters, digits, dots, hyphens and underscores')

export const Role = z.enum(roles)

const token = assumedFields('A97', () => ({
  name: TokenName.describe('Name of the token; unique, also among revoked ones.'),
  role: Role.describe(
    'read: GET. write: also faults, clock, scenarios, projects. admin: also keys, tokens, reset, restore, import.',
  ),
  created_at_ms: EpochMs.describe('When it was created, by the system clock.'),
  revoked_at_ms: EpochMs.nullable().describe('When it was revoked; null while it is valid.'),
}))

export const TokenItem = strictObject(token)
export type TokenItem = z.infer<typeof TokenItem>

export const TokenCreated = assumedObject('A97', () => ({
  ...token(),
  token: z.string().describe('The token. Shown only here: the sandbox stores its hash.'),
}))
export type TokenCreated = z.infer<typeof TokenCreated>

export const AuditItem = assumedObject('A97', () => ({
  audit_id: z.int().describe('Number of the entry; increasing.'),
  at_ms: EpochMs.describe('When it was done, by the system clock.'),
  token: z
    .string()
    .nullable()
    .describe('Name of the token; null on loopback without one, start for the token of svc start.'),
  namespace: z.string().nullable().describe('Namespace of a shared store; null without one.'),
  action: z.string().describe('What was done: the id of an endpoint, such as clock.advance.'),
  path: z.string().describe('Path of the request, without its query.'),
  status: z.int().describe('HTTP status of the response.'),
  reason_code: z.string().nullable().describe('Why it was refused or failed; null for a success.'),
}))
export type AuditItem = z.infer<typeof AuditItem>

export const NamespaceItem = assumedObject('A97', () => ({
  name: NamespaceName.describe('Name of the namespace: svc start --namespace.'),
  nodes: z.int().describe('Nodes that serve it now.'),
  is_own: z.boolean().describe('Whether this sandbox serves it.'),
}))
export type NamespaceItem = z.infer<typeof NamespaceItem>

const tokenParams = assumedObject('A97', () => ({ name: TokenName.describe('Name of the token.') }))

export const control = declareEndpoints({
  'tokens.list': {
    ...reading,
    role: 'admin',
    path: '/_sandbox/tokens',
    summary: 'List the tokens of the control plane',
    description: 'Newest first, including revoked ones. Never the token itself: the sandbox stores only its hash.',
    response: assumedObject('A97', () => ({ items: z.array(TokenItem).describe('All tokens.') })),
  },
  'tokens.create': {
    ...writing,
    role: 'admin',
    path: '/_sandbox/tokens',
    summary: 'Create a token of the control plane',
    description:
      'A random secret under a name, for a person or a program. Clients send it as x-sandbox-token. It belongs to the database: resets, restores and imports keep it, and an export leaves it out.',
    body: assumedObject('A97', () => ({
      name: TokenName.describe('Letters, digits, dots, hyphens and underscores; at most 64.'),
      role: Role.optional().describe('read, write or admin; read when absent.'),
    })),
    status: 201,
    response: TokenCreated,
    errors: ['token_exists'],
  },
  'tokens.revoke': {
    ...writing,
    role: 'admin',
    path: '/_sandbox/tokens/{name}/revoke',
    summary: 'Revoke a token of the control plane',
    description: 'From the next request on it is refused, on every node.',
    params: tokenParams,
    body: NoFields,
    response: TokenItem,
    errors: ['not_found'],
  },
  'audit.list': {
    ...reading,
    role: 'admin',
    path: '/_sandbox/audit',
    summary: 'List who changed what through the control plane',
    description:
      'Newest first: every request that changes something, with the name of its token and its outcome. The newest 10 000 are kept; a sandbox without named tokens keeps only entries of this run.',
    query: strictObject(() => ({
      ...pageQuery(),
      token: assumed(TokenName.optional(), 'A97', 'Only changes made with this token.'),
    })),
    response: page(AuditItem),
  },
  'namespaces.list': {
    ...reading,
    path: '/_sandbox/namespaces',
    summary: 'List the namespaces of a shared store',
    description:
      'Each has its own projects, clock, faults and reset: svc start --store URL --namespace NAME. Empty for a sandbox with a database file.',
    response: assumedObject('A97', () => ({ items: z.array(NamespaceItem).describe('All namespaces, by name.') })),
  },
  'namespaces.delete': {
    ...writing,
    method: 'DELETE',
    role: 'admin',
    path: '/_sandbox/namespaces/{name}',
    summary: 'Delete a namespace with everything in it',
    description: 'Refused while a node serves it: stop its nodes first.',
    params: assumedObject('A97', () => ({ name: NamespaceName.describe('Name of the namespace.') })),
    response: Done,
    errors: ['not_found', 'namespace_in_use'],
  },
})
