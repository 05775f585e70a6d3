/**
 * A journalled request as one that can be sent again. The journal keeps no credential and no token: the request goes out
 * with the credential that is given here, and what was redacted in it has to be set anew.
 */
import type { HttpRequest } from '../client/request.ts'
import type { RequestDetail } from '../contract/control/requests.ts'
import { assign, type Body } from './assign.ts'
import { CliError } from './cli-error.ts'
import { endpointAt } from './request-match.ts'

/** A request whose body, where it has one, is text. */
export type TextRequest = Omit<HttpRequest, 'body'> & { body?: string }

export interface ReplayOptions {
  base_url: string
  /** What stands behind `Bearer` where the request had a credential. */
  credential: string
  /** `path=value`, for members of the body. */
  set: readonly string[]
}

const methods: readonly HttpRequest['method'][] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const redacted =
  /\b(?:ast|at|bt)_[0-9a-z]{11}_redacted|\b[sp]k_(?:test|live)_redacted|\[removed|\[name\]|\[nested deeper\]/

/** The request, with its body changed. What is redacted stays so: see `redactedParts`. */
export function replayOf(detail: RequestDetail, { base_url, credential, set }: ReplayOptions): TextRequest {
  const method = methods.find((each) => each === detail.method)
  if (method === undefined) {
    throw new CliError(
      'usage',
      'replay_method',
      `${detail.method} ${detail.path} cannot be sent again: only ${methods.join(', ')} can.`,
    )
  }
  const { authorization, origin, 'content-type': content_type } = detail.request_headers
  const body = changedBody(detail, set)
  const isSecretSent = authorization !== undefined && !/^(at|bt)_/.test(credential)
  return {
    method,
    url: base_url.replace(/\/+$/, '') + detail.path,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': content_type ?? 'application/json' }),
      ...(authorization === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...(origin === undefined || isSecretSent ? {} : { origin }),
    },
    ...(body === undefined ? {} : { body }),
  }
}

/** Where a request holds what the journal does not keep: `path`, or members of the body by dotted path. */
export function redactedParts({ url, body }: TextRequest): string[] {
  const inPath = redacted.test(decodeURI(url)) ? ['path'] : []
  return body === undefined ? inPath : [...inPath, ...redactedMembers(parse(body), [])]
}

function changedBody(detail: RequestDetail, set: readonly string[]): string | undefined {
  const text = detail.request_body ?? ''
  if (set.length === 0) return text === '' ? undefined : text
  const body = parse(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new CliError(
      'usage',
      'body_not_object',
      `The body of ${detail.request_id} is not a JSON object, so --set cannot go into it.`,
    )
  }
  const endpoint = endpointAt(detail.method, detail.path)
  for (const assignment of set) assign(body as Body, assignment, endpoint?.branch?.(body) ?? endpoint?.body)
  return JSON.stringify(body)
}

function redactedMembers(value: unknown, path: readonly string[]): string[] {
  if (value === undefined) return ['body']
  if (typeof value === 'string') return redacted.test(value) ? [path.join('.') || 'body'] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const inner = [...path, name]
    return redacted.test(name) ? [inner.join('.')] : redactedMembers(member, inner)
  })
}

/** undefined for what the journal could not keep, because it was not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
