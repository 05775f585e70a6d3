/**
 * Flags that select requests of the journal, and the match built from them; `verify` reports how many requests match, and
 * which ones nearly do.
 */
import { Option } from 'commander'
import { callEndpoint, projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { type EndpointSchema, endpoints } from '#cli/endpoint/facts.ts'
import { chooseVariant, endpointOptions, flagValues } from '#cli/endpoint/flags.ts'
import { valueAt } from '#cli/endpoint/input.ts'
import { repeatable, wholeNumber } from '#cli/endpoint/option-values.ts'
import { type Command, type CommandContext, type CommandInput, listOption } from '#cli/run/command.ts'
import { nextCursor } from '#client/client.ts'
import type { FailedCondition, NearMiss, RequestItem, RequestMatch } from '#contract/resources/requests.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { CliError, nothingChecked } from '#text/cli-error.ts'
import { alignPairs, formatValue, plural } from '#text/text.ts'

/** The note below an empty, unfiltered list of the journal. */
export const emptyJournal = 'The journal is empty. Send a request: svc placements create'

/** Returns the filters of the list, by field name. */
export function listOptions(): Map<string, Option> {
  return endpointOptions('requests.list').query
}

export async function listQuery(
  context: CommandContext,
  options: Map<string, Option>,
  input: CommandInput,
): Promise<Record<string, unknown>> {
  return { ...(await projectFilter(context)), ...flagValues(options, input.options) }
}

const scalarOptions = endpointOptions('requests.nearest').body
scalarOptions.delete('limit')

/** Returns the conditions of a match on what was sent. */
export function contentOptions(): Option[] {
  return [
    repeatable('--header <name=value>', 'only requests with this header, as the journal stores it'),
    repeatable('--body <path=value>', 'only bodies with this field, by dotted path: measurements.visible_ms=1000'),
  ]
}

/** Returns the match of the flags. A value of --body gets the type of the field at that path in the API. */
export async function readMatch(context: CommandContext, { options }: CommandInput): Promise<RequestMatch> {
  const values = flagValues(scalarOptions, options) as RequestMatch
  const headers = listOption(options, 'header').map((text) => split('--header', text))
  const { method, path: of } = values
  const shape = (of === undefined ? null : endpointAt(method, of))?.body ?? null
  const fields = listOption(options, 'body').map((text) => {
    const [path, value] = split('--body', text)
    return [path, scalar(valueAt(chooseVariant(shape, path.split('.', 1)), path.split('.'), value), value)] as const
  })
  return {
    ...(await projectFilter(context)),
    ...values,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(fields.length === 0 ? {} : { body: Object.fromEntries(fields) }),
  }
}

/** Returns the endpoint of the API at a path; null when there is none, or several and no method. */
export function endpointAt(method: string | undefined, path: string): EndpointSchema | null {
  const found = Object.values(endpoints).filter(
    (endpoint) =>
      endpoint.path.startsWith('/v1/') &&
      (method === undefined || endpoint.method === method) &&
      pathPattern(endpoint.path).test(withoutQuery(path)),
  )
  return found.length === 1 ? found[0]! : null
}

function split(flag: string, text: string): [string, string] {
  const equals = text.indexOf('=')
  if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)]
  const hint = `For example: ${flag} ${flag === '--body' ? 'event=visible' : 'content-type=application/json'}`
  throw new CliError('usage', 'match_malformed', `${flag} ${text} is not name=value.`, hint)
}

/** Only scalars are compared: an object or array is taken as text. */
function scalar(value: unknown, text: string): string | number | boolean | null {
  return typeof value === 'object' && value !== null ? text : (value as string | number | boolean | null)
}

/** The number of requests printed when the count differs. */
const printedRequests = 3

export const verify: Command = {
  name: 'verify',
  summary: 'Check how many requests match',
  details:
    'Counts the requests of the journal that meet every condition, and ends with exit code 5 unless there are as many as expected. In that case it prints the nearest requests and the conditions they fail or, if there are too many, the newest ones. Without --times, --at-least or --none it expects at least one. An empty journal is exit code 5 too, unless --none has no condition.',
  usualFlags:
    '--method --path --status --status-class --reason --session-id --since --header --body --times --at-least --none',
  options: [
    ...scalarOptions.values(),
    ...contentOptions(),
    new Option('--times <n>', 'exactly this many').argParser(wholeNumber).conflicts(['atLeast', 'none']),
    new Option('--at-least <n>', 'this many or more').argParser(wholeNumber).conflicts('none'),
    new Option('--none', 'not a single one'),
  ],
  examples: [
    'requests verify --method POST --path /v1/placements --status-class 2xx',
    'requests verify --path /v1/placements --body overrides.allowed_formats.0=banner --at-least 1 -o json',
  ],
  run,
}

async function run(context: CommandContext, input: CommandInput): Promise<number> {
  const match = await readMatch(context, input)
  const { text: expected, isMet } = readExpectation(input.options)
  const count = await countMatches(context, match)
  const { since, client_id } = match
  const looked_at = await countMatches(context, {
    ...(since === undefined ? {} : { since }),
    ...(client_id === undefined ? {} : { client_id }),
  })
  const figures = (style: Parameters<typeof alignPairs>[1]) =>
    alignPairs(
      [
        ['count', String(count)],
        ['expected', expected],
        ['looked at', plural(looked_at, 'request')],
      ],
      style,
    )
  // Without a condition, an empty journal is what --none asks for.
  const isConditional = Object.keys(match).some((name) => name !== 'since' && name !== 'client_id')
  if (isMet(count) && looked_at === 0 && isConditional) {
    context.out.data({ ok: false, count, expected, looked_at }, figures)
    const message = `Nothing was verified: the journal has no request${since === undefined ? '' : ' since then'}.`
    throw nothingChecked(message, 'Run the integration first. To expect an empty journal: svc requests verify --none')
  }
  if (isMet(count)) {
    if (count === 0 && isOfNoEndpoint(match.path))
      context.out.note(`No endpoint has a path that begins with ${match.path}.`)
    context.out.data({ ok: true, count, expected, looked_at }, figures)
    return 0
  }
  const isTooFew = count === 0 || isMet(count + 1)
  const newest = { body: { ...match, limit: printedRequests } }
  const matching = isTooFew ? [] : (await callEndpoint(context, 'requests.find', newest)).data.items
  const nearest = matching.length > 0 ? [] : (await callEndpoint(context, 'requests.nearest', newest)).data.items
  context.out.data({ ok: false, count, expected, looked_at, matching, nearest }, (style) => [
    ...figures(style),
    ...matching.map((request) => `match  ${describe(request)}`),
    ...nearest.flatMap((miss) => [`near   ${describe(miss)}`, ...failedLines(miss).map((line) => `       ${line}`)]),
  ])
  const message = `Expected ${expected}, found ${count}.`
  throw new CliError('expectation', 'count_differs', message, 'See what was sent: svc requests list')
}

/** Whether a path of v1 begins that of no endpoint: most often it is misspelt, and none is found whatever was sent. */
function isOfNoEndpoint(path = ''): boolean {
  if (!path.startsWith('/v1/') || path.includes('*')) return false
  const wanted = withoutQuery(path).split('/')
  const isBegun = (parts: readonly string[]): boolean =>
    wanted.every((part, index) => {
      const known = parts[index] ?? ''
      return known.startsWith('{') || (index === wanted.length - 1 ? known.startsWith(part) : known === part)
    })
  return !Object.values(endpoints).some((endpoint) => isBegun(endpoint.path.split('/')))
}

/** Returns the expectation, in words and as a check. */
function readExpectation(options: CommandInput['options']): { text: string; isMet(count: number): boolean } {
  const { times, atLeast = 1, none } = options as { times?: number; atLeast?: number; none?: true }
  if (none === true) return { text: 'none', isMet: (count) => count === 0 }
  if (times !== undefined) return { text: `exactly ${times}`, isMet: (count) => count === times }
  return { text: `at least ${atLeast}`, isMet: (count) => count >= atLeast }
}

/** Counts over the whole journal: each response covers a limited part of it. */
async function countMatches(context: CommandContext, match: RequestMatch): Promise<number> {
  let total = 0
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body: object = { ...match, ...(cursor === undefined ? {} : { cursor }) }
    const { data } = await callEndpoint(context, 'requests.count', { body })
    total += data.count
    cursor = nextCursor(data, cursor)
  }
  return total
}

function describe({ method, path, status, request_id }: RequestItem): string {
  return `${formatValue(method)} ${formatValue(path)} ${status}  ${request_id}`
}

/** Returns lines such as `body.event is "visible", not "click"`. */
function failedLines({ failed }: NearMiss): string[] {
  const text = (value: FailedCondition['actual']) => formatValue(JSON.stringify(value))
  return failed.map(({ condition, expected, actual }) => `${condition} is ${text(actual)}, not ${text(expected)}`)
}
