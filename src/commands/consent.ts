import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'

export const consent: CommandGroup = {
  name: 'consent',
  summary: 'Store the consent of a session',
  commands: [
    endpointCommand('consent.set', {
      details: 'A changed consent supersedes the snapshot of earlier decisions: their frames and beacons are refused.',
      examples: [
        'consent set --session-id sess_1 --decision granted --set purposes.semantic_targeting=true',
        'consent set --session-id sess_1 --decision withdrawn -o json',
      ],
    }),
  ],
}
