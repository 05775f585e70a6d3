import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { placementSummary } from '../cli/placement-summary.ts'

export const decisions: CommandGroup = {
  name: 'decisions',
  summary: 'Poll slots for their decision',
  commands: [
    endpointCommand('decisions.get', {
      examples: ['decisions get slot_00000000001', 'decisions get slot_00000000001 --wait-ms 5000 -o json'],
      text: (answer, meta, style, { command_name }) => placementSummary(answer, meta, style, command_name),
    }),
  ],
}
