/** `svc requests replay`: has the sandbox send a request of its journal again. */
import { Argument, Option } from 'commander'
import { callEndpoint, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { readAssignment, variantOf } from '../../cli/endpoint/input.ts'
import { alignPairs, describeValue } from '../../cli/output/text.ts'
import type { CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { ServiceError } from '../../client/errors.ts'
import type { RequestDetail } from '../../contract/control/requests.ts'
import { parseJsonObject } from '../../foundation/json.ts'
import { repeatable } from '../flag-values.ts'
import { lastPlacement } from '../placements/last-placement.ts'
import { endpointAt } from './match.ts'
import { jsonOrText } from './show.ts'

export const replay = endpointCommand('requests.replay', {
  details: 'Without request_id: the request of your last placement.',
  arguments: [new Argument('[request_id]', 'Identifier of the request.')],
  options: [
    repeatable('--set <path=value>', 'set any field of the body, dotted: overrides.bidfloor=2'),
    new Option('--key-id <text>', 'Use this key instead: svc keys list.'),
  ],
  examples: ['requests replay', 'requests replay --set session_id=sess_again --set overrides.bidfloor=2 -o json'],
  run,
})

async function run(session: Session, { args, options }: CommandInput): Promise<number> {
  const request_id = args[0] ?? (await lastPlacement(session, 'request_id'))
  const set = await assignedValues(session, request_id, (options.set as string[] | undefined) ?? [])
  const key_id = options.keyId as string | undefined
  const { data } = await callEndpoint(session, 'requests.replay', {
    params: { request_id },
    body: { ...(set === null ? {} : { set }), ...(key_id === undefined ? {} : { key_id }) },
  })
  const { exchange, not_restored, replayed, status_before } = data
  for (const { path, message } of not_restored) session.out.note(`${path}: ${message}`)
  session.out.data(data, (style) => [
    ...alignPairs(
      [
        ['replayed', replayed],
        ['sent', `${exchange.method} ${exchange.path}${keyText(exchange)}`],
        ['status', `${exchange.status}, before ${status_before}`],
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

/** Returns the values of `--set` by path, with the types that the API has there; null when nothing is set. */
async function assignedValues(
  session: Session,
  request_id: string,
  assignments: readonly string[],
): Promise<Record<string, unknown> | null> {
  if (assignments.length === 0) return null
  const { data } = await callEndpoint(session, 'requests.show', { params: { request_id } })
  const sent = parseJsonObject(data.request_body ?? '')
  const schema = variantOf(endpointAt(data.method, data.path)?.body ?? null, Object.keys(sent ?? {}))
  return Object.fromEntries(
    assignments.map((assignment) => {
      const { path, value } = readAssignment(assignment, schema)
      return [path.join('.'), value]
    }),
  )
}

function keyText({ key, key_id }: RequestDetail): string {
  return key === null ? '' : `, for ${key_id} (${key})`
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
  const { describeOther, errorBodyOf } = await import('../../client/response.ts')
  const { method, path, status, request_id } = detail
  const text = detail.response_body ?? ''
  const [body, instead] = [errorBodyOf(text), describeOther(text)]
  return new ServiceError({ method, path, status, body, instead, retry_after_s: null, request_id })
}
