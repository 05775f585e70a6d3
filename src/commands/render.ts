import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import { openPage } from '../cli/process/open-url.ts'
import type { Command, Noun } from '../cli/run/command.ts'
import { buildRequest } from '../client/request.ts'
import { contract } from '../contract/index.ts'
import { recallPlacement } from './placements/last-placement.ts'

const fetchFrame = endpointCommand('render.frame', {
  name: 'fetch',
  details: 'Without asset_token, the last fill that this command line got. Counts as the load of the frame.',
  examples: ['render fetch', 'render fetch -q'],
  defaultParam: (session) => recallPlacement(session, 'asset_token'),
})

const open: Command = {
  name: 'open',
  summary: 'Open the hosted frame in a browser',
  details:
    'Without asset_token, the last fill that this command line got. Outside a page the frame is a preview: it renders, and sends no beacons. Prints the URL; without a browser, or without a terminal, that is all.',
  arguments: fetchFrame.arguments ?? [],
  examples: ['render open', 'render open -o json'],
  async run(session, { args }) {
    const asset_token = args[0] ?? (await recallPlacement(session, 'asset_token'))
    const { base_url } = session.settings
    const { url } = buildRequest(contract['render.frame'], { params: { asset_token } }, { base_url })
    const opened = await openPage(session, url)
    session.out.data({ url, opened }, () => [url])
    return 0
  },
}

export const render: Noun = {
  summary: 'Open what a browser renders, or fetch it on stdout',
  commands: [open, fetchFrame, endpointCommand('render.script', { examples: ['render script', 'render script -q'] })],
}
