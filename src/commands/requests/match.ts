/** Flags that select requests of the journal, and the match that they make. */
import type { Option } from 'commander'
import { projectFilter } from '../../cli/endpoint/endpoint-command.ts'
import { type EndpointFacts, endpoints } from '../../cli/endpoint/facts.ts'
import { endpointOptions, flagValues, valueAt, variantOf } from '../../cli/endpoint/input.ts'
import type { CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { RequestMatch } from '../../contract/control/requests.ts'
import { pathPattern, withoutQuery } from '../../foundation/http.ts'
import { repeatable } from '../flag-values.ts'

/** The note below a list of the journal that nothing filters. */
export const emptyJournal = 'The journal is empty. Send a request: svc placements create'

/** Returns the filters of the list, by field name. */
export function listOptions(): Map<string, Option> {
  return endpointOptions('requests.list').query
}

export async function listQuery(
  session: Session,
  options: Map<string, Option>,
  input: CommandInput,
): Promise<Record<string, unknown>> {
  return { ...(await projectFilter(session)), ...flagValues(options, input.options) }
}

const scalarOptions = endpointOptions('requests.nearest').body
scalarOptions.delete('limit')

/** Returns the conditions of a match: the filters of the list, headers, and fields of the body. */
export function matchOptions(): Option[] {
  return [
    ...scalarOptions.values(),
    repeatable('--header <name=value>', 'only requests with this header, as the journal keeps it'),
    repeatable('--body <path=value>', 'only bodies with this field, by dotted path: measurements.visible_ms=1000'),
  ]
}

/** Returns the match of the flags. A value of --body gets the type that its field has at that path of the API. */
export async function matchOf(session: Session, { options }: CommandInput): Promise<RequestMatch> {
  const values = flagValues(scalarOptions, options) as RequestMatch
  const headers = ((options.header as string[] | undefined) ?? []).map((text) => split('--header', text))
  const { method, path: of } = values
  const shape = (of === undefined ? null : endpointAt(method, of))?.body ?? null
  const fields = ((options.body as string[] | undefined) ?? []).map((text) => {
    const [path, value] = split('--body', text)
    return [path, scalar(valueAt(variantOf(shape, path.split('.', 1)), path.split('.'), value), value)] as const
  })
  return {
    ...(await projectFilter(session)),
    ...values,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(fields.length === 0 ? {} : { body: Object.fromEntries(fields) }),
  }
}

/** Returns the endpoint of the API at a path; null when there is none, or several and no method. */
export function endpointAt(method: string | undefined, path: string): EndpointFacts | null {
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

/** Only scalars are compared: an object or array stands for its text. */
function scalar(value: unknown, text: string): string | number | boolean | null {
  return typeof value === 'object' && value !== null ? text : (value as string | number | boolean | null)
}
