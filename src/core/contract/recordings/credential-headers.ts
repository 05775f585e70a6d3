/** The credentials in the headers of an exchange: what a header or a cookie has by its name, unless it is words, an address or a date. */
import { findRole } from './field-roles.ts'
import { findSocketSecrets, isPersonalHeader, isSecretHeader, removedEmail } from './recorded-parts.ts'
import type { SecretMemory } from './secret-memory.ts'
import { identifierKeys, isSecretBeside, isSecretText, namesSecret } from './secret-names.ts'
import { isAddress, isPlain, listDecoded, listEmails, minSecretLength } from './secret-sources.ts'

/** What users consented to: a request has it too. */
const consentCookies = /consent|tcf|gpp|privacy/i

/** Learns the credentials in headers, each of several with one name. @param headers names and values in turn */
export function collectFromHeaders(memory: SecretMemory, headers: readonly string[]): void {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    const value = headers[index + 1]!
    for (const address of listEmails(value)) memory.collectFromText(address, removedEmail)
    const inProtocols = name === 'sec-websocket-protocol' ? findSocketSecrets(value) : []
    for (const each of inProtocols) memory.collectCredential(each)
    if (isPersonalHeader(name, value)) for (const each of value.split(/,\s*/)) memory.collectFromText(each, 'redacted')
    if (!isSecretHeader(name) || identifierKeys.test(name)) continue
    collectFromSecretHeader(memory, name, value)
    collectBasic(memory, value)
  }
}

/** Learns from `Bearer TOKEN`, `name=value; other="value"`, or the value alone. */
function collectFromSecretHeader(memory: SecretMemory, name: string, value: string): void {
  const parts = value.split(/[\s;,]+/)
  const isCookie = name.includes('cookie')
  for (const [index, part] of parts.entries()) {
    if (harmlessParameter.test(part)) continue
    const secret = part.slice(part.indexOf('=') + 1).replace(/^"|"$/g, '')
    const isScheme = index === 0 && parts.length > 1 && plainWord.test(part)
    if (isScheme && part.length < minSecretLength) continue
    // The name of a cookie says what it is, that of a header what it has.
    const own = isCookie ? part.slice(0, part.indexOf('=')) : name
    for (const each of isCookie ? listDecoded(secret) : [part, secret]) {
      const isOnly = parts.length <= 2 && !isScheme
      if (isCookie ? isOfCookie(each, own) : isOfHeader(each, own, isOnly)) memory.collectCredential(each)
    }
  }
}

/** Settings are in cookies too, and words. */
function isOfCookie(word: string, name: string): boolean {
  const isNamed = namesSecret(name) || sessionCookie.test(name)
  if (!isNamed && (consentCookies.test(name) || findRole(name) !== 'value')) return false
  return word.length < minSecretLength ? isNamed && isSecretBeside(word, 'token') : isRandom(word)
}

/** Keys of caches are words, and have headers with such names. @param isOnly whether it is all that the header has beside a scheme */
function isOfHeader(word: string, name: string, isOnly: boolean): boolean {
  const isCertain = /authori[sz]ation$/.test(name) || isSecretText('word', name)
  if (word.length < minSecretLength) return isCertain || isSecretText(word, name) || isSecretBeside(word, 'token')
  return isCertain && isOnly ? !isAddress(word) : isRandom(word)
}

function isRandom(word: string): boolean {
  return !isPlain(listDecoded(word).at(-1)!) && (/^[\w~+/=.:%-]+$/.test(word) || isSecretBeside(word, 'token'))
}

const sessionCookie = /sess|sid$/i

/** Attributes of cookies and parameters of credentials that other parts of an exchange have too, such as its path and its host. */
const harmlessParameter =
  /^(?:path|domain|expires|max-age|samesite|priority|version|uri|realm|algorithm|qop|username)=/i

/** Learns the user and the password of basic authentication. */
function collectBasic(memory: SecretMemory, value: string): void {
  const [, encoded] = /(?:^|,\s*)Basic +([A-Za-z0-9+/=_-]{4,8192})(?:,|$)/i.exec(value) ?? []
  if (encoded === undefined) return
  const pair = Buffer.from(encoded, 'base64').toString()
  const at = pair.indexOf(':')
  const user = pair.slice(0, at)
  for (const each of [pair, pair.slice(at + 1)]) memory.collectCredential(each)
  if (user.length >= minSecretLength || !plainWord.test(user)) memory.collectCredential(user)
}

/** The name of a user, or of a scheme, that other parts of an exchange can have too. */
const plainWord = /^[a-z]*$/i
