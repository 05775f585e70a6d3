/** `svc sandbox keys`. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Noun } from '#cli/run/command.ts'
import { paintReason } from '#text/table.ts'
import { projectInUse } from './projects.ts'

export const keys: Noun = {
  summary: 'List, create and revoke the keys of a project',
  commands: [
    endpointCommand('keys.list', {
      empty: 'The project has no keys. Create one: svc sandbox keys create',
      details: 'Without client_id: the project in use.',
      examples: ['sandbox keys list', 'sandbox keys list proj_other -o jsonl'],
      defaultParam: projectInUse,
      columns: [
        { name: 'key', field: 'key_id', kind: 'id' },
        { name: 'class' },
        { name: 'mode' },
        { name: 'created', field: 'created_at_ms', kind: 'time' },
        { name: 'revoked', field: 'revoked_at_ms', kind: 'time', paint: paintReason },
      ],
    }),
    endpointCommand('keys.create', {
      details: 'Without client_id: the project in use.',
      examples: ['sandbox keys create', 'sandbox keys create proj_demo --class publishable --mode live -o json'],
      defaultParam: projectInUse,
      after: async ({ out }) => out.note('The key is shown only now: copy it. The sandbox keeps its hash alone.'),
    }),
    endpointCommand('keys.revoke', {
      details: 'Takes a key_id from svc sandbox keys list. Revoking a revoked key changes nothing.',
      examples: ['sandbox keys revoke key_00000000009', 'sandbox keys revoke key_00000000009 -o json'],
    }),
  ],
}
