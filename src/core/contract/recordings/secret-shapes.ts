/** Secrets that their shape gives away, or the name of their parameter, in any text. */
import { withoutPrivateKeys } from './private-keys.ts'
import { isOpaque, isSecretBeside, isSecretNumber, isSecretText, isUnknownSecret, namesSecret } from './secret-names.ts'

/** What stands in place of a secret that nothing has to follow. */
export const redacted = '[redacted]'

/** The fields and attributes that have the name of a pair of name and value, in lower case. */
export const pairNames: ReadonlySet<string> = new Set(
  'name key header field parameter param n k id label property title setting variable attribute var env option config entry attr'.split(
    ' ',
  ),
)

/** The beginning of an object of JSON in base64, with a blank before or behind its brace. */
const objectStart = /e(?:y[A-DI-L]|w[0-3k-r])|(?<![\w-])[ICD][\w-]{2}/g
/** A signed or an encrypted token: its header, and two parts more or four. */
const signedToken = /([\w-]{8,})\.[\w-]+(?:\.[\w-]*){1,3}/y
const wordEnd = /[\w-]*/y

/** Calls `replace` for every signed token (JWT) in a text, and returns the text with its results. */
export function replaceSignedTokens(text: string, replace: (token: string) => string): string {
  let replaced = ''
  let copied = 0
  objectStart.lastIndex = 0
  for (let start = objectStart.exec(text); start !== null; start = objectStart.exec(text)) {
    const { index } = start
    signedToken.lastIndex = index
    const [token, header = ''] = signedToken.exec(text) ?? []
    if (token !== undefined && (header.startsWith('eyJ') || isTokenHeader(header))) {
      replaced += text.slice(copied, index) + replace(token)
      copied = index + token.length
      objectStart.lastIndex = copied
    } else {
      // A later beginning in the same word fails too.
      wordEnd.lastIndex = index
      objectStart.lastIndex = index + wordEnd.exec(text)![0].length
    }
  }
  return copied === 0 ? text : replaced + text.slice(copied)
}

function isTokenHeader(header: string): boolean {
  return /^\s*\{[\s\S]*"(?:alg|typ|enc)"\s*:/.test(Buffer.from(header, 'base64').toString('latin1'))
}

/** Returns a text without signed tokens. */
function withoutSignedTokens(text: string): string {
  return replaceSignedTokens(text, () => redacted)
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
  /(^|[?&#;,\s])([\w.%[][\w.%[\]-]{0,63})=([^&#;,\s"\\]{1,4096})((?:,[^&#;,\s"\\=]{1,1024}(?![^&#;,\s"\\])){0,64})/g

function withoutParameters(text: string): string {
  if (!text.includes('=')) return text
  return text.replace(parameter, (whole, before: string, name: string, value: string, others: string) => {
    const plain = decode(value)
    const own = decode(name)
    const isSecret = isSecretText(plain, own) || (others !== '' && isSecretText(plain + others, own))
    return isSecret && !value.endsWith('redacted') ? `${before}${name}=${redacted}` : whole
  })
}

/** A name and what stands between it and its value, as in a log, in headers as text, in a comment, or on a command line: also a blank before quotes. */
const lineStart =
  /(?:(?<![\w.-])|(?<=(?<![\w-])--?)(?=[\w.-]{1,64}[= ]))([\w.][\w.-]{1,127})(?:\\{0,4}["'`*]{0,2}\]?[ \t]{0,8}(?::(?:=|\*\*(?=[ \t])|__(?=[ \t]))?|=>?(?!=))[^\S\r\n]{0,8}|(?<=(?<![\w-])--[\w.-]{1,64}) |[ \t](?=\\{0,4}["'`]))\\{0,4}["'`]?/g
/** Of CSS: `.token:nth-child(2n+1)`. */
const pseudoClass = /^[a-z-]{1,32}\(/
const lineValue = /[^\s"'`,;<>&\\]{1,1024}/y

/** Returns a text without the secrets behind a name and a colon or an equals sign. */
export function withoutLines(text: string): string {
  if (!/[:=]|--|["'`]/.test(text)) return text
  const parts: string[] = []
  let copied = 0
  for (const { 0: before, 1: name = '', index } of text.matchAll(lineStart)) {
    const from = index + before.length
    if (index < copied || !namesSecret(name)) continue
    lineValue.lastIndex = from
    const [value = ''] = lineValue.exec(text) ?? []
    if (/redacted\]?$/.test(value) || !isSecretBeside(value, name)) continue
    if (name.startsWith('.') && pseudoClass.test(value)) continue
    parts.push(text.slice(copied, from), redacted)
    copied = from + value.length
  }
  return copied === 0 ? text : parts.join('') + text.slice(copied)
}

/** Returns a text without percent-encoding. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Whether a parameter of an address is a secret: by its name, or by its value too where the name says little. */
export function isSecretParameter(name: string, value: string): boolean {
  const own = decode(name)
  return isUnknownSecret(own) || isSecretNumber(value, own) || isSecretBeside(decode(value), own)
}

/** Returns a text without private keys and tokens of known shapes. */
export function withoutPrefixed(text: string): string {
  const kept = withoutPrivateKeys(withoutSignedTokens(text), redacted)
  const plain = mayBePrefixed.test(kept) ? kept.replace(prefixed, redacted) : kept
  return mayBeOtherPrefixed.test(plain) ? plain.replace(otherPrefixed, redacted) : plain
}

/** A header with a credential, as text: its value has two words, or is the value of a cookie. */
const headerLine =
  /(?<![\w-])((?:proxy-)?authori[sz]ation|(?:set-)?cookie)(["']?\s{0,4}:\s{0,4}["']?)((?:(?!await|new|typeof|void)[A-Za-z][\w-]{0,31} |[\w.-]{1,64}=)[^\r\n"'<>\\(){}]{1,4096})/gi

/** Returns a text without private keys, tokens of known shapes, headers, users and passwords of addresses, and credentials after their scheme. */
export function withoutShapes(text: string): string {
  const prefixless = withoutUserInfo(withoutPrefixed(text))
  const plain = prefixless.replace(headerLine, (whole, name: string, between: string, value: string) =>
    isSecretBeside(value, name) ? name + between + redacted : whole,
  )
  if (!maySchemed.test(plain)) return plain
  return plain.replace(schemed, (whole, scheme: string, between: string, value: string) =>
    isCredential(scheme, value) ? scheme + between + redacted : whole,
  )
}

/** Returns a text without the secrets in it that their shape or the name of their parameter gives away. */
export function withoutSecretWords(text: string): string {
  return withoutLines(withoutParameters(withoutShapes(text)))
}
