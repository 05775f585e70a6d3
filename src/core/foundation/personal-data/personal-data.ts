/**
 * Finds personal data in short texts: the topic of a placement, a session id, a value of metadata. It knows forms, not
 * people: an e-mail address, a telephone number, a card number or an IBAN with correct check digits, a key, a postal
 * address. A name alone is not found. Topics pass here on every placement: a text without a digit and without an @ costs
 * one regular expression.
 */
import { tableNames } from '../table-entry.ts'
import { hasAccessKey } from './access-keys.ts'
import { hasCardNumber } from './card-numbers.ts'
import { hasEmailAddress } from './email-addresses.ts'
import { hasIban } from './ibans.ts'
import { readNumberRuns } from './number-runs.ts'
import { type PersonalKind, personalKinds } from './personal-kinds.ts'
import { hasPhoneNumber } from './phone-numbers.ts'
import { hasPostalAddress } from './postal-addresses.ts'

const none: readonly PersonalKind[] = []

/** Most topics, words alone, and names such as `turn-12`. A few hundredths of a microsecond, where `special` takes longer. */
const words = /^(?:[A-Za-z ,.;:'"?!&/+]*|[a-z]{1,12}[_-][a-z]{0,12}[0-9]{1,4})$/

/** What every kind has at least one of. */
const special = /[0-9@]| dot |-----BEGIN|[[({] ?(?:at|ät) ?[\])}]/i

/** Returns the kinds of personal data that a text seems to contain, in the order of `personalKinds`. Never the data. */
export function findPersonalData(text: string): readonly PersonalKind[] {
  if (words.test(text) && !text.includes(' dot ')) return none
  const plain = toPlainCharacters(text)
  if (!special.test(plain)) return none
  const runs = readNumberRuns(plain)
  const found: Readonly<Record<PersonalKind, boolean>> = {
    email_address: hasEmailAddress(plain),
    phone_number: runs.some(hasPhoneNumber),
    card_number: runs.some(hasCardNumber),
    iban: hasIban(plain),
    access_key: hasAccessKey(plain),
    postal_address: hasPostalAddress(plain),
  }
  return allKinds.filter((kind) => found[kind])
}

const allKinds = tableNames(personalKinds)

/** Returns a text with the digits, spaces, dashes and signs of all scripts as those of ASCII. */
function toPlainCharacters(text: string): string {
  const decoded = text.includes('%40') ? text.replaceAll('%40', '@') : text
  if (!/\P{ASCII}/u.test(decoded)) return decoded
  return decoded
    .replace(/(?![0-9])\p{Nd}/gu, toDigit)
    .replace(/[\u00a0\u2000-\u200a\u202f\u3000]/g, ' ')
    .replace(/[\u2010-\u2015\u2212\ufe63\uff0d]/g, '-')
    .replace(/[\u200b-\u200d\u2060\ufeff\u00ad]/g, '')
    .replaceAll('\uff20', '@')
    .replaceAll('\uff0b', '+')
}

/** The ten digits of a script follow each other, after a character that is none. */
function toDigit(digit: string): string {
  const code = digit.codePointAt(0)!
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++
  return String(value)
}
