/** Flags that say which requests of the journal are meant, and the match that they make. */
import { Option } from 'commander'
import type { z } from 'zod'
import { valueAt } from '../../cli/endpoint/body.ts'
import { endpointOptions } from '../../cli/endpoint/endpoint-command.ts'
import { flagValues } from '../../cli/endpoint/flags.ts'
import type { CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { RequestMatch } from '../../contract/control/requests.ts'
import type { Endpoint } from '../../contract/endpoint.ts'
import { contract, v1 } from '../../contract/index.ts'

/** Filters of the list, by member name. */
export function listOptions(): Map<string, Option> {
  return withShortSession(endpointOptions(contract['requests.list']).query)
}

/** The conditions of a match: the filters of the list, headers and members of the body. */
export function matchOptions(): Option[] {
  return [...scalarOptions.values(), headerOption, bodyOption]
}

export function listQuery(
  session: Session,
  options: Map<string, Option>,
  given: CommandInput,
): Record<string, unknown> {
  return { ...projectOf(session), ...flagValues(options, given.options) }
}

/** The match of a command line; a text value has the type that its member has at that path of the API. */
export function matchOf(session: Session, given: CommandInput): RequestMatch {
  const values = flagValues(scalarOptions, given.options) as RequestMatch
  const headers = ((given.options.header as string[] | undefined) ?? []).map((text) => split('--header', text))
  const schema = bodySchema(values)
  const members = ((given.options.body as string[] | undefined) ?? []).map((text) => {
    const [path, value] = split('--body', text)
    return [path, scalar(valueAt(schema?.(path.split('.')[0]!), path.split('.'), value), value)] as const
  })
  return {
    ...projectOf(session),
    ...values,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(members.length === 0 ? {} : { body: Object.fromEntries(members) }),
  }
}

/** The endpoint of the API with this path; null when there is none, or several without a method. */
export function endpointAt(method: string | undefined, path: string): Endpoint | null {
  const plain = path.split('?')[0]!
  const found = Object.values<Endpoint>(v1).filter(
    (endpoint) =>
      (method === undefined || endpoint.method === method.toUpperCase()) &&
      new RegExp(`^${endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(plain),
  )
  return found.length === 1 ? found[0]! : null
}

const scalarOptions = withShortSession(endpointOptions(contract['requests.nearest']).body)
scalarOptions.delete('limit')

const headerOption = new Option(
  '--header <name=value>',
  'only requests with this header, as the journal keeps it (repeatable)',
).argParser(gather)

const bodyOption = new Option(
  '--body <path=value>',
  'only bodies with this member, by dotted path: measurements.visible_ms=1000 (repeatable)',
).argParser(gather)

function gather(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** `--session` beside `--session-id`. */
function withShortSession(options: Map<string, Option>): Map<string, Option> {
  const named = options.get('session_id')
  if (named !== undefined) options.set('session_id', new Option('--session, --session-id <text>', named.description))
  return options
}

/** A filter by project is set by the flag only: the journal shows every project unless asked. */
function projectOf({ settings }: Session): { client_id?: string } {
  return settings.source.client_id === 'flag' && settings.client_id !== null ? { client_id: settings.client_id } : {}
}

function split(flag: string, text: string): [string, string] {
  const equals = text.indexOf('=')
  if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)]
  throw new CliError(
    'usage',
    'match_malformed',
    `${flag} ${text} is not name=value.`,
    'For example: --body event=visible',
  )
}

/** The schema of the shape of a body that has this member. */
function bodySchema({ method, path }: RequestMatch): ((member: string) => z.ZodType | undefined) | undefined {
  const endpoint = path === undefined ? null : endpointAt(method, path)
  if (endpoint === null) return undefined
  return (member) => endpoint.branch?.({ [member]: null }) ?? endpoint.body
}

/** Only scalars are compared: what is none is meant as text. */
function scalar(value: unknown, text: string): string | number | boolean | null {
  return typeof value === 'object' && value !== null ? text : (value as string | number | boolean | null)
}
