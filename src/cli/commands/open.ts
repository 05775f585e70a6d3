/** `svc open [ID]` opens the inspector, a hosted frame or a bundle in the browser. */
import { Argument } from 'commander'
import { endpoints } from '#cli/endpoint/facts.ts'
import { lastPlacement } from '#cli/endpoint/last-placement.ts'
import { openPage } from '#cli/process/open-url.ts'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { noteOtherFolder } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { nextCursor } from '#client/client.ts'
import { buildRequest } from '#client/exchange.ts'
import { parseToken } from '#contract/ids.ts'
import { CliError } from '#text/cli-error.ts'

/** The pages of identifiers with their own form. The inspector looks for all others. */
const folders: readonly (readonly [prefix: string, folder: string])[] = [
  ['slot_', 'placements'],
  ['job_', 'jobs'],
  ['req_', 'requests'],
  ['cns_', 'consent'],
  ['key_', 'keys'],
  ['proj_', 'projects'],
  ['bun_', 'bundles'],
]

/** Names the page about the console on a page. */
const consolePage = 'console'

/** Names the hosted frame of the last fill. */
const frame = 'frame'

export const open: Command = {
  name: 'open',
  summary: 'Open the inspector, or a hosted frame, in the browser',
  details:
    'With ID it opens the page of a slot, job, request, beacon, session, project, consent, key or bundle, or of an evidence entry (proj_demo~12). With frame, or an asset token, it opens the hosted frame of your last fill or of the token: a preview, which sends no beacons. With console it opens the page that has the bookmark for the console on your own page, says how else to open it, and where you confirm a page that asks to steer. Always prints the URL; without a browser or a terminal it does only that.',
  arguments: [
    new Argument('[id]', 'an identifier that a command has printed, frame or console; default: the overview'),
  ],
  examples: ['open', 'open slot_00000000003', 'open frame', 'open console -o json'],
  async run(context, { args: [id] }) {
    const { out, settings } = context
    if (id === frame || id?.startsWith('ast_') === true) return openFrame(context, id === frame ? undefined : id)
    if (settings.sandbox === null) throw noSandboxFor(settings)
    noteOtherFolder(context.system, settings)
    const { url: own_url, public_url = own_url, admin_token } = settings.sandbox
    if (id !== undefined && id !== consolePage) await checkKnown(context, id)
    const token = admin_token === undefined ? '' : `?token=${admin_token}`
    const url = `${public_url}${inspectorPath(id)}${token}`
    const opened = await openPage(context, url)
    out.data({ url, opened }, () => [url])
    return 0
  },
}

/** Opens the hosted frame of a token, else of the last fill. A page is opened without checking its response. */
async function openFrame(context: CommandContext, token: string | undefined): Promise<number> {
  const asset_token = token ?? (await lastPlacement(context, 'asset_token'))
  if (parseToken(asset_token)?.kind !== 'ast') {
    const hint = "To read a slot's: svc api decisions.get SLOT_ID --jq .decision.asset_token"
    throw new CliError('usage', 'asset_token_malformed', `'${asset_token}' is not an asset token.`, hint)
  }
  const { base_url } = context.settings
  const { url } = buildRequest(endpoints['render.frame'], { params: { asset_token } }, { base_url })
  const opened = await openPage(context, url)
  context.out.data({ url, opened }, () => [url])
  return 0
}

/** Throws CliError for a name that nothing here has: no session, and no beacon of the journal. */
async function checkKnown({ client, signal }: CommandContext, id: string): Promise<void> {
  if (id.includes('~') || folders.some(([prefix]) => id.startsWith(prefix))) return
  const { placements, consent, requests } = client()
  const query = { session_id: id, limit: 1 }
  const found = await Promise.all([
    placements.list({ query }, { signal }).then(({ items }) => items.length),
    consent.list({ query }, { signal }).then(({ items }) => items.length),
  ])
  if (found.some((count) => count > 0)) return
  // Each response covers a limited part of the journal.
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body = { body: { beacon_id: id }, ...(cursor === undefined ? {} : { cursor }) }
    const counted = await requests.count({ body }, { signal })
    if (counted.count > 0) return
    cursor = nextCursor(counted, cursor)
  }
  const hint = 'Give an identifier that a command has printed, such as slot_...: svc placements list'
  throw new CliError('usage', 'id_unknown', `Nothing here has the identifier ${JSON.stringify(id)}.`, hint)
}

function inspectorPath(id: string | undefined): string {
  if (id === undefined) return '/_sandbox/'
  if (id === consolePage) return '/_sandbox/console'
  const folder = folders.find(([prefix]) => id.startsWith(prefix) && !id.includes('~'))?.[1] ?? 'id'
  return `/_sandbox/${folder}/${encodeURIComponent(id)}`
}
