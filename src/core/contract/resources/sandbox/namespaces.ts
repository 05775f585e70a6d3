/** Namespaces of a shared store: each has its own projects, clock, faults and reset (A97). */
import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../../endpoint.ts'
import { Done } from '../../fields.ts'
import { assumedObject } from '../../objects.ts'

/** At most 40 characters, since a namespace becomes part of a name in the database. */
export const NamespaceName = z
  .string()
  .max(40)
  .regex(/^[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$/, 'must be lower-case letters and digits, with - and _ in between')

export const NamespaceItem = assumedObject('A97', () => ({
  name: NamespaceName.describe('Name of the namespace: svc start --namespace.'),
  nodes: z.int().describe('Nodes that serve it now.'),
  is_own: z.boolean().describe('Whether this sandbox serves it.'),
}))
export type NamespaceItem = z.infer<typeof NamespaceItem>

export const control = declareEndpoints({
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
