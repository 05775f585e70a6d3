/** `svc requests replay`: sends a request of the journal again, with the credential of this command line. */
import { Argument, Option } from 'commander'
import { CliError } from '../cli/cli-error.ts'
import type { Command, Given } from '../cli/command.ts'
import { secretKeyVariable } from '../cli/curl.ts'
import { callEndpoint } from '../cli/endpoint-command.ts'
import { recallPlacement } from '../cli/last-placement.ts'
import { redactedParts, replayOf } from '../cli/replay.ts'
import type { Session } from '../cli/session.ts'
import { alignPairs, describeValue } from '../cli/text.ts'
import { RefusedError, ServiceError } from '../client/errors.ts'
import { isProductionKey } from '../client/request.ts'
import { type RawAnswer, sendRequest } from '../client/send.ts'
import type { RequestDetail } from '../contract/control/requests.ts'
import { ErrorBody } from '../contract/errors.ts'

export const replayRequest: Command = {
  name: 'replay',
  summary: 'Send a request of the journal again',
  details:
    'Method, path and body are those of the journal; the credential is the one of this command line, because the journal keeps none. Nor does it keep tokens and prompt text: where the body had some, give them with --set. Without request_id, the request of the last placement that this command line got.',
  arguments: [new Argument('[request_id]', 'Identifier of the request.')],
  options: [
    new Option('--set <path=value>', 'set any member of the body, dotted: overrides.bidfloor=2 (repeatable)').argParser(
      (value, before: string[] | undefined) => [...(before ?? []), value],
    ),
  ],
  examples: ['requests replay', 'requests replay --set session_id=sess_again --set overrides.bidfloor=2 -o json'],
  run: replay,
}

async function replay(session: Session, given: Given): Promise<number> {
  const { settings, out, signal } = session
  const request_id = given.args[0] ?? (await recallPlacement(session, 'request_id'))
  const { data } = await callEndpoint(session, 'requests.show', { params: { request_id } })
  const before = data as RequestDetail
  const credential = credentialFor(session, before)
  const set = (given.options.set as string[] | undefined) ?? []
  const request = replayOf(before, { base_url: settings.base_url, credential, set })
  refuseRedacted(before, redactedParts(request))
  if (isProductionKey(credential) && /"test_outcome"\s*:/.test(request.body ?? '')) {
    throw new RefusedError('test_outcome_requires_test_key')
  }
  const sent = sendRequest(request, settings.base_url, signal)
  const answer = await out.progress(`${request.method} ${before.path}: waiting for the answer`, sent)
  const body = parse(answer.text)
  const told = {
    replayed: before.request_id,
    method: before.method,
    path: before.path,
    status_before: before.status,
    status: answer.status,
    request_id: answer.request_id,
    body,
  }
  out.data(told, (style) => [
    ...alignPairs(
      [
        ['replayed', before.request_id],
        ['sent', `${before.method} ${before.path}`],
        ['status', `${answer.status}, before ${before.status}`],
        ['request', answer.request_id],
      ],
      style,
    ),
    '',
    ...describeValue(body, style),
  ])
  if (!answer.ok) throw serviceError(before, answer)
  return 0
}

/** What goes out instead of the credential that the journal does not keep. */
function credentialFor({ settings, out }: Session, { request_headers, key }: RequestDetail): string {
  if (request_headers.authorization === undefined) return ''
  const { secret_key } = settings
  if (secret_key === null) {
    throw new CliError(
      'credentials',
      'secret_key_missing',
      `There is no secret key for ${settings.base_url}, and the journal keeps none.`,
      `Set ${secretKeyVariable.slice(1)}, or give --secret-key KEY.`,
    )
  }
  if ((key === 'at' || key === 'bt') && secret_key.startsWith('sk_')) {
    const token = key === 'at' ? 'an activation token' : 'a beacon token'
    out.note(`It came with ${token}; it goes out with the secret key, without its Origin.`)
  }
  return secret_key
}

function refuseRedacted({ request_id }: RequestDetail, parts: readonly string[]): void {
  if (parts.length === 0) return
  const fixed = parts.filter((part) => part === 'path' || part === 'body')
  throw new CliError(
    'usage',
    'replay_redacted',
    `Not sent. The journal does not keep tokens, keys and prompt text: ${parts.join(', ')} of ${request_id} ${parts.length === 1 ? 'is' : 'are'} redacted.`,
    fixed.length > 0
      ? `Its ${fixed.join(' and ')} cannot be set: send the request anew.`
      : `Give ${parts.length === 1 ? 'it' : 'them'}: svc requests replay ${request_id} ${parts.map((part) => `--set ${part}=...`).join(' ')}`,
  )
}

function serviceError({ method, path }: RequestDetail, { status, text, request_id }: RawAnswer): ServiceError {
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
