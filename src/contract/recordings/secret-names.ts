/** Secrets by the name of their field, parameter or header, and by their shape. The contract's own fields have roles instead. */

import { findRole } from './field-roles.ts'
import { readJsonString, replaceJsonStrings } from './json-strings.ts'

/** In a name without its separators: `access_token`, `X-Api-Key`, `clientSecret`. */
const secretWord =
  /passw(?:or)?[dt]|passphrase|passcode|kennwort|contrasen|motdepasse|secret(?!ar)|token(?!i)|credential|jwt|authorization|(?:api|access|private|signing)key/
const wholeWords: ReadonlySet<string> = new Set(
  'auth authentication bearer cookie cookies csrf otp pass passkey pwd senha xsrf'.split(' '),
)

/** Names of secrets as of other things, and the last words of such names: only a value that looks like a secret is one. */
const ambiguousWords: ReadonlySet<string> = new Set('code hmac key nonce session sid sig signature'.split(' '))

/** The last word of a name that says something about a secret: how many, of which kind, until when. */
const harmlessEnd: ReadonlySet<string> = new Set(
  [
    'count counts usage used limit limits budget length size index position remaining',
    'type types method methods scheme algorithm alg version name names policy status',
    'expires expiry expiration ttl in at ms seconds required enabled valid verified',
    'url uri endpoint issuer audience scope scopes sha256',
  ].flatMap((words) => words.split(' ')),
)

/** Whether the value of a field, parameter or header is a secret, by its name. Not for a field that has a role in the contract. */
export function isSecretName(name: string): boolean {
  const words = splitName(name)
  return !harmlessEnd.has(words.at(-1) ?? '') && hasSecretWord(words)
}

/** Whether a value is a secret by its shape beside a name that alone does not decide: `signature`, `session`, `secret_name`. */
export function isSecretValue(value: string, name: string): boolean {
  if (!opaque.test(value) || !/[0-9]/.test(value) || !/[A-Za-z]/.test(value) || calendarDate.test(value)) return false
  const words = splitName(name)
  return ambiguousWords.has(words.at(-1) ?? '') || (hasSecretWord(words) && findRole(name) === 'value')
}

/** One word, at least as long as one with 80 bits. */
const opaque = /^[\w~+/=-]{16,4096}$/
const calendarDate = /^\d{4}-\d{2}-\d{2}/

/** Returns the words of a name in lower case, without accents. */
function splitName(name: string): string[] {
  if (name.length > maxNameLength) return []
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}0-9]+/u)
    .filter((word) => word !== '')
}

function hasSecretWord(words: readonly string[]): boolean {
  return words.some((word) => wholeWords.has(word)) || secretWord.test(words.join(''))
}

/** A longer one is no name. */
const maxNameLength = 128

/** Whether a field of JSON has a secret that only its name gives away. @param around the fields around it */
export function isSecretField(name: string, around: readonly string[] = []): boolean {
  return findRole(name) === 'value' && [name, ...around.slice(-maxAround)].some(isUnknownSecret)
}

/**
 * Whether digits are a secret by the last word of their name: `pin`, `user_password`. Names of counts have a secret's
 * word too, as `max_tokens` has, and short numbers are none: `"pin": 13` is that of a board.
 */
export function isSecretNumber(digits: string, name: string): boolean {
  if (!/^\d{4,}$/.test(digits) || name.length > maxNameLength || findRole(name) !== 'value') return false
  return numericSecret.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase())
}

const numericSecret =
  /(?:^|[^a-z0-9])(?:password|passwd|pwd|passphrase|passcode|pin|otp|secret|token|credential|(?:api|access|private|signing)[^a-z0-9]?key|(?:pin|pass|otp|security|verification)[^a-z0-9]?code)$/

export function isUnknownSecret(name: string): boolean {
  return findRole(name) === 'value' && isSecretName(name)
}

/** How many fields around one can make it a secret, as `credentials` does. */
const maxAround = 8

/** The header of a signed token: JSON, which begins with `{"`, and so with `eyJ` in base64. */
const signedToken = /eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*){1,3}/y
const wordEnd = /[\w-]*/y

/** Calls `replace` for every signed token (JWT) in a text, and returns the text with its results. */
export function replaceSignedTokens(text: string, replace: (token: string) => string): string {
  let replaced = ''
  let copied = 0
  for (let at = text.indexOf('eyJ'); at !== -1; at = text.indexOf('eyJ', at)) {
    signedToken.lastIndex = at
    const [token] = signedToken.exec(text) ?? []
    if (token !== undefined) {
      replaced += text.slice(copied, at) + replace(token)
      at += token.length
      copied = at
    } else {
      // A later beginning in the same word fails too.
      wordEnd.lastIndex = at
      at += wordEnd.exec(text)![0].length
    }
  }
  return copied === 0 ? text : replaced + text.slice(copied)
}

/** What stands in place of a secret that nothing has to follow. */
export const redacted = '[redacted]'

/** JSON in a string of JSON, at most this deep. */
const maxInner = 3

/** Returns JSON text without the secrets that the names of its fields give away, and without signed tokens that have no role. */
export function redactNamedSecrets(text: string, depth = 0): string {
  const pairs = secretPairs()
  const replace = (raw: string, name: string, around: readonly string[]): string | null => {
    const isPaired = pairs(raw, name, around.length)
    if (raw === '' || raw.endsWith('redacted') || raw.endsWith(redacted)) return null
    if (isPaired || isSecretField(name, around) || isSecretNumber(raw, name)) return redacted
    if (isSecretValue(readJsonString(raw), name)) return redacted
    if (findRole(name) === 'token' || findRole(name) === 'address') return null
    if (depth < maxInner && /^\s*[{[]/.test(raw)) {
      const value = readJsonString(raw)
      const inner = redactNamedSecrets(value, depth + 1)
      return inner === value ? null : JSON.stringify(inner).slice(1, -1)
    }
    const kept = withoutSignedTokens(withoutSecretWords(raw))
    return kept === raw ? null : kept
  }
  // It stays a number: a client may read it as one.
  return replaceJsonStrings(text, replace, (raw, name) => (isSecretNumber(raw, name) ? '0' : null))
}

/**
 * Returns a function that is called for each string in turn, and returns whether it is the value of a pair whose name
 * gives it away: `{"name": "password", "value": "..."}`.
 */
function secretPairs(): (raw: string, name: string, depth: number) => boolean {
  let pair = { name: '', depth: -1 }
  return (raw, name, depth) => {
    if (pairNames.has(name)) pair = { name: readJsonString(raw), depth }
    if (name !== 'value' || depth !== pair.depth) return false
    if (/^\d+$/.test(raw)) return isSecretNumber(raw, pair.name)
    return isUnknownSecret(pair.name) || isSecretValue(readJsonString(raw), pair.name)
  }
}

const pairNames: ReadonlySet<string> = new Set(['name', 'key', 'header', 'field'])

/** A private key; the user and password of an address; a credential after its scheme. */
const privateKey = /-----BEGIN (?:[A-Z]{1,16} ){0,3}PRIVATE KEY-----[^-]{0,16384}/g
const userInfo = /(:(?:\\?\/){2})[^\s/?#@"\\:]{0,256}:[^\s/?#@"\\]{1,256}(?=@)/g
const schemed = /\b(Bearer|Basic) (?=[A-Za-z._~+/=-]{0,64}\d)[\w.~+/=-]{8,4096}/g
/** A parameter of an address, or of a text such as `password=...`. */
const parameter = /(^|[?&#;,\s])([A-Za-z][\w.%-]{0,63})=([^&#;,\s"\\]{1,4096})/g

/** Returns a text without the secrets in it that their shape or the name of their parameter gives away. */
export function withoutSecretWords(text: string): string {
  return text
    .replace(privateKey, redacted)
    .replace(userInfo, `$1${redacted}`)
    .replace(schemed, `$1 ${redacted}`)
    .replace(parameter, (whole, before: string, name: string) =>
      isUnknownSecret(name) ? `${before}${name}=${redacted}` : whole,
    )
}

/** Returns a text without signed tokens. */
export function withoutSignedTokens(text: string): string {
  return replaceSignedTokens(text, () => redacted)
}
