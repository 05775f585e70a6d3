/** `svc requests show`: one request of the journal with its response, or the curl command that sends it again. */
import { Option } from 'commander'
import { callEndpoint, describeRecord, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { shellMediaType } from '../../cli/output/quoting.ts'
import { describeValue } from '../../cli/output/text.ts'
import type { Command, CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { curlCommand, journaledRequest, redactedParts, secretKeyVariable } from '../../foundation/curl.ts'
import { parseJson } from '../../foundation/json.ts'
import { lastPlacement } from '../placements/last-placement.ts'

const showDetail = endpointCommand('requests.show', {
  details: 'Without request_id: the request of your last placement.',
  examples: ['requests show', 'requests show --curl', 'requests show -o json'],
  defaultParam: (session) => lastPlacement(session, 'request_id'),
  text: ({ request_headers, request_body, response_headers, response_body, ...detail }, _, style) => [
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

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

async function showCurl(session: Session, { args }: CommandInput): Promise<number> {
  const request_id = args[0] ?? (await lastPlacement(session, 'request_id'))
  const { data } = await callEndpoint(session, 'requests.show', { params: { request_id } })
  if (!methods.includes(data.method)) {
    throw new CliError('usage', 'method_unknown', `${data.method} ${data.path} cannot be shown as a command.`)
  }
  const request = journaledRequest(data, session.settings.base_url)
  const parts = redactedParts(request)
  if (parts.length > 0) session.out.note(`Redacted, fill in before you send it: ${parts.join(', ')}.`)
  session.out.document(`${curlCommand(request)}\n`, shellMediaType)
  return 0
}
