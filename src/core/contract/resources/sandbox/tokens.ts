/** Named tokens of the control plane (A97). */
import { z } from 'zod'
import { declareEndpoints, reading, roles, writing } from '../../endpoint.ts'
import { EpochMs, NoFields } from '../../fields.ts'
import { assumedFields, assumedObject, strictObject } from '../../objects.ts'

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
})
