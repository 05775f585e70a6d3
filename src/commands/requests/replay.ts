/** `svc requests replay`: has the sandbox send a request of its journal again. */
import { Argument, Option } from 'commander'
import { readAssignment } from '../../cli/endpoint/body.ts'
import { callEndpoint } from '../../cli/endpoint/endpoint-command.ts'
import { alignPairs, describeValue } from '../../cli/output/text.ts'
import type { Command, CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { ServiceError } from '../../client/errors.ts'
import type { ReplayResult, RequestDetail } from '../../contract/control/requests.ts'
import { ErrorBody } from '../../contract/errors.ts'
import { contract } from '../../contract/index.ts'
import { recallPlacement } from '../placements/last-placement.ts'
import { endpointAt } from './match.ts'

const endpoint = contract['requests.replay']

export const replayRequest: Command = {
  name: 'replay',
  summary: endpoint.summary,
  details: `${endpoint.description} (POST ${endpoint.path})\n\nWithout request_id, the request of the last placement that this command line got.`,
  arguments: [new Argument('[request_id]', 'Identifier of the request.')],
  options: [
    new Option('--set <path=value>', 'set any member of the body, dotted: overrides.bidfloor=2 (repeatable)').argParser(
      (value, before: string[] | undefined) => [...(before ?? []), value],
    ),
    new Option('--key-id <text>', 'Act for this key instead: svc keys list.'),
  ],
  examples: ['requests replay', 'requests replay --set session_id=sess_again --set overrides.bidfloor=2 -o json'],
  run: replay,
}

async function replay(session: Session, given: CommandInput): Promise<number> {
  const request_id = given.args[0] ?? (await recallPlacement(session, 'request_id'))
  const set = await valuesOf(session, request_id, (given.options.set as string[] | undefined) ?? [])
  const key_id = given.options.keyId as string | undefined
  const { data } = await callEndpoint(session, 'requests.replay', {
    params: { request_id },
    body: { ...(set === null ? {} : { set }), ...(key_id === undefined ? {} : { key_id }) },
  })
  const result = data as ReplayResult
  const { exchange, not_restored } = result
  for (const { path, message } of not_restored) session.out.note(`${path}: ${message}`)
  session.out.data(result, (style) => [
    ...alignPairs(
      [
        ['replayed', result.replayed],
        ['sent', `${exchange.method} ${exchange.path}${senderOf(exchange)}`],
        ['status', `${exchange.status}, before ${result.status_before}`],
        ['request', exchange.request_id],
      ],
      style,
    ),
    ...(exchange.response_body ? ['', ...describeValue(parse(exchange.response_body), style)] : []),
  ])
  if (exchange.status === 0) throw noAnswer(exchange)
  if (exchange.status >= 400) throw serviceError(exchange)
  return 0
}

/** `path=value` with the type that the member has at that path of the API; null when nothing is set. */
async function valuesOf(
  session: Session,
  request_id: string,
  assignments: readonly string[],
): Promise<Record<string, unknown> | null> {
  if (assignments.length === 0) return null
  const { data } = await callEndpoint(session, 'requests.show', { params: { request_id } })
  const { method, path, request_body } = data as RequestDetail
  const found = endpointAt(method, path)
  const schema = found?.branch?.(parse(request_body ?? '')) ?? found?.body
  return Object.fromEntries(
    assignments.map((assignment) => {
      const { path, value } = readAssignment(assignment, schema)
      return [path.join('.'), value]
    }),
  )
}

function senderOf({ key, key_id }: RequestDetail): string {
  return key === null ? '' : `, for ${key_id} (${key})`
}

function noAnswer({ method, path, response_headers }: RequestDetail): CliError {
  const fault = response_headers['x-sandbox-fault'] ?? 'a fault rule'
  return new CliError(
    'unreachable',
    'no_answer',
    `${method} ${path} got no answer: ${fault} broke the connection.`,
    'See the rules there are: svc sandbox faults list',
  )
}

function serviceError({ method, path, status, response_body, request_id }: RequestDetail): ServiceError {
  const text = response_body ?? ''
  const body = ErrorBody.safeParse(parse(text))
  return new ServiceError({
    method,
    path,
    status,
    body: body.success ? body.data : null,
    text,
    retry_after_s: null,
    request_id,
  })
}

/** JSON as a value, anything else as text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
