import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../endpoint.ts'
import { keyClasses } from '../facts/stored-words.ts'
import { EpochMs, KeyId, Mode, NoFields, page, pageQuery } from '../fields.ts'
import { assumed, assumedFields, assumedObject, strictObject } from '../objects.ts'
import { projectParams } from './projects.ts'

export const KeyClass = z.enum(keyClasses)
export type KeyClass = z.infer<typeof KeyClass>

const keyItem = assumedFields('A02', () => ({
  key_id: KeyId.describe('Identifier of the key; not a credential.'),
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  class: KeyClass.describe('secret for servers, publishable for pages.'),
  mode: Mode.describe('test or live.'),
  created_at_ms: EpochMs.describe('When it was created.'),
  revoked_at_ms: EpochMs.nullable().describe('When it was revoked; null while it is valid.'),
}))

export const KeyItem = strictObject(keyItem)
export type KeyItem = z.infer<typeof KeyItem>

export const KeyCreation = assumedObject('A02', () => ({
  class: KeyClass.optional().describe('secret or publishable; secret when absent.'),
  mode: Mode.optional().describe('test or live; test when absent.'),
}))
export type KeyCreation = z.infer<typeof KeyCreation>

export const KeyCreated = assumedObject('A02', () => ({
  ...keyItem(),
  key: z.string().describe('The key. Shown only here: the sandbox stores its hash.'),
}))
export type KeyCreated = z.infer<typeof KeyCreated>

export const control = declareEndpoints({
  'keys.list': {
    ...reading,
    path: '/_sandbox/projects/{client_id}/keys',
    summary: 'List the keys of a project',
    description: 'Including revoked keys. Never the key itself: the sandbox stores only its hash.',
    params: projectParams,
    query: strictObject(pageQuery),
    response: page(KeyItem),
    errors: ['not_found'],
  },
  'keys.create': {
    ...writing,
    role: 'admin',
    path: '/_sandbox/projects/{client_id}/keys',
    summary: 'Create a key',
    description: 'A random key of the project, valid immediately.',
    params: projectParams,
    body: KeyCreation,
    status: 201,
    response: KeyCreated,
    errors: ['not_found'],
  },
  'keys.revoke': {
    ...writing,
    role: 'admin',
    path: '/_sandbox/keys/{key_id}/revoke',
    summary: 'Revoke a key',
    description:
      'From the next request on, the key and the activation tokens issued for it get a 401 key_revoked. A reset restores the seeded keys.',
    params: assumedObject('A02', () => ({ key_id: KeyId.describe('Identifier of the key.') })),
    body: NoFields,
    response: KeyItem,
    errors: ['not_found'],
  },
})
