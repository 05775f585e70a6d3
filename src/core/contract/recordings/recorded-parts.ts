/**
 * What a recording may keep of an exchange with a service. It is meant to be committed, so beyond the rules of the journal it
 * has no address, device or place of a user, and no credential that only the service knows by its shape.
 */
import { isExactNumber } from '#foundation/json/exact-numbers.ts'
import { mapJson } from '#foundation/json/walk.ts'
import { type Json, parseJson } from '#foundation/json.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { redactWithBase64 } from '#foundation/redaction.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { describeRemoved, journalHeaders, journalPath, redactHeaderValue } from './redaction.ts'
import { redactText, withoutEncodedSecrets } from './secret-fields.ts'
import { isOpaque, isSecretName, isSecretNumber, isSecretText, type Secrecy, secrecyIn } from './secret-names.ts'
import { decode, isSecretParameter, withoutLines, withoutShapes } from './secret-shapes.ts'

/** Headers as Node reads them. */
type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Headers in which proxies pass on who a user is. Addresses are found by their shape. */
const personalHeaders =
  /^(?:(?:x-)?forwarded(?:-for)?|(?:[\w-]{1,64}-)?(?:real|client|connecting|originating)-?ip|from|(?:x-(?:[\w-]{0,64}-)?|remote-)(?:user|username|device|account|customer|subscriber|login|email)(?:-?(?:id|name|email|uuid))?)$/
/** Headers in which networks pass on where a user is, and by what the device is known. The country is kept. */
const placeHeaders =
  /(?:^|-)(?:ip)?(?:city|citylatlong|city-?name|latitude|longitude|latlong|lat|lng|lon|postal-?code|zip-?code|metro-?code|time-?zone)$|^(?:cf|x-appengine|cloudfront-viewer|x-vercel-ip|x-client|x-geo|x-user)-(?:[\w-]{1,32}-)?region(?:-code|-name)?$|(?:^|-)ja[34](?:$|-)/
const secretHeaders =
  /(?:^|-)(?:cookies?|pin|otp|passcode|api-?key|key|tokens?|secret|signature(?!-input)|hmac|session|sid|auth|assertion|wsse)(?:$|-)|^dpop$/
/** Addresses of IP, with ports too, as the whole value of a header. A version can look like one. */
const ipAddresses =
  /^(?:(?:for=)?["[]{0,2}(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[\da-f]{0,4}:){2,7}(?:[\da-f]{0,4}|(?:\d{1,3}\.){3}\d{1,3}))[\]"]{0,2}(?::\d{1,5})?(?:, ?|$)){1,32}$/i
const ofProtocol = /^host$|(?:^|-)version$/

/** Whether a header says who a user is, by its name, or as an address of IP by its value. */
export function isPersonalHeader(name: string, value: string): boolean {
  return personalHeaders.test(name) || placeHeaders.test(name) || (!ofProtocol.test(name) && ipAddresses.test(value))
}

/** Returns the headers of a request without credentials, prose, and what identifies a user. */
export function keepRequestHeaders(headers: Headers): Record<string, string> {
  const kept = readHeaders(journalHeaders(headers))
  for (const name in kept) {
    if (isPersonalHeader(name, kept[name]!) || (name !== 'authorization' && isSecretHeader(name))) {
      kept[name] = 'redacted'
    } else kept[name] = withoutParameters(name, kept[name]!)
  }
  return kept
}

/** A parameter of a header, or of a URL in it. */
const parameter = /(?<![\w.%[\]-])([\w.%[\]-]{1,128})=(\\{0,4}"?)([^\s;,&"<>\\]{1,4096})/g

/** Returns the value of a header without addresses of e-mail, and without secrets in its parameters and of a known shape. */
function withoutParameters(name: string, value: string): string {
  if (name === 'sec-websocket-protocol') {
    const secrets = new Set(findSocketSecrets(value))
    return value.replace(/[^\s,]+/g, (each) => (secrets.has(each) ? 'redacted' : each))
  }
  if (hasNamedSecret(value)) return describeRemoved(value)
  return withoutEncodedSecrets(withoutSecretParameters(withoutLines(withoutShapes(withoutEmail(value)))), true)
}

/** @param depth of an address in a parameter */
function withoutSecretParameters(text: string, depth = 0): string {
  return text.replace(parameter, (whole, key: string, quote: string, inner: string) => {
    if (isSecretName(decode(key)) || isSecretParameter(key, inner)) return `${key}=${quote}redacted`
    if (depth === maxInner || !inner.includes('=')) return whole
    return `${key}=${quote}${withoutSecretParameters(inner, depth + 1)}`
  })
}

const maxInner = 3

/** Whether the value of a header is JSON or markup which has a secret by the name of its field. */
function hasNamedSecret(value: string): boolean {
  return /^\s*(?:[{[]|<!)|<[a-z_][\w.:-]{0,64}[\s>]/i.test(value) && redactText(value) !== value
}

/** A protocol of a WebSocket, such as `graphql-ws`, `v12.stomp` and `wamp.2.json`. */
const protocol =
  /^(?:v?\d{1,2}[.-])?[a-z]{2,16}(?:[.-][a-z]{2,16}){0,3}(?:[.-]?v?\d{1,2}(?:\.\d{1,2}){0,2}(?:[.-]json)?)?$/i

/** Returns the items of `Sec-WebSocket-Protocol` that are no protocols: pages have no other header in which to send a token. */
export function findSocketSecrets(value: string): string[] {
  const items = value.split(/[\s,]+/)
  return items.filter((item, index) => !protocol.test(item) || isSecretName(items[index - 1] ?? ''))
}

/** Whether the value of a header is a credential, by its name. Those of CORS say what is permitted. */
export function isSecretHeader(name: string): boolean {
  return !name.startsWith('access-control-') && (secretHeaders.test(name) || isSecretName(name))
}

/** Response headers that contain words, none of which comes from a request. */
const wordyHeaders: ReadonlySet<string> = new Set([
  ...['content-security-policy', 'permissions-policy', 'strict-transport-security', 'server', 'server-timing', 'via'],
  ...['date', 'expires', 'last-modified', 'retry-after', 'content-disposition', 'alt-svc', 'report-to', 'nel'],
])

/** Returns the headers of a response without credentials and prose. */
export function keepResponseHeaders(headers: Headers): Record<string, string> {
  const kept: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue
    const text = Array.isArray(value) ? value.join(', ') : value
    if (isSecretHeader(name) || isPersonalHeader(name, text)) kept[name] = 'redacted'
    else if (name === 'link') kept[name] = keepLinks(text)
    else if (name === 'location' || name === 'content-location') kept[name] = keepUrl(text)
    else kept[name] = withoutParameters(name, wordyHeaders.has(name) ? text : redactHeaderValue(name, text))
  }
  return readHeaders(redactWithBase64(JSON.stringify(kept)))
}

function readHeaders(text: string): Record<string, string> {
  return Object.assign(Object.create(null), parseJson(text))
}

/** Returns a URL, absolute or not, without tokens and without values of its query. */
function keepUrl(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return withoutSegments(journalPath(url))
  if (!/^https?:$/.test(parsed.protocol)) return '[removed]'
  return parsed.origin + withoutSegments(journalPath(parsed.pathname + parsed.search))
}

/** Returns a path without its random segments, such as that of an address which resets a password. Identifiers have a prefix. */
function withoutSegments(path: string): string {
  const at = path.indexOf('?')
  const [names, query] = at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at)]
  const kept = names.split('/').map((each) => (isOpaque(each) && !/^[a-z]{2,5}_/.test(each) ? '[removed]' : each))
  return withoutEmail(withoutShapes(kept.join('/'))) + query
}

/** Returns a `Link` header with the paths of its URLs kept as those of other addresses are. */
function keepLinks(value: string): string {
  return withoutParameters('link', redactHeaderValue('link', value)).replace(/<([^<>?]{1,2048})/g, (_, url: string) => {
    const [, origin = '', path = ''] = /^(https?:\/\/[^/]{1,255})?(.*)$/s.exec(url) ?? []
    return `<${origin}${withoutSegments(path)}`
  })
}

/** Whether a body of a content type is bytes, not text. */
export function isMediaType(type: string): boolean {
  return /^(?:image(?!\/svg)|video|audio|font)\/|^application\/(?:octet-stream|wasm|font-)/i.test(type.trim())
}

/** How the files of each media type begin, byte by byte. */
const signatures: Readonly<Record<string, RegExp>> = {
  'image/png': /^\x89PNG\r\n\x1a\n/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/gif': /^GIF8[79]a/,
  'image/webp': /^RIFF[\s\S]{4}WEBP/,
  'image/avif': /^[\s\S]{4}ftyp[\s\S]{0,56}avi[fs]/,
  'video/mp4': /^[\s\S]{4}ftyp/,
  'video/webm': /^\x1aE\xdf\xa3/,
}

/** Whether bytes are a picture or a video of their media type. Of other bytes nothing is known. @param start as latin1, at least 64 bytes */
export function isMediaFile(type: string, start: string): boolean {
  return findEntry(signatures, type.split(';')[0]!.trim().toLowerCase().replace('/jpg', '/jpeg'))?.test(start) === true
}

/** Returns the path of a media file: its query says which one it is, as far as it is numbers. */
export function keepFilePath(path: string): string {
  const [name = '', query] = path.split('?', 2)
  if (query === undefined) return journalPath(path)
  const pairs = query.split('&').map((pair) => (isPlainNumber(pair) ? pair : journalPath(`/?${pair}`).slice(2)))
  return `${journalPath(name)}?${pairs.join('&')}`
}

const plainNumber = /^([a-z][\w-]{0,31})=(\d{1,9}(?:\.\d{1,6})?|true|false)$/

function isPlainNumber(pair: string): boolean {
  const [, name = '', value = ''] = plainNumber.exec(pair) ?? []
  return name !== '' && !isSecretParameter(name, value)
}

const personalFields: ReadonlySet<string> = new Set([
  ...['geo', 'device', 'human', 'user', 'ip', 'ipv6', 'ua', 'user_agent', 'ifa', 'idfa', 'gaid', 'email', 'phone'],
  ...['lat', 'lon', 'latitude', 'longitude', 'zip', 'postal_code'],
])
/** Takes part in matching, and is that of many. */
const country = /^[A-Za-z]{2,3}$/

/** Fields whose text an app is free to choose, so that it may be about a user. */
const freeFields: ReadonlySet<string> = new Set(['topic', 'session_id', 'chat_session_id', 'metadata'])

/** Whether an app is free to choose the text of a field. @param path its names, from the body on */
export function isFreeField(path: readonly string[]): boolean {
  return path.some((name) => freeFields.has(name))
}

/** Returns the body of a request without secrets and what identifies a user: texts by their length, numbers as 0. */
export function withoutPersonal(body: unknown): Json {
  return mapJson(body, (value, { name, path }) => {
    const names = path.filter((step) => typeof step === 'string')
    if (typeof value === 'string') return withoutPersonalText(value, names)
    if (typeof value !== 'number' && !isExactNumber(value)) return value
    return isPersonal(names) || isSecretNumber(JSON.stringify(value), name) ? 0 : value
  })
}

function withoutPersonalText(text: string, path: readonly string[]): string {
  const name = path.at(-1) ?? ''
  if (isPersonal(path) && !(name === 'country' && country.test(text))) return describeRemoved(text)
  const outer = path.slice(0, -1).reduce((around: Secrecy, each) => secrecyIn(each, around), 'none')
  if (isSecretText(text, name, outer)) return describeRemoved(text)
  const isAboutUser = isFreeField(path) && findPersonalData(withoutEmail(text)).length > 0
  return isAboutUser ? removedPersonal : redactText(withoutEmail(text))
}

function isPersonal(path: readonly string[]): boolean {
  return path.some((name) => personalFields.has(name))
}

const removedPersonal = '[removed: personal data]'

/** What follows the name in an address of e-mail, percent-encoded or with JSON escapes too. `logo@2x.png` is a picture, `react@18.js.org` a version. */
const mailDomain =
  /(?:@|%(?:25){0,4}40|\\{1,4}u0040)(?!\d(?:\.\d)?x\.|\d{1,2}\.[a-z]{1,12}\.)(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}/g
const ofMailName = /[A-Za-z0-9._%+-]/
const maxMailName = 64

/** Calls `replace` for every address of e-mail in a text, and returns the text with its results. */
export function replaceEmails(text: string, replace: (address: string) => string): string {
  let replaced = ''
  let copied = 0
  for (const { 0: domain, index } of text.matchAll(mailDomain)) {
    let start = index
    while (start > copied && index - start < maxMailName && ofMailName.test(text[start - 1]!)) start--
    if (start === index) continue
    replaced += text.slice(copied, start) + replace(text.slice(start, index) + domain)
    copied = index + domain.length
  }
  return copied === 0 ? text : replaced + text.slice(copied)
}

export const removedEmail = '[removed: e-mail address]'

/** Returns a text without addresses of e-mail. */
export function withoutEmail(text: string): string {
  return replaceEmails(text, () => removedEmail)
}
