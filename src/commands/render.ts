import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { recallPlacement } from '../cli/last-placement.ts'

export const render: CommandGroup = {
  name: 'render',
  summary: 'Fetch what a browser renders, on stdout',
  commands: [
    endpointCommand('render.frame', {
      name: 'fetch',
      details: 'Without asset_token, the last fill that this command line got. Counts as the load of the frame.',
      examples: ['render fetch', 'render fetch -q'],
      defaultParam: (session) => recallPlacement(session, 'asset_token'),
    }),
    endpointCommand('render.script', { examples: ['render script', 'render script -q'] }),
  ],
}
