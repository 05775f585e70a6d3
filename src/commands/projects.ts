import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'

export const projects: CommandGroup = {
  name: 'projects',
  summary: 'Read the runtime configuration of a project',
  commands: [
    endpointCommand('projects.config', {
      details: 'Without client_id, of the project in use.',
      examples: ['projects config', 'projects config proj_demo -o json'],
      optionalParams: ({ settings }) => ({ client_id: settings.client_id }),
    }),
  ],
}
