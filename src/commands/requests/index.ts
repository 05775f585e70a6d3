import { Option } from 'commander'
import { callEndpoint, endpointCommand, endpointOptions } from '../../cli/endpoint/endpoint-command.ts'
import { flagValues } from '../../cli/endpoint/flags.ts'
import { curlCommand, secretKeyVariable, shellMediaType } from '../../cli/output/quoting.ts'
import { alignTable, describeValue, formatMember, isTime } from '../../cli/output/text.ts'
import type { Command, CommandInput, Noun } from '../../cli/run/command.ts'
import type { Session } from '../../cli/run/session.ts'
import type { RequestDetail, RequestItem } from '../../contract/control/requests.ts'
import type { Output } from '../../contract/endpoint.ts'
import { type Contract, contract } from '../../contract/index.ts'
import { recallPlacement } from '../placements/last-placement.ts'
import { listOptions, listQuery, matchOf, matchOptions } from './match.ts'
import { replayRequest } from './replay.ts'
import { journalledRequest, redactedParts } from './show.ts'
import { tailRequests } from './tail.ts'
import { countAll, describeFailed, verifyRequests } from './verify.ts'

type PageId = 'requests.list' | 'requests.find'

const columns = ['at_ms', 'method', 'path', 'status', 'reason_code', 'duration_ms', 'request_id'] as const
const defaultLimit = 50
const filters = listOptions()
const pageOptions = within(endpointOptions(contract['requests.find']).body, ['limit', 'cursor'])
const nearestOptions = within(endpointOptions(contract['requests.nearest']).body, ['limit'])

const list: Command = {
  name: 'list',
  summary: contract['requests.list'].summary,
  details: `${contract['requests.list'].description} This command looks on until its page is full or the journal ends. (GET /_sandbox/requests)`,
  options: [...filters.values()],
  examples: ['requests list', 'requests list --status 400 --since 10m -o jsonl'],
  run: async (session, given) =>
    printPage(session, await fullPage(session, 'requests.list', 'query', listQuery(session, filters, given))),
}

const find: Command = {
  name: 'find',
  summary: contract['requests.find'].summary,
  details: `${contract['requests.find'].description} (POST /_sandbox/requests/find)`,
  options: [...matchOptions(), ...pageOptions.values()],
  examples: [
    'requests find --path /v1/placements --body overrides.allowed_formats.0=banner',
    'requests find --header content-type=application/json --limit 5 -o jsonl',
  ],
  async run(session, given) {
    const match = { ...matchOf(session, given), ...flagValues(pageOptions, given.options) }
    return printPage(session, await fullPage(session, 'requests.find', 'body', match))
  },
}

const count: Command = {
  name: 'count',
  summary: contract['requests.count'].summary,
  details: 'How many requests of the whole journal meet every condition. (POST /_sandbox/requests/count)',
  options: matchOptions(),
  examples: ['requests count --path /v1/beacons', 'requests count --status-class 4xx --since 1h -o json'],
  async run(session, given) {
    const found = await countAll(session, matchOf(session, given))
    session.out.data({ count: found }, () => [String(found)])
    return 0
  },
}

const nearest: Command = {
  name: 'nearest',
  summary: contract['requests.nearest'].summary,
  details: `${contract['requests.nearest'].description} (POST /_sandbox/requests/nearest)`,
  options: [...matchOptions(), ...nearestOptions.values()],
  examples: [
    'requests nearest --path /v1/placements --body job_type=voice',
    'requests nearest --path /v1/placements --status 404 --limit 1 -o json',
  ],
  async run(session, given) {
    const body = { ...matchOf(session, given), ...flagValues(nearestOptions, given.options) }
    const { data } = await callEndpoint(session, 'requests.nearest', { body })
    const { items } = data as Output<Contract['requests.nearest']>
    session.out.list(data, items, () =>
      items.flatMap(({ method, path, status, request_id, failed }) => [
        `${method} ${path} ${status}  ${request_id}`,
        ...failed.map((each) => `  ${describeFailed(each)}`),
      ]),
    )
    if (items.length === 0) session.out.note('Nothing there.')
    return 0
  },
}

const plainShow = endpointCommand('requests.show', {
  details: 'Without request_id, the request of the last placement that this command line got.',
  examples: ['requests show', 'requests show --curl', 'requests show -o json'],
  defaultParam: (session) => recallPlacement(session, 'request_id'),
  text: ({ request_body, response_body, ...detail }, _, style) =>
    describeValue({ ...detail, request_body: readable(request_body), response_body: readable(response_body) }, style),
})

const show: Command = {
  ...plainShow,
  options: [
    ...(plainShow.options ?? []),
    new Option('--curl', `print the curl command that sends it again, with ${secretKeyVariable}`),
  ],
  run: (session, given) => (given.options.curl === true ? showCurl(session, given) : plainShow.run(session, given)),
}

export const requests: Noun = {
  summary: 'Read the request journal of the sandbox, check it and send its requests again',
  commands: [list, show, find, count, nearest, tailRequests, replayRequest, verifyRequests],
}

function within(options: Map<string, Option>, names: readonly string[]): Map<string, Option> {
  return new Map([...options].filter(([name]) => names.includes(name)))
}

async function showCurl(session: Session, given: CommandInput): Promise<number> {
  const request_id = given.args[0] ?? (await recallPlacement(session, 'request_id'))
  const { data } = await callEndpoint(session, 'requests.show', { params: { request_id } })
  const { base_url } = session.settings
  const request = journalledRequest(data as RequestDetail, { base_url, credential: secretKeyVariable })
  const parts = redactedParts(request)
  if (parts.length > 0) session.out.note(`Redacted, to be filled in: ${parts.join(', ')}.`)
  session.out.document(`${curlCommand(request)}\n`, shellMediaType)
  return 0
}

/** One page, put together from as many answers as it takes: each has looked at a bounded part of the journal. */
async function fullPage(
  session: Session,
  id: PageId,
  place: 'query' | 'body',
  wanted: object & { limit?: number },
): Promise<Output<Contract[PageId]>> {
  const { limit = defaultLimit } = wanted
  const items: RequestItem[] = []
  let input = wanted
  for (;;) {
    const { data } = await callEndpoint(session, id, { [place]: input })
    const page = data as Output<Contract[PageId]>
    items.push(...page.items)
    if (page.next_cursor === null || items.length >= limit) return { items, next_cursor: page.next_cursor }
    input = { ...wanted, limit: limit - items.length, cursor: page.next_cursor } as typeof wanted
  }
}

function printPage({ out, host }: Session, page: Output<Contract[PageId]>): number {
  const { items, next_cursor } = page
  out.list(page, items, (style) =>
    items.length === 0
      ? []
      : alignTable(
          columns,
          items.map((item) => columns.map((name) => (isTime(name) ? formatMember(name, item[name]) : item[name]))),
          style,
        ),
  )
  if (items.length === 0) out.note('Nothing there.')
  if (next_cursor !== null && host.stdout.is_terminal) out.note(`More: --cursor ${next_cursor}`)
  return 0
}

/** A body as a value, where it is JSON. */
function readable(body: string | null): unknown {
  try {
    return JSON.parse(body ?? 'null')
  } catch {
    return body
  }
}
