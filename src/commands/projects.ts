import { CliError } from '../cli/cli-error.ts'
import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'

export const projects: CommandGroup = {
  name: 'projects',
  summary: 'Read the runtime configuration of a project',
  commands: [
    endpointCommand('projects.config', {
      details: 'Without client_id, of the project in use.',
      examples: ['projects config', 'projects config proj_demo -o json'],
      defaultParam: ({ settings }) => {
        if (settings.client_id !== null) return settings.client_id
        throw new CliError('usage', 'argument_missing', 'client_id is missing.', 'Give it, or set SVC_CLIENT_ID.')
      },
    }),
  ],
}
