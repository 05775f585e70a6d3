import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { Noun } from '../../cli/run/command.ts'
import { createPlacementCommand } from './create.ts'
import { explanation } from './explain.ts'
import { recallPlacement } from './last-placement.ts'

export const placements: Noun = {
  summary: 'Request placements, list them, and explain how they were decided',
  commands: [
    createPlacementCommand,
    endpointCommand('placements.list', {
      examples: ['placements list', 'placements list --fill false --since 10m -o jsonl'],
      columns: ['created_at_ms', 'slot_id', 'job_type', 'mode', 'status', 'format', 'no_fill_reason', 'campaign_id'],
    }),
    endpointCommand('placements.explain', {
      details: 'Without slot_id, the last placement that this command line got.',
      examples: ['placements explain', 'placements explain -o json'],
      defaultParam: (session) => recallPlacement(session, 'slot_id'),
      text: (detail, _, style) => explanation(detail, style),
    }),
  ],
}
