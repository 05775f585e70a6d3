/** A journalled request as one that can be shown as a command. What the journal does not keep stays redacted in it. */

import { CliError } from '../../cli/run/errors.ts'
import type { HttpRequest } from '../../client/request.ts'
import type { RequestDetail } from '../../contract/control/requests.ts'

/** A request whose body, where it has one, is text. */
export type TextRequest = Omit<HttpRequest, 'body'> & { body?: string }

export interface RequestSender {
  base_url: string
  /** What stands behind `Bearer` where the request had a credential. */
  credential: string
}

const methods: readonly HttpRequest['method'][] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const redacted =
  /\b(?:ast|at|bt)_[0-9a-z]{11}_redacted|\b[sp]k_(?:test|live)_redacted|\[removed|\[name\]|\[nested deeper\]/

/** The request, with another credential. */
export function journalledRequest(detail: RequestDetail, { base_url, credential }: RequestSender): TextRequest {
  const method = methods.find((each) => each === detail.method)
  if (method === undefined) {
    throw new CliError('usage', 'method_unknown', `${detail.method} ${detail.path} cannot be shown as a command.`)
  }
  const { authorization, origin, 'content-type': content_type } = detail.request_headers
  const body = detail.request_body ?? ''
  const isSecretSent = authorization !== undefined && !/^(at|bt)_/.test(credential)
  return {
    method,
    url: base_url.replace(/\/+$/, '') + detail.path,
    headers: {
      accept: 'application/json',
      ...(body === '' ? {} : { 'content-type': content_type ?? 'application/json' }),
      ...(authorization === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...(origin === undefined || isSecretSent ? {} : { origin }),
    },
    ...(body === '' ? {} : { body }),
  }
}

/** Where a request holds what the journal does not keep: `path`, or members of the body by dotted path. */
export function redactedParts({ url, body }: TextRequest): string[] {
  const inPath = redacted.test(decodeURI(url)) ? ['path'] : []
  return body === undefined ? inPath : [...inPath, ...redactedMembers(parse(body), [])]
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
