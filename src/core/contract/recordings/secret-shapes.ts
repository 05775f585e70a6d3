/** Secrets that their shape gives away, or the name of their parameter, in any text. */
import { isOpaque, isSecretBeside, isSecretNumber, isSecretText, isUnknownSecret } from './secret-names.ts'

/** What stands in place of a secret that nothing has to follow. */
export const redacted = '[redacted]'

/** The fields and attributes that have the name of a pair of name and value, in lower case. */
export const pairNames: ReadonlySet<string> = new Set(
  'name key header field parameter param n k id label property title setting variable attribute'.split(' '),
)

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
/** Those of package registries, of services for mail, payment, models and chats, and the keys of age. */
const otherPrefixed =
  /(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{50,255}|glpat-[\w-]{20,255}|SG\.[\w-]{22}\.[\w-]{43}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp)-[\w-]{22,43}|whsec_[\w+/=-]{24,255}|hf_[A-Za-z0-9]{34}|dop_v1_[0-9a-f]{64}|hvs\.[\w-]{24,255}|AGE-SECRET-KEY-1[A-Z0-9]{58}|\d{8,10}:AA[\w-]{33})|(?<=discord(?:app)?\.com(?:\\?\/)api(?:\\?\/)webhooks(?:\\?\/)\d{1,20}(?:\\?\/))[\w-]{40,255}/g
const mayBeOtherPrefixed = /npm_|pypi-|glpat-|SG\.|shp|sq0|whsec_|hf_|dop_v1|hvs\.|AGE-|:AA|webhooks/
const mayBePrefixed = /gh[opsur]_|github_pat_|xox|A[KS]IA|AIza|sk-|k_live_|slack\.com/

const addressStart = /((?:\\?\/){2})/
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
const schemed = /\b([Bb]earer|BEARER|[Bb]asic|BASIC)((?:\s|\\t|%20){1,8}\\?["']?|\\?["'])([\w.~+/=-]{8,4096})/g
const maySchemed = /bearer|basic/i
const longWord = 20

function isCredential(scheme: string, text: string): boolean {
  if (scheme.toLowerCase() === 'basic') {
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
  const plain = mayBePrefixed.test(kept) ? kept.replace(prefixed, redacted) : kept
  return mayBeOtherPrefixed.test(plain) ? plain.replace(otherPrefixed, redacted) : plain
}

/** Returns a text without private keys, tokens of known shapes, users and passwords of addresses, and credentials after their scheme. */
export function withoutShapes(text: string): string {
  const plain = withoutUserInfo(withoutPrefixed(text))
  if (!maySchemed.test(plain)) return plain
  return plain.replace(schemed, (whole, scheme: string, between: string, value: string) =>
    isCredential(scheme, value) ? scheme + between + redacted : whole,
  )
}

/** Returns a text without the secrets in it that their shape or the name of their parameter gives away, encoded ones too. */
export function withoutSecretWords(text: string): string {
  return withoutEncoded(withoutParameters(withoutShapes(text)))
}

/** A part of an address that may be percent-encoded, or a word in base64: none that is too short for a secret. */
const encodedPart = /[^?&#;,=\s"'<>\\]{12,}/g
const base64Word = /^[\w+/-]{16,8192}$/
/** How base64 of readable text begins, characters. */
const base64Start = 32
const readable = /^[\t\r\n\x20-\x7e]+$/
const maxEncodings = 4

/** Returns a text without what is a secret once its encoding is undone: percent signs at any level, or base64. */
export function withoutEncoded(text: string, depth = 0): string {
  if (depth === maxEncodings || text.length < shortestEncoded) return text
  return text.replace(encodedPart, (part) => {
    if (part.endsWith('redacted')) return part
    if (part.includes('%')) {
      const plain = decode(part)
      if (plain === part) return part
      const kept = withoutEncoded(withoutParameters(withoutShapes(plain)), depth + 1)
      return kept === plain ? part : encodeURIComponent(kept.toWellFormed()).replaceAll('%5Bredacted%5D', redacted)
    }
    if (!base64Word.test(part) || !readable.test(decodeBase64(part.slice(0, base64Start)))) return part
    const plain = decodeBase64(part)
    return withoutEncoded(withoutParameters(withoutShapes(plain)), depth + 1) === plain ? part : redacted
  })
}

const shortestEncoded = 12

function decodeBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('latin1')
}
