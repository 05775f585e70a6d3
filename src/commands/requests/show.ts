/** `svc requests show`: one request of the journal with its response, or the curl command that sends it again. */
import { Option } from 'commander'
import { callEndpoint, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { curlCommand, secretKeyVariable, shellMediaType } from '../../cli/output/quoting.ts'
import { describeValue } from '../../cli/output/text.ts'
import type { Command, CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { HttpRequest } from '../../client/exchange.ts'
import type { RequestDetail } from '../../contract/control/requests.ts'
import { parseJson } from '../../foundation/json.ts'
import { lastPlacement } from '../placements/last-placement.ts'

const showDetail = endpointCommand('requests.show', {
  details: 'Without request_id: the request of your last placement.',
  examples: ['requests show', 'requests show --curl', 'requests show -o json'],
  defaultParam: (session) => lastPlacement(session, 'request_id'),
  text: ({ request_body, response_body, ...detail }, _, style) =>
    describeValue(
      { ...detail, request_body: jsonOrText(request_body), response_body: jsonOrText(response_body) },
      style,
    ),
})

export const show: Command = {
  ...showDetail,
  options: [
    ...(showDetail.options ?? []),
    new Option('--curl', `print the curl command that sends it again, with ${secretKeyVariable}`),
  ],
  run: (session, input) => (input.options.curl === true ? showCurl(session, input) : showDetail.run(session, input)),
}

/** Returns a body of the journal as a value where it is JSON, else as text. */
export function jsonOrText(body: string | null): unknown {
  const value = parseJson(body ?? 'null')
  return value === undefined ? body : value
}

async function showCurl(session: Session, { args }: CommandInput): Promise<number> {
  const request_id = args[0] ?? (await lastPlacement(session, 'request_id'))
  const { data } = await callEndpoint(session, 'requests.show', { params: { request_id } })
  const request = requestFrom(data, session.settings.base_url)
  const parts = redactedParts(request)
  if (parts.length > 0) session.out.note(`Redacted, fill in before you send it: ${parts.join(', ')}.`)
  session.out.document(`${curlCommand(request)}\n`, shellMediaType)
  return 0
}

/** A request whose body, if any, is text. */
type TextRequest = Omit<HttpRequest, 'body'> & { body?: string }

const methods: readonly HttpRequest['method'][] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Returns the request of a journal entry, with a shell variable in place of its credential. */
function requestFrom(detail: RequestDetail, base_url: string): TextRequest {
  const method = methods.find((each) => each === detail.method)
  if (method === undefined) {
    throw new CliError('usage', 'method_unknown', `${detail.method} ${detail.path} cannot be shown as a command.`)
  }
  const { authorization, origin, 'content-type': content_type = 'application/json' } = detail.request_headers
  const body = detail.request_body ?? ''
  return {
    method,
    url: base_url.replace(/\/+$/, '') + detail.path,
    headers: {
      accept: 'application/json',
      ...(body === '' ? {} : { 'content-type': content_type }),
      ...(authorization === undefined ? {} : { authorization: `Bearer ${secretKeyVariable}` }),
      // A secret key is refused together with an origin.
      ...(origin === undefined || authorization !== undefined ? {} : { origin }),
    },
    ...(body === '' ? {} : { body }),
  }
}

const redacted =
  /\b(?:ast|at|bt)_[0-9a-z]{11}_redacted|\b[sp]k_(?:test|live)_redacted|\[removed|\[name\]|\[nested deeper\]/

/** Returns what the journal does not keep of a request: `path`, or fields of the body by dotted path. */
function redactedParts({ url, body }: TextRequest): string[] {
  const inPath = redacted.test(decodeURI(url)) ? ['path'] : []
  return body === undefined ? inPath : [...inPath, ...redactedFields(parseJson(body), [])]
}

function redactedFields(value: unknown, path: readonly string[]): string[] {
  if (value === undefined) return ['body']
  if (typeof value === 'string') return redacted.test(value) ? [path.join('.') || 'body'] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]) => {
    const inner = [...path, name]
    return redacted.test(name) ? [inner.join('.')] : redactedFields(field, inner)
  })
}
