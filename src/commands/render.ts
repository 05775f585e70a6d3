/** `svc render`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { endpoints } from '#cli/endpoint/facts.ts'
import { lastPlacement } from '#cli/endpoint/last-placement.ts'
import { openPage } from '#cli/process/open-url.ts'
import type { Command, Noun } from '#cli/run/command.ts'
import { CliError } from '#cli/run/errors.ts'
import { buildRequest } from '#client/exchange.ts'
import { parseToken } from '#contract/ids.ts'
import { packageRoot } from '#scaffold/templates.ts'

const fetchFrame = endpointCommand('render.frame', {
  name: 'fetch',
  details: 'Without asset_token: your last fill, else the newest of the project. Counts as a load of the frame.',
  examples: ['render fetch', 'render fetch -q'],
  defaultParam: (context) => lastPlacement(context, 'asset_token'),
})

const open: Command = {
  name: 'open',
  summary: 'Open the hosted frame in a browser',
  details:
    'Without asset_token: your last fill, else the newest of the project. Outside a page the frame is a preview: it renders, but sends no beacons. Always prints the URL; without a browser or a terminal it does only that.',
  arguments: fetchFrame.arguments ?? [],
  examples: ['render open', 'render open -o json'],
  async run(context, { args }) {
    const asset_token = args[0] ?? (await lastPlacement(context, 'asset_token'))
    // A page is opened without checking its response.
    if (parseToken(asset_token)?.kind !== 'ast') {
      const hint = "It begins with ast_; to read a slot's: svc decisions get SLOT_ID --jq .decision.asset_token"
      throw new CliError('usage', 'asset_token_malformed', `'${asset_token}' is not an asset token.`, hint)
    }
    const { base_url } = context.settings
    const { url } = buildRequest(endpoints['render.frame'], { params: { asset_token } }, { base_url })
    const opened = await openPage(context, url)
    context.out.data({ url, opened }, () => [url])
    return 0
  },
}

const script = endpointCommand('render.script', {
  details: 'Without a sandbox: the render.js of this package.',
  examples: ['render script', 'render script -q'],
  fromPackage: () => readFile(join(packageRoot, 'dist/renderer/render.js'), 'utf8'),
})

export const render: Noun = {
  summary: 'Open a hosted frame in a browser, or print it',
  commands: [open, fetchFrame, script],
}
