import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'

export const requests: CommandGroup = {
  name: 'requests',
  summary: 'Read the request journal of the sandbox',
  commands: [
    endpointCommand('requests.list', {
      examples: ['requests list', 'requests list --status 400 --since 10m -o jsonl'],
      columns: ['at_ms', 'method', 'path', 'status', 'reason_code', 'duration_ms', 'request_id'],
    }),
    endpointCommand('requests.show', {
      examples: ['requests show req_00000000001', 'requests show req_00000000001 -o json'],
    }),
  ],
}
