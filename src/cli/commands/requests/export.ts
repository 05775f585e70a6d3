/** `svc requests export` writes exchanges of the journal to a file that browsers and proxies open. */

import { resolve } from 'node:path'
import { Argument } from 'commander'
import { callEndpoint } from '#cli/endpoint/endpoint-command.ts'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import { nextCursor } from '#client/client.ts'
import { type HarEntry, toHarEntry, writeHar } from '#contract/recordings/har.ts'
import type { RequestDetail } from '#contract/resources/requests.ts'
import { CliError } from '#text/cli-error.ts'
import { jsonText } from '#text/terminal.ts'
import { plural } from '#text/text.ts'
import { version } from '#text/version.ts'
import { forceOption, writeAtomically } from '../files.ts'
import { listOptions, listQuery } from './match.ts'

const filters = listOptions()
for (const name of ['limit', 'cursor', 'details']) filters.delete(name)

/** As many as a page with headers and bodies may have. */
const pageSize = 250

export const exportRequests: Command = {
  name: 'export',
  summary: 'Export the request journal as a HAR file',
  details:
    'Writes HAR 1.2, oldest first, which the network panels of browsers, proxies and HAR viewers open: headers, bodies and times of every request that the filters select, without keys, tokens and prompt texts. A file is complete or not written at all; an existing one is replaced only with --force.',
  arguments: [new Argument('[file]', 'file to write; default: stdout')],
  usualFlags:
    '--method --path --status --status-class --reason --key --session-id --trace-id --since --until --overwrite',
  options: [...filters.values(), forceOption()],
  examples: ['requests export journal.har --force', 'requests export --path /v1/placements --since 10m'],
  run,
}

async function run(context: CommandContext, input: CommandInput): Promise<number> {
  const exchanges = await readExchanges(context, input)
  if (exchanges.length === 0) {
    const hint = 'List what there is: svc requests list'
    throw new CliError('usage', 'nothing_to_export', 'The journal has no request that the filters select.', hint)
  }
  const text = writeHar(toEntries(exchanges, context.settings.base_url), version, jsonText)
  const [file] = input.args
  if (file === undefined) {
    for await (const piece of text) context.out.raw(piece)
    return 0
  }
  const path = resolve(context.system.cwd, file)
  await writeAtomically(context, path, text, { overwrite: input.options.overwrite === true })
  context.out.note(`Wrote ${path}, ${plural(exchanges.length, 'request')}.`)
  return 0
}

/** Resolves to the selected exchanges, newest first. */
async function readExchanges(context: CommandContext, input: CommandInput): Promise<RequestDetail[]> {
  const query = { ...(await listQuery(context, filters, input)), details: 'true', limit: pageSize }
  const found: RequestDetail[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { data } = await callEndpoint(context, 'requests.list', { query: { ...query, cursor } })
    found.push(...(data.items as RequestDetail[]))
    cursor = nextCursor(data, cursor)
  }
  return found
}

/** Yields the entries, oldest first. */
function* toEntries(exchanges: readonly RequestDetail[], base_url: string): Generator<HarEntry> {
  for (let index = exchanges.length - 1; index >= 0; index--) yield toHarEntry(exchanges[index]!, base_url)
}
