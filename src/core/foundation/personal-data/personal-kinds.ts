/** The kinds of personal data that a text can have, and the words for them. */

export const personalKinds = {
  email_address: 'an e-mail address',
  phone_number: 'a telephone number',
  card_number: 'a card number',
  iban: 'an IBAN',
  access_key: 'a key',
  postal_address: 'a postal address',
} as const

export type PersonalKind = keyof typeof personalKinds

/** Returns `an e-mail address and a telephone number`. */
export function listPersonalKinds(kinds: readonly PersonalKind[]): string {
  const words = kinds.map((kind) => personalKinds[kind])
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
