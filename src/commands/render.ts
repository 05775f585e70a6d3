import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'

export const render: CommandGroup = {
  name: 'render',
  summary: 'Fetch what a browser renders, on stdout',
  commands: [
    endpointCommand('render.frame', {
      name: 'fetch',
      details: 'Counts as a load of the frame: beacons are accepted from then on.',
      examples: ['render fetch ast_00000000001', 'render fetch ast_00000000001 --base-url http://127.0.0.1:4010'],
    }),
    endpointCommand('render.script', { examples: ['render script', 'render script -q'] }),
  ],
}
