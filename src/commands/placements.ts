import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { explanation } from '../cli/explanation.ts'
import { createPlacementCommand } from './placements-create.ts'

export const placements: CommandGroup = {
  name: 'placements',
  summary: 'Request placements, list them, and explain how they were decided',
  commands: [
    createPlacementCommand,
    endpointCommand('placements.list', {
      examples: ['placements list', 'placements list --fill false --since 10m -o jsonl'],
      columns: ['created_at_ms', 'slot_id', 'job_type', 'mode', 'status', 'format', 'no_fill_reason', 'campaign_id'],
    }),
    endpointCommand('placements.explain', {
      examples: ['placements explain slot_00000000001', 'placements explain slot_00000000001 -o json'],
      text: (detail, _, style) => explanation(detail, style),
    }),
  ],
}
