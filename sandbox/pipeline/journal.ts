/** What the journal keeps of an exchange: credentials and tokens made useless, prompt text gone (A50). */
import type { IncomingHttpHeaders } from 'node:http'
import { redactSecrets } from '../../src/foundation/redaction.ts'

const hiddenHeaders = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-sandbox-token'])
const longestBody = 70_000
const longestPath = 2_048

/** Members of a body that could not be validated whose text is kept: identifiers and names, never prose. */
const plainMembers = new Set([
  'client_id',
  'session_id',
  'chat_session_id',
  'job_type',
  'contract_version',
  'beacon_id',
  'event',
  'slot_id',
  'occurred_at',
  'test_outcome',
  'allowed_formats',
  'native_template_id',
  'position',
  'timing',
  'bidfloor_currency',
  'consent_source',
  'source',
  'decision',
])
const plainText = /^[A-Za-z0-9._:+-]{1,128}$/

export function journalHeaders(headers: IncomingHttpHeaders): string {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    if (name === 'authorization') kept[name] = describeCredential(String(value))
    else if (hiddenHeaders.has(name)) kept[name] = 'redacted'
    else kept[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return redactSecrets(JSON.stringify(kept))
}

/** A body that was validated: as it was read, but for prompt text. A member sent twice is there once, as it counted. */
export function journalBody(parsed: unknown): string {
  return redactSecrets(JSON.stringify(mayHoldPrompt(parsed) ? withoutPrompt(parsed) : parsed))
}

/** Path and query. A value that v1 does not know is removed: a prompt that strayed there was not shared. */
export function journalPath(url: string): string {
  const at = url.indexOf('?')
  if (at < 0) return redactSecrets(url.slice(0, longestPath))
  const pairs = url.slice(at + 1, longestPath).split('&')
  return redactSecrets(`${url.slice(0, Math.min(at, longestPath))}?${pairs.map(plainPair).join('&')}`)
}

function plainPair(pair: string): string {
  const name = pair.split('=')[0]!
  if (name === 'wait_ms' && /^wait_ms=[\w.+-]{0,32}$/.test(pair)) return pair
  return `${plainText.test(name) ? name : '[name]'}=[removed]`
}

/** A body that was not: its shape, with every text that might be prose removed. */
export function journalUnreadable(text: string): string {
  if (text === '') return ''
  if (text.length > longestBody) return `[not kept: ${text.length} characters]`
  try {
    return redactSecrets(JSON.stringify(shapeOf(JSON.parse(text) as unknown, null, 0)))
  } catch {
    return `[not JSON: ${text.length} characters]`
  }
}

function describeCredential(value: string): string {
  const match = /^Bearer +((?:sk|pk)_(?:test|live)_|at_|bt_|ast_)/i.exec(value)
  return match === null ? 'redacted' : `Bearer ${match[1]}redacted`
}

function mayHoldPrompt(body: unknown): body is Record<string, unknown> {
  return typeof body === 'object' && body !== null && ('prompt' in body || 'context' in body)
}

function withoutPrompt(body: Record<string, unknown>): Record<string, unknown> {
  const result = { ...body }
  if (typeof body.prompt === 'string') result.prompt = removed(body.prompt)
  else if (isObject(body.prompt) && typeof body.prompt.text === 'string') {
    result.prompt = { ...body.prompt, text: removed(body.prompt.text) }
  }
  if (isObject(body.context) && typeof body.context.prompt_text === 'string') {
    result.context = { ...body.context, prompt_text: removed(body.context.prompt_text) }
  }
  return result
}

/** Inside a prompt every text is prose, whatever its member is called. */
function shapeOf(value: unknown, member: string | null, depth: number): unknown {
  if (typeof value === 'string') {
    return member !== null && plainMembers.has(member) && plainText.test(value) ? value : removed(value)
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth > 8) return '[nested deeper]'
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => shapeOf(item, member, depth + 1))
  const entries = Object.entries(value).slice(0, 100)
  return Object.fromEntries(
    entries.map(([name, inner]) => [
      plainText.test(name) ? name : '[name]',
      shapeOf(inner, member === 'prompt' ? member : name, depth + 1),
    ]),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function removed(text: string): string {
  return `[removed: ${text.length} characters]`
}
