import { Argument } from 'commander'
import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import type { Command, Noun } from '../cli/run/command.ts'
import { CliError } from '../cli/run/errors.ts'
import type { Session } from '../cli/run/session.ts'

export const projects: Noun = {
  summary: 'Read and change projects and their settings',
  commands: [
    endpointCommand('projects.config', {
      details: 'Without client_id, of the project in use.',
      examples: ['projects config', 'projects config proj_demo -o json'],
      defaultParam: projectInUse,
    }),
    endpointCommand('projects.list', {
      examples: ['projects list', 'projects list -o jsonl'],
      columns: ['client_id', 'enabled', 'billing_model', 'consent_required', 'config_revision', 'allowed_origins'],
    }),
    endpointCommand('projects.show', {
      details: 'Without client_id, of the project in use.',
      examples: ['projects show', 'projects show proj_strict -o json'],
      defaultParam: projectInUse,
    }),
    createProject(),
    endpointCommand('projects.update', {
      details: 'Without client_id, of the project in use. A list is given whole, its items separated by commas.',
      examples: [
        'projects update --set allowed_origins=http://localhost:*,http://127.0.0.1:*',
        'projects update proj_other --billing-model cpc --set viewability.ratio=0.6 -o json',
      ],
      defaultParam: projectInUse,
    }),
  ],
}

/** The project in use, where the command line names none. */
export function projectInUse({ settings }: Session): string {
  if (settings.client_id !== null) return settings.client_id
  throw new CliError('usage', 'argument_missing', 'client_id is missing.', 'Give it, or set SVC_CLIENT_ID.')
}

/** The name of a new project is an argument: --client-id names the project in use. */
function createProject(): Command {
  const command = endpointCommand('projects.create', {
    details: 'Its keys are shown once.',
    examples: [
      'projects create proj_shop --set allowed_origins=https://shop.example',
      'projects create proj_news --billing-model cpc --set consent.required=true -o json',
    ],
  })
  return {
    ...command,
    arguments: [new Argument('<client_id>', 'proj_ and a name')],
    run: (session, given) => {
      const { options, args } = given
      const set = [...((options.set as string[] | undefined) ?? []), `client_id=${args[0]}`]
      return command.run(session, { ...given, options: { ...options, set }, args: [] })
    },
  }
}
