import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { CommandGroup } from '../../cli/run/command.ts'

export const scenario: CommandGroup = {
  name: 'scenario',
  summary: 'Use a scenario of the catalogue',
  commands: [
    endpointCommand('scenario.list', {
      examples: ['sandbox scenario list', 'sandbox scenario list -o json'],
      columns: ['name', 'title', 'active'],
    }),
    endpointCommand('scenario.use', {
      examples: ['sandbox scenario use banner_ok', 'sandbox scenario use clip_ok -o json'],
      text: ({ name, title, purpose, steps, expect }) => [
        `${name}: ${title}.`,
        purpose,
        '',
        'Do',
        ...steps.map((step) => `  ${step}`),
        '',
        'Expect',
        ...expect.map((line) => `  ${line}`),
      ],
    }),
    endpointCommand('scenario.clear', {
      examples: ['sandbox scenario clear', 'sandbox scenario clear -o json'],
      text: ({ cleared }) => [cleared === null ? 'No scenario was in use.' : `${cleared} is no longer in use.`],
    }),
  ],
}
