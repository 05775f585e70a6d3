/**
 * `svc requests`: `list` searches the journal of the sandbox, `show` prints one request with its response, or the
 * curl command that sends it again, and `replay` has the sandbox send it again.
 */
import { Argument, Option } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { chooseVariant, endpointOptions, flagValues } from '#cli/endpoint/flags.ts'
import { readAssignment } from '#cli/endpoint/input.ts'
import { lastPlacement } from '#cli/endpoint/last-placement.ts'
import { describeRecord, printPage } from '#cli/endpoint/listed-page.ts'
import { repeatable } from '#cli/endpoint/option-values.ts'
import {
  type Command,
  type CommandContext,
  type CommandInput,
  listOption,
  type Noun,
  textOption,
} from '#cli/run/command.ts'
import { nextCursor } from '#client/client.ts'
import { ServiceError } from '#client/errors.ts'
import type { RequestDetail, RequestItem } from '#contract/resources/requests.ts'
import { curlCommand, journaledRequest, redactedParts, secretKeyVariable, shellMediaType } from '#foundation/http.ts'
import { parseExactly, replaceExactNumbers } from '#foundation/json/exact-numbers.ts'
import { parseJsonObject } from '#foundation/json.ts'
import { CliError } from '#text/cli-error.ts'
import { type Column, paintDim, paintReason, paintStatus } from '#text/table.ts'
import { alignPairs, describeValue } from '#text/text.ts'
import { exportRequests } from './export.ts'
import { contentOptions, emptyJournal, endpointAt, listOptions, listQuery, readMatch, verify } from './match.ts'

const showDetail = endpointCommand('requests.show', {
  details: 'Without request_id: the request of the newest placement, yours or that of your app.',
  examples: ['requests show', 'requests show --curl', 'requests show -o json'],
  defaultParam: (context) => lastPlacement(context, 'request_id'),
  text: ({ request_headers, request_body, response_headers, response_body, ...detail }, style) => [
    ...describeRecord(detail, style),
    ...describeValue(
      {
        request_headers,
        request_body: jsonOrText(request_body),
        response_headers,
        response_body: jsonOrText(response_body),
      },
      style,
    ),
  ],
})

const show: Command = {
  ...showDetail,
  options: [
    ...(showDetail.options ?? []),
    new Option('--curl', `print the curl command that sends it again, with ${secretKeyVariable}`),
  ],
  run: (context, input) => (input.options.curl === true ? showCurl(context, input) : showDetail.run(context, input)),
}

/** Returns a body of the journal as a value where it is JSON, with every digit of its numbers, else as text. */
function jsonOrText(body: string | null): unknown {
  const value = parseExactly(body ?? 'null')
  return value === undefined ? body : replaceExactNumbers(value, (digits) => digits)
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

async function showCurl(context: CommandContext, { args }: CommandInput): Promise<number> {
  const request_id = args[0] ?? (await lastPlacement(context, 'request_id'))
  const { data } = await callEndpoint(context, 'requests.show', { params: { request_id } })
  if (!methods.includes(data.method)) {
    throw new CliError('usage', 'method_unknown', `${data.method} ${data.path} cannot be shown as a command.`)
  }
  const request = journaledRequest(data, context.settings.base_url)
  const parts = redactedParts(request)
  if (parts.length > 0) context.out.note(`Redacted, fill in before you send it: ${parts.join(', ')}.`)
  context.out.document(`${curlCommand(request)}\n`, shellMediaType)
  return 0
}

const replay = endpointCommand('requests.replay', {
  details: 'Without request_id: the request of the newest placement, yours or that of your app.',
  arguments: [new Argument('[request_id]', 'Identifier of the request.')],
  options: [
    repeatable('--set <path=value>', 'set any field of the body, dotted: overrides.bidfloor=2'),
    new Option('--key-id <text>', 'Use this key instead: svc sandbox keys list.'),
  ],
  examples: ['requests replay', 'requests replay --set session_id=sess_again --set overrides.bidfloor=2 -o json'],
  run,
})

async function run(context: CommandContext, { args, options }: CommandInput): Promise<number> {
  const request_id = args[0] ?? (await lastPlacement(context, 'request_id'))
  const set = await assignedValues(context, request_id, listOption(options, 'set'))
  const key_id = textOption(options, 'keyId')
  const { data } = await callEndpoint(context, 'requests.replay', {
    params: { request_id },
    body: { ...(set === null ? {} : { set }), ...(key_id === undefined ? {} : { key_id }) },
  })
  const { exchange, not_restored, replayed, status_before } = data
  const { method, path, key, key_id: used_key_id } = exchange
  for (const { path, message } of not_restored) context.out.note(`${path}: ${message}`)
  context.out.data(data, (style) => [
    ...alignPairs(
      [
        ['replayed', replayed],
        ['sent', `${method} ${path}${key === null ? '' : `, for ${used_key_id} (${key})`}`],
        ['status', `${exchange.status}, before: ${status_before}`],
        ['request', exchange.request_id],
      ],
      style,
    ),
    ...(exchange.response_body ? ['', ...describeValue(jsonOrText(exchange.response_body), style)] : []),
  ])
  if (exchange.status === 0) throw noResponse(exchange)
  if (exchange.status >= 400) throw await serviceError(exchange)
  return 0
}

/** Returns the values of `--set` by path, with the types of the API's fields; null when nothing is set. */
async function assignedValues(
  context: CommandContext,
  request_id: string,
  assignments: readonly string[],
): Promise<Record<string, unknown> | null> {
  if (assignments.length === 0) return null
  const { data } = await callEndpoint(context, 'requests.show', { params: { request_id } })
  const sent = parseJsonObject(data.request_body ?? '')
  const schema = chooseVariant(endpointAt(data.method, data.path)?.body ?? null, Object.keys(sent ?? {}))
  return Object.fromEntries(
    assignments.map((assignment) => {
      const { path, value } = readAssignment(assignment, schema)
      return [path.join('.'), value]
    }),
  )
}

function noResponse({ method, path, response_headers }: RequestDetail): CliError {
  const fault = response_headers['x-sandbox-fault'] ?? 'a fault rule'
  return new CliError(
    'unreachable',
    'no_answer',
    `${method} ${path} got no response: ${fault} broke the connection.`,
    'List the fault rules: svc sandbox faults list',
  )
}

async function serviceError(detail: RequestDetail): Promise<ServiceError> {
  const { describeOther, parseErrorBody } = await import('#client/response.ts')
  const { method, path, status, request_id } = detail
  const text = detail.response_body ?? ''
  const [body, instead] = [parseErrorBody(text), describeOther(text, status, detail.response_headers.location)]
  return new ServiceError({ method, path, status, body, instead, retry_after_s: null, request_id })
}

const columns: readonly Column[] = [
  { name: 'when', field: 'at_ms', kind: 'time', paint: paintDim },
  { name: 'method' },
  { name: 'path', least: 20 },
  { name: 'status', paint: paintStatus },
  { name: 'reason', field: 'reason_code', rank: 2, least: 15, paint: paintReason },
  { name: 'ms', field: 'duration_ms', kind: 'ms', rank: 3, paint: paintDim },
  { name: 'request', field: 'request_id', kind: 'id' },
]
const defaultLimit = 50
const filters = listOptions()
const { body } = endpointOptions('requests.find')
/** Filters of the list that a search by headers or body does not have. */
const notWithContent = ['after', 'foreign', 'details']
const pageOptions = new Map([...body].filter(([name]) => name === 'limit' || name === 'cursor'))

const list = endpointCommand('requests.list', {
  details: 'Searches the journal until the page is full or the journal ends.',
  usualFlags:
    '--limit --method --path --status --status-class --reason --key --session-id --since --header --body --columns',
  options: [...filters.values(), ...contentOptions().map((option) => option.conflicts(notWithContent))],
  columns,
  empty: emptyJournal,
  examples: [
    'requests list --status 400 --since 10m -o jsonl',
    'requests list --path /v1/placements --body overrides.allowed_formats.0=banner',
  ],
  async run(context, input) {
    const { header, body } = input.options
    if (header === undefined && body === undefined)
      return printFullPage(context, 'requests.list', 'query', await listQuery(context, filters, input))
    const match = { ...(await readMatch(context, input)), ...flagValues(pageOptions, input.options) }
    return printFullPage(context, 'requests.find', 'body', match)
  },
})

export const requests: Noun = {
  summary: 'Read, check and export the request journal of the sandbox, and replay its requests',
  commands: [list, verify, show, replay, exportRequests],
}

/** Prints one page, combined from several responses: each covers a limited part of the journal. */
async function printFullPage(
  context: CommandContext,
  id: 'requests.list' | 'requests.find',
  place: 'query' | 'body',
  wanted: object & { limit?: number },
): Promise<number> {
  const { limit = defaultLimit } = wanted
  const items: RequestItem[] = []
  let input: object = wanted
  for (;;) {
    const { data } = await callEndpoint(context, id, { [place]: input })
    items.push(...data.items)
    const next_cursor = nextCursor(data, (input as { cursor?: string }).cursor)
    if (next_cursor === null || items.length >= limit) {
      printPage(context, { items, next_cursor }, wanted, { columns, empty: emptyJournal })
      return 0
    }
    input = { ...wanted, limit: limit - items.length, cursor: next_cursor }
  }
}
