/** `svc team namespaces`. */
import { Option } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { CommandGroup } from '#cli/run/command.ts'
import { CliError } from '#text/cli-error.ts'
import { paintWord } from '#text/table.ts'
import { canAsk, confirm } from '../prompt.ts'

export const namespaces: CommandGroup = {
  name: 'namespaces',
  summary: 'List and delete the namespaces of a shared store',
  commands: [
    endpointCommand('namespaces.list', {
      empty: 'No namespaces yet. Create one: svc start --store URL --namespace NAME',
      examples: ['team namespaces list', 'team namespaces list -o json'],
      columns: [{ name: 'name', kind: 'id' }, { name: 'nodes' }, { name: 'own', field: 'is_own', paint: paintWord }],
    }),
    endpointCommand('namespaces.delete', {
      details: 'On a terminal it asks first.',
      options: [new Option('-y, --yes', 'do not ask')],
      examples: ['team namespaces delete pr-42 --yes', 'team namespaces delete pr-42 -o none'],
      async input(context, { args, options }) {
        const name = args[0] ?? ''
        const isAsked = options.yes !== true && canAsk(context)
        if (isAsked && !(await confirm(context, `Delete the namespace ${name} with everything in it?`))) {
          const hint = `To skip the question: svc team namespaces delete ${name} --yes`
          throw new CliError('usage', 'not_confirmed', 'Nothing was deleted.', hint)
        }
        return { params: { name } }
      },
      text: () => ['Deleted.'],
    }),
  ],
}
