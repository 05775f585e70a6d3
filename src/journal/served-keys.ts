/** Secret keys in what a browser can download. */

const secretKey = /\b(sk_(?:test|live)_)(?!redacted\b)[A-Za-z0-9_-]{6,}/g

/** The secret keys in a text, with the line of each and without their secret. */
export function secretKeysIn(text: string): { line: number; key: string }[] {
  return [...text.matchAll(secretKey)].map((match) => ({
    line: text.slice(0, match.index).split('\n').length,
    key: `${match[1]}…`,
  }))
}
