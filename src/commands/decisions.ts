import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { recallPlacement, rememberPlacement } from '../cli/last-placement.ts'
import { placementSummary } from '../cli/placement-summary.ts'

export const decisions: CommandGroup = {
  name: 'decisions',
  summary: 'Poll slots for their decision',
  commands: [
    endpointCommand('decisions.get', {
      details: 'Without slot_id, the last placement that this command line got.',
      examples: ['decisions get', 'decisions get --wait-ms 5000 -o json'],
      defaultParam: (session) => recallPlacement(session, 'slot_id'),
      after: rememberPlacement,
      text: placementSummary,
    }),
  ],
}
