/** Secrets that their shape gives away, or the name of their parameter, in any text. */
import { isOpaque, isSecretBeside, isSecretNumber, isSecretText, isUnknownSecret } from './secret-names.ts'

/** What stands in place of a secret that nothing has to follow. */
export const redacted = '[redacted]'

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

/** Returns a text without signed tokens. */
function withoutSignedTokens(text: string): string {
  return replaceSignedTokens(text, () => redacted)
}

const keyStart = /-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g
const keyEnd = /-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g

/** Returns a text without private keys, encrypted ones too. One without an end takes all of the text behind it. */
function withoutPrivateKeys(text: string): string {
  if (!text.includes('-----BEGIN ')) return text
  let kept = ''
  let copied = 0
  for (const { index } of text.matchAll(keyStart)) {
    if (index < copied) continue
    keyEnd.lastIndex = index
    const end = keyEnd.exec(text) === null ? text.length : keyEnd.lastIndex
    kept += text.slice(copied, index) + redacted
    copied = end
    if (end === text.length) break
  }
  return kept + text.slice(copied)
}

/** Tokens of services that have a prefix of their own, also after an escape of JSON; the path of a webhook. */
const prefixed =
  /(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))(?:gh[opsur]_[A-Za-z0-9]{16,255}|github_pat_\w{20,255}|xox[abeoprs]-[\w-]{10,255}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{35}|sk-(?=[\w-]{0,128}\d)[\w-]{20,255}|[rs]k_live_[A-Za-z0-9]{8,255})|(?<=hooks\.slack\.com(?:\\?\/)services(?:\\?\/))[\w/\\]{1,255}/g
const mayBePrefixed = /gh[opsur]_|github_pat_|xox|A[KS]IA|AIza|sk-|k_live_|slack\.com/

const addressStart = /(:(?:\\?\/){2})/
/** The user and the password of an address. Digits before a path are a port. */
const userInfo = /^([^\s/?#@:"\\]{0,256}:)(?!\d{1,5}(?:[/?#]|$))[^@]{1,512}(?:@[^/?#@]*(?=@))*(?=@)/
const onlyUser = /^[^\s/?#@:"\\]{16,256}(?=@)/
const addressEnd = /["<>\s]/

function withoutUserInfo(text: string): string {
  if (!text.includes('@') || !text.includes(':')) return text
  const parts = text.split(addressStart)
  for (let index = 2; index < parts.length; index += 2) {
    const part = parts[index]!
    const start = part.slice(0, 1_024)
    const end = start.search(addressEnd)
    const word = end === -1 ? start : start.slice(0, end)
    const kept = word
      .replace(userInfo, (_, user: string) => user + redacted)
      .replace(onlyUser, (user) => (isOpaque(user) ? redacted : user))
    if (kept !== word) parts[index] = kept + part.slice(word.length)
  }
  return parts.join('')
}

/** A credential after its scheme. */
const schemed = /\b(Bearer|Basic) ([\w.~+/=-]{8,4096})/g
const longWord = 20

function isCredential(scheme: string, text: string): boolean {
  if (scheme === 'Basic') {
    const pair = Buffer.from(text, 'base64').toString('latin1')
    return pair.includes(':') && /^[\x20-\x7e]*$/.test(pair)
  }
  return /\d/.test(text) || text.length >= longWord
}

/** A parameter of an address, or of a text such as `password=...`, with what follows a comma and is no parameter. */
const parameter =
  /(^|[?&#;,\s])([A-Za-z][\w.%-]{0,63})=([^&#;,\s"\\]{1,4096})((?:,[^&#;,\s"\\=]{1,1024}(?![^&#;,\s"\\])){0,64})/g

function withoutParameters(text: string): string {
  if (!text.includes('=')) return text
  return text.replace(parameter, (whole, before: string, name: string, value: string, others: string) => {
    const plain = decode(value)
    const isSecret = isSecretText(plain, name) || (others !== '' && isSecretText(plain + others, name))
    return isSecret ? `${before}${name}=${redacted}` : whole
  })
}

/** Returns a text without percent-encoding. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Whether a parameter of an address is a secret: by its name, or by its value too where the name says little. */
export function isSecretParameter(name: string, value: string): boolean {
  return isUnknownSecret(name) || isSecretNumber(value, name) || isSecretBeside(decode(value), name)
}

/** Returns a text without private keys and tokens of known shapes. */
export function withoutPrefixed(text: string): string {
  const kept = withoutPrivateKeys(withoutSignedTokens(text))
  return mayBePrefixed.test(kept) ? kept.replace(prefixed, redacted) : kept
}

/** Returns a text without private keys, tokens of known shapes, users and passwords of addresses, and credentials after their scheme. */
export function withoutShapes(text: string): string {
  const plain = withoutUserInfo(withoutPrefixed(text))
  if (!plain.includes('Bearer ') && !plain.includes('Basic ')) return plain
  return plain.replace(schemed, (whole, scheme: string, value: string) =>
    isCredential(scheme, value) ? `${scheme} ${redacted}` : whole,
  )
}

/** Returns a text without the secrets in it that their shape or the name of their parameter gives away. */
export function withoutSecretWords(text: string): string {
  return withoutParameters(withoutShapes(text))
}

/** A value beside a name, in a script or an attribute. */
const namedValue = /(?<![\w.-])([\w.-]{1,128})(["']?\s{0,8}[:=]\s{0,8}["'])([^\s"'<>]{6,4096})(?=["'])/g

/** Returns code, or a document, without the secrets of a known shape and those beside the name of one: nothing else of it changes. */
export function redactCode(text: string): string {
  return withoutShapes(text).replace(namedValue, (whole, name: string, between: string, value: string) =>
    !value.endsWith('redacted') && isSecretBeside(value, name) ? name + between + redacted : whole,
  )
}
