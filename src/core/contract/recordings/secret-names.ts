/** Secrets by the names of their fields, parameters and headers. The contract's own fields have roles instead. */
import { findRole } from './field-roles.ts'

/**
 * What a name says about its value. `certain`: it can only be a secret. `possible`: it is one if it looks like one. `ambiguous`: only one
 * that is long and random is.
 */
type NameKind = 'certain' | 'possible' | 'ambiguous' | 'none'

/** What the fields around a value say about it. */
export type Secrecy = Exclude<NameKind, 'ambiguous'>

/** In a name without its separators: `access_token`, `X-Api-Key`, `clientSecret`. */
const secretWord =
  /passw(?:or)?[dt]|pswd|passphrase|passcode|kennwort|contrasen|motdepasse|(?:seed|recovery)phrase|(?:recovery|backup)codes?$|secret(?!ar[iy])|token(?!i[sz][aei])|credential|jwt|authori[sz]ation|(?:api|access|private|signing)key|(?:db|user|root|admin|login)(?:pass|pwd)$/
const wholeWords: ReadonlySet<string> = new Set(
  'auth authentication bearer cookie cookies cred creds csrf oauth otp pass passkey pwd xsrf'.split(' '),
)
/** The end of a name that can only be that of a secret. */
const certainEnd =
  /(?:passw(?:or)?[dt]|passphrase|passcode|kennwort|contrasena|motdepasse|(?:seed|recovery)phrase|(?:recovery|backup)code|pwd|pswd|(?:db|user|root|admin|login)pass|(?:api|access|private|signing|secret)key|(?:access|refresh|id|auth|session|bearer|csrf|xsrf)token|(?:client|api|app|shared|user|session|^)secret)s?(?:hash|value|plain|\d{1,2}|confirm|confirmation|again|repeat|old|new|current|previous|admin|prod|production|staging|dev)?$/

/** Names of secrets as of other things, and the last words of such names. */
const ambiguousWords: ReadonlySet<string> = new Set('code hmac key pat psk session sid sig signature'.split(' '))

/** Passwords in other languages, as names have them. */
const foreignPasswords = [
  'adgangskode haslo hasło heslo jelszó lösenord løsenord parola passord salasana şifre senha wachtwoord',
  'пароль κωδικόςπρόσβασης 密码 密碼 パスワード 비밀번호',
]
  .flatMap((words) => words.split(' '))
  .map(plainLetters)

/** The last word of a name that says something about a secret: how many, of which kind, until when. */
const harmlessEnd: ReadonlySet<string> = new Set(
  [
    'count counts usage used limit limits budget length size index position remaining symbol',
    'type types kind format method methods scheme algorithm alg version name names label title policy status',
    'expires expiry expiration ttl in at ms seconds time required enabled valid verified',
    'file path url uri endpoint issuer audience scope scopes sha256 description pattern provider',
  ].flatMap((words) => words.split(' ')),
)

/** Keys that name an entry of a cache, a route or a request. */
export const identifierKeys = /(?:^|-)(?:cache|surrogate|routing|route|idempotency|partition|shard)-?keys?$/

interface NameFacts {
  /** A token of the contract. */
  isToken: boolean
  /** Without a role in the contract. */
  isValue: boolean
  kind: NameKind
  /** Whether it ends in a word for digits that are a secret. */
  isNumeric: boolean
  /** Its last word. */
  last: string
}

/** A longer one is no name. */
const maxNameLength = 128
const unnamed: NameFacts = { isToken: false, isValue: true, kind: 'none', isNumeric: false, last: '' }

const cache = new Map<string, NameFacts>()
const maxCached = 4_096

/** Returns what a name says, which is worked out once for each name. */
function readName(name: string): NameFacts {
  if (name.length > maxNameLength) return unnamed
  const known = cache.get(name)
  if (known !== undefined) return known
  const role = findRole(name)
  const isValue = role === 'value'
  const words = splitName(name)
  const facts = {
    isToken: role === 'token',
    isValue,
    last: words.at(-1) ?? '',
    kind: isValue ? findKind(words) : ('none' as const),
    isNumeric: isValue && numericSecret.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()),
  }
  if (cache.size >= maxCached) cache.clear()
  // A copy: a part of a text holds all of it in memory.
  cache.set(Buffer.from(name, 'utf16le').toString('utf16le'), facts)
  return facts
}

function findKind(words: readonly string[]): NameKind {
  const last = words.at(-1) ?? ''
  if (!hasSecretWord(words)) {
    return ambiguousWords.has(last) && !identifierKeys.test(words.join('-')) ? 'ambiguous' : 'none'
  }
  if (harmlessEnd.has(last)) return 'ambiguous'
  return certainEnd.test(words.join('')) || isForeignPassword(last) ? 'certain' : 'possible'
}

/** Returns the words of a name in lower case, without accents and characters that are not seen. */
function splitName(name: string): string[] {
  return plainLetters(name.replace(/([a-z0-9])([A-Z])/g, '$1 $2'))
    .split(/[^\p{L}0-9]+/u)
    .filter((word) => word !== '')
}

function plainLetters(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
}

function hasSecretWord(words: readonly string[]): boolean {
  return words.some((word) => wholeWords.has(word) || isForeignPassword(word)) || secretWord.test(words.join(''))
}

/** Scripts without spaces join the word to another; in Latin letters it would be found in the middle of words. */
function isForeignPassword(word: string): boolean {
  return foreignPasswords.some((each) => word === each || (!/^[a-z]/.test(each) && word.endsWith(each)))
}

/** Whether the value of a header or a parameter of one is a secret, by its name. */
export function isSecretName(name: string): boolean {
  if (name.length > maxNameLength) return false
  const words = splitName(name)
  return !harmlessEnd.has(words.at(-1) ?? '') && hasSecretWord(words)
}

/** Whether a name without a role in the contract is that of a secret, or could be. */
export function isUnknownSecret(name: string): boolean {
  const { kind } = readName(name)
  return kind === 'certain' || kind === 'possible'
}

/** Whether a value beside a name can be a secret by it. */
export function namesSecret(name: string): boolean {
  const { kind, isNumeric } = readName(name)
  return kind !== 'none' || isNumeric || /mnemonic$/i.test(name)
}

/** Whether a field has a token of the contract. */
export function isTokenName(name: string): boolean {
  return readName(name).isToken
}

/** Returns what a field and those around it say about the values in it. */
export function secrecyIn(name: string, outer: Secrecy): Secrecy {
  const { kind } = readName(name)
  return kind === 'certain' || (kind === 'possible' && outer === 'none') ? kind : outer
}

/** The fields that have the value of the field around them. */
const valueNames: ReadonlySet<string> = new Set(['value', 'text', 'plain', 'current', 'new', 'old'])

/** What a form shows in place of a password. */
const masked = /^[*•●]*$/

/** Whether a text is a secret by the name of its field, and by what the fields around it say. */
export function isSecretText(text: string, name: string, outer: Secrecy = 'none'): boolean {
  const { kind, isValue, last } = readName(name)
  if (!isValue) return false
  if (kind === 'certain' || (outer === 'certain' && valueNames.has(name))) return !masked.test(text)
  if (isSecretNumber(text, name) || (last === 'mnemonic' && isMnemonic(text))) return true
  if (kind === 'ambiguous' || (outer !== 'none' && harmlessEnd.has(last))) return isOpaque(text)
  return (kind === 'possible' || outer !== 'none') && looksSecret(text)
}

/** Whether a text is the twelve words or more that a wallet is opened with. A shortcut of a menu has the same name. */
function isMnemonic(text: string): boolean {
  return /^\s*(?:\p{L}{2,12}\s+){11,23}\p{L}{2,12}\s*$/u.test(text)
}

/** Whether a text after the name of a secret, beside which it may stand by chance, is one. */
export function isSecretBeside(text: string, name: string): boolean {
  const { kind } = readName(name)
  return kind !== 'none' && (kind === 'ambiguous' ? isOpaque(text) : looksSecret(text))
}

/** Whether a literal that a name is set to is a secret. Constants have their own name: `HEADER_API_KEY = "X-Api-Key"`. */
export function isSecretLiteral(text: string, name: string): boolean {
  if (readName(name).kind !== 'certain') return isSecretBeside(text, name)
  const own = splitName(text)
    .join('')
    .replace(/^x(?=.)/, '')
  return text.trim() !== '' && (own === '' || !splitName(name).join('').endsWith(own) || own.length < minNameLength)
}

const minNameLength = 6

/** One word, at least as long as one with 80 bits. */
const opaque = /^[\w~+/=-]{16,4096}$/
const calendarDate = /^\d{4}-\d{2}-\d{2}/
/** Words and numbers, joined: `banner-300x250-home-2`. */
const joinedWords =
  /^(?:[a-z]{1,15}|[A-Z]{1,15}|[A-Z][a-z]{1,14}|\d{1,8}|\d{1,5}x\d{1,5})(?:[-_.:/](?:[a-z]{1,15}|[A-Z]{1,15}|[A-Z][a-z]{1,14}|\d{1,8}|\d{1,5}x\d{1,5}))*$/

/** Groups of letters and digits, as codes that are read out have them: `ABCD-1234-EFGH`. Words of a language are in small letters, and of any length. */
const groupedCode =
  /^(?=.*\d)(?:[A-Z\d]{3,8}(?:-[A-Z\d]{3,8}){2,}|([a-z\d]{4}(?:-[a-z\d]{4}){2,}|[a-z\d]{5}(?:-[a-z\d]{5}){2,}))$/

/** Whether a text is one long random word. */
export function isOpaque(text: string): boolean {
  return opaque.test(text) && hasLettersAndDigits(text) && !calendarDate.test(text) && !joinedWords.test(text)
}

function hasLettersAndDigits(text: string): boolean {
  return /[0-9]/.test(text) && /\p{L}/u.test(text)
}

/** Longer ones are no words of a language. */
const maxWordLength = 20

/** Whether a word of a text looks like a secret: it has letters and digits, or it is too long for a word. Texts of words and numbers do not. */
function looksSecret(text: string): boolean {
  return text.split(/[\s,;]+/).some((word) => {
    if (groupedCode.test(word) && !calendarDate.test(word)) return true
    if (word.length < 6 || calendarDate.test(word) || joinedWords.test(word)) return /^\d{10,}$/.test(word)
    return hasLettersAndDigits(word) || (word.length >= maxWordLength && /^[\w~+/=-]+$/.test(word))
  })
}

/**
 * Whether digits are a secret by the last word of their name: `pin`, `user_password`. Names of counts have a secret's
 * word too, as `max_tokens` has, and short numbers are none: `"pin": 13` is that of a board.
 */
export function isSecretNumber(digits: string, name: string): boolean {
  if (!readName(name).isNumeric) return false
  const joined = digits.replace(/(?<=\d)[ -](?=\d)/g, '')
  if (/^\d{4,}$/.test(joined)) return true
  return /^-?\d[\d.eE+-]{0,64}$/.test(digits) && Math.abs(Number(digits)) >= 1_000
}

const numericSecret =
  /(?:^|[^a-z0-9])(?:passwords?(?:[^a-z0-9](?:confirm|confirmation|again|repeat|old|new))?|passwd|pwd|passphrase|passcode|pin|otp|secret|token|credential|jwt|authori[sz]ation|(?:api|access|private|signing)[^a-z0-9]?keys?|(?:pin|pass|otp|security|verification)[^a-z0-9]?code)$/
