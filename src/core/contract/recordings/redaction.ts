/**
 * What the journal and recordings may keep of an exchange: headers, paths and bodies without credentials, tokens and prompt
 * text (A50). This is the one redactor: whatever is stored or written of a request passes here. What a recording leaves out
 * beyond that is in recorded-parts.ts.
 */
import { isExactNumber, parseExactly } from '#foundation/json/exact-numbers.ts'
import { isObject } from '#foundation/json.ts'
import { redactSecrets, redactWithBase64 } from '#foundation/redaction.ts'
import { originOfUrl } from '../origins.ts'
import { isSecretNumber } from './secret-names.ts'

/** Headers as Node reads them. */
type Headers = Readonly<Record<string, string | string[] | undefined>>

const hiddenHeaders = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-sandbox-token'])
const maxBodyCharacters = 70_000
const maxPathCharacters = 2_048

/** Fields whose text is kept when a body could not be validated: identifiers and names, never prose. */
const plainFields = new Set([
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

/** Returns the headers of a request, as a JSON object. */
export function journalHeaders(headers: Headers): string {
  // Any name may be sent, such as __proto__ and constructor.
  const kept: Record<string, string> = Object.create(null)
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    if (name === 'authorization') kept[name] = describeCredential(String(value))
    else if (hiddenHeaders.has(name)) kept[name] = 'redacted'
    else
      kept[plainText.test(name) ? name : '[name]'] = redactHeaderValue(
        name,
        Array.isArray(value) ? value.join(', ') : value,
      )
  }
  return redactWithBase64(JSON.stringify(kept))
}

/** Returns a header's value if it looks like one: if it might be prose, only the length is kept. */
export function redactHeaderValue(name: string, value: string): string {
  if (name === 'referer') return originOfUrl(value) ?? describeRemoved(value)
  const isKept = (valuePatterns.get(name) ?? (name.startsWith('sec-ch-') ? clientHint : undefined))?.test(value)
  return isKept === true || hasNoProse(value) ? value : describeRemoved(value)
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/
const clientHint = /^(?:"[^"]{0,64}"(?:;v="[\d.]{1,32}")?(?:, ?)?){1,16}$/

/** Patterns for values that contain words. */
const valuePatterns: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    // Products with a version, comments in parentheses, and the word that mobile browsers add.
    'user-agent': /^[\w.+-]{1,64}\/[^\s()]{1,64}(?: (?:\([^()]{1,256}\)|[\w.+-]{1,64}\/[^\s()]{1,64}|Mobile)){0,24}$/,
    'if-modified-since': httpDate,
    date: httpDate,
    'last-modified': httpDate,
    'retry-after': httpDate,
  }),
)

/** Lists and parameters have spaces only after commas and semicolons. */
function hasNoProse(value: string): boolean {
  if (value.length > maxPathCharacters) return false
  return value.split(/[,;] ?/).every((part) => isToken(unescaped(part)))
}

function isToken(text: string): boolean {
  return /^[\x21-\x7e]{0,256}$/.test(text) && !/\w\+\w+\+\w/.test(text)
}

/** Returns a text with percent-encoding undone, at every level; percent signs that encode nothing stay. */
function unescaped(text: string, rounds = 8): string {
  if (rounds === 0 || !text.includes('%')) return text
  try {
    return unescaped(decodeURIComponent(text), rounds - 1)
  } catch {
    return text
  }
}

/**
 * Returns a validated body without its prompt text, and without a callback URL that names a user. A field sent twice is
 * there once, with the value that counted.
 * `isPlain`: no key or token was found in it, except an asset token in its own field.
 */
export function journalBody(parsed: unknown, isPlain: boolean): string {
  const text = JSON.stringify(mayHoldPrivate(parsed) ? withoutPrivate(parsed) : parsed)
  return isPlain && !text.includes('ast_') ? text : redactSecrets(text)
}

/**
 * Path and query. A segment that might be prose is removed, and so is every value that v1 does not define: a prompt
 * that strayed there was not meant to be shared.
 */
export function journalPath(url: string): string {
  const at = url.indexOf('?')
  const path = url.slice(0, at < 0 ? maxPathCharacters : Math.min(at, maxPathCharacters))
  const kept = plainPath.test(path) ? path : path.split('/').map(plainSegment).join('/')
  if (at < 0) return redactWithBase64(kept)
  const pairs = url.slice(at + 1, maxPathCharacters).split('&')
  return redactWithBase64(`${kept}?${pairs.map(plainPair).join('&')}`)
}

const plainPath = /^(?:\/[\w.:+~@$*!{}-]{0,128})+$/
const plainSegments = /^[\w.:+~@$*!{}-]{0,128}$/

function plainSegment(segment: string): string {
  const redacted = redactSecrets(segment)
  return plainSegments.test(unescaped(redacted).trim()) ? redacted : '[removed]'
}

function plainPair(pair: string): string {
  const name = pair.split('=')[0]!
  if (name === 'wait_ms' && /^wait_ms=[\w.+-]{0,32}$/.test(pair)) return pair
  return `${plainText.test(name) ? name : '[name]'}=[removed]`
}

/** Returns the shape of a body that was not validated, without any text that might be prose. */
export function describeUnvalidated(text: string): string {
  if (text === '') return ''
  if (text.length > maxBodyCharacters) return `[not kept: ${text.length} characters]`
  const value = parseExactly(text)
  if (value === undefined) return `[not JSON: ${text.length} characters]`
  return redactSecrets(JSON.stringify(describeShape(value, null, 0)))
}

function describeCredential(value: string): string {
  const match = /^Bearer +((?:sk|pk)_(?:test|live)_|at_|bt_|ast_)/i.exec(value)
  return match === null ? 'redacted' : `Bearer ${match[1]}redacted`
}

function mayHoldPrivate(body: unknown): body is Record<string, unknown> {
  if (typeof body !== 'object' || body === null) return false
  return 'prompt' in body || 'context' in body || 'callback_url' in body || 'delivery' in body
}

function withoutPrivate(body: Record<string, unknown>): Record<string, unknown> {
  const result = { ...body }
  if (typeof body.prompt === 'string') result.prompt = describeRemoved(body.prompt)
  else if (isObject(body.prompt) && typeof body.prompt.text === 'string') {
    result.prompt = { ...body.prompt, text: describeRemoved(body.prompt.text) }
  }
  if (isObject(body.context) && typeof body.context.prompt_text === 'string') {
    result.context = { ...body.context, prompt_text: describeRemoved(body.context.prompt_text) }
  }
  if (namesUser(body.callback_url)) result.callback_url = describeRemoved(body.callback_url)
  if (isObject(body.delivery) && namesUser(body.delivery.callback_url)) {
    result.delivery = { ...body.delivery, callback_url: describeRemoved(body.delivery.callback_url) }
  }
  return result
}

/** Whether a URL has a user name or a password, or could have: such a callback URL is refused. */
function namesUser(url: unknown): url is string {
  if (typeof url !== 'string' || !url.includes('@')) return false
  const parsed = URL.parse(url)
  return parsed === null || parsed.username !== '' || parsed.password !== ''
}

/** Inside a prompt every text is prose, under any field name. */
function describeShape(value: unknown, field: string | null, depth: number): unknown {
  if (typeof value === 'string') {
    return field !== null && plainFields.has(field) && plainText.test(value) ? value : describeRemoved(value)
  }
  if (typeof value === 'number' || isExactNumber(value)) {
    return isSecretNumber(JSON.stringify(value), field ?? '') ? 0 : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth > 8) return '[nested deeper]'
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => describeShape(item, field, depth + 1))
  const entries = Object.entries(value).slice(0, 100)
  return Object.fromEntries(
    entries.map(([name, inner]) => [
      plainText.test(name) ? name : '[name]',
      describeShape(inner, field === 'prompt' ? field : name, depth + 1),
    ]),
  )
}

/** Returns what stands in place of a text that is not kept. */
export function describeRemoved(text: string): string {
  return `[removed: ${text.length} characters]`
}
