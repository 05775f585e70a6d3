import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import type { CommandGroup } from '../cli/run/command.ts'

export const health: CommandGroup = {
  name: 'health',
  summary: 'Whether a sandbox answers, for scripts and probes',
  commands: [
    endpointCommand('health.live', { examples: ['health live', 'health live -o none'] }),
    endpointCommand('health.ready', { examples: ['health ready', 'health ready -o none'] }),
  ],
}
