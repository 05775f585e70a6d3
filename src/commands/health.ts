/** `svc health`: prints what it always did, for scripts and probes that call it. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Noun } from '#cli/run/command.ts'
import { asEarlierName } from './sandbox/earlier-name.ts'

export const health: Noun = {
  summary: 'Earlier name of svc sandbox status',
  commands: [
    asEarlierName(
      'sandbox status',
      endpointCommand('health.live', { examples: ['health live', 'health live -o none'] }),
    ),
    asEarlierName(
      'sandbox status',
      endpointCommand('health.ready', { examples: ['health ready', 'health ready -o none'] }),
    ),
  ],
}
