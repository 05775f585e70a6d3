/**
 * One codec for every identifier on the wire (A01): a prefix, an underscore, and a time-ordered integer in base 32.
 *
 * The integer is the primary key in the database, so that rows are inserted at the end of their table. It fits in a
 * JavaScript number (53 bits), hence eleven characters, zero-padded, so that identifiers sort like the integers do. The
 * alphabet is Crockford's, lower case: no i, l, o, u.
 */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const length = 11

/** The kinds of identifier, by prefix. Projects are named, not numbered, so `proj_` is not among them. */
export type IdPrefix = 'job' | 'slot' | 'req' | 'key' | 'ten' | 'cns' | 'ast' | 'at' | 'bt'

const values = new Map([...alphabet].map((character, value) => [character, value]))

/**
 * The wire form of `id`: 7 becomes `slot_00000000007`. Joined, so that it is in one piece: JSON.stringify takes twice
 * as long for an object with a string that is a chain of pieces.
 */
export function encodeId(prefix: IdPrefix, id: number): string {
  return [prefix, encodeInteger(id)].join('_')
}

/** The integer of an identifier, or null when it is not one of this kind. */
export function decodeId(prefix: IdPrefix, text: string): number | null {
  if (!text.startsWith(`${prefix}_`)) return null
  return decodeInteger(text.slice(prefix.length + 1))
}

const pairs = Array.from({ length: 1024 }, (_, value) => alphabet[value >>> 5]! + alphabet[value & 31]!)

let lastHigh = Number.NaN
let lastText = ''

/**
 * Eleven characters for a non-negative safe integer. The first six are cached: they change every eight seconds, and a
 * request encodes a dozen identifiers.
 */
export function encodeInteger(id: number): string {
  const low = id % 0x2000000
  const high = (id - low) / 0x2000000
  if (high !== lastHigh) {
    lastHigh = high
    lastText = pairs[high >>> 20]! + pairs[(high >>> 10) & 1023]! + pairs[high & 1023]!
  }
  return lastText + pairs[low >>> 15]! + pairs[(low >>> 5) & 1023]! + alphabet[low & 31]!
}

/** The integer of eleven characters, or null when the text is malformed. */
export function decodeInteger(text: string): number | null {
  if (text.length !== length) return null
  let id = 0
  for (const character of text) {
    const value = values.get(character)
    if (value === undefined) return null
    id = id * 32 + value
  }
  return Number.isSafeInteger(id) ? id : null
}

/*
 * Tokens locate their own row: `ast_<id>_<secret>`, opaque to clients. The id is the integer key of the row, and only the
 * SHA-256 of the secret is stored (A04, A05, A06).
 */
type TokenKind = 'ast' | 'at' | 'bt'

interface ParsedToken {
  kind: TokenKind
  id: number
  secret: string
}

const pattern = /^(ast|at|bt)_([0-9a-z]{11})_([A-Za-z0-9_-]{43})$/

/** Returns the wire form of a token, in one piece; `secret` is 32 bytes in base64url. */
export function formatToken(kind: TokenKind, id: number, secret: string): string {
  return [kind, encodeInteger(id), secret].join('_')
}

/** Returns the parts of a token, or null when it is malformed. */
export function parseToken(text: string): ParsedToken | null {
  const match = pattern.exec(text)
  if (match === null) return null
  const id = decodeInteger(match[2]!)
  return id === null ? null : { kind: match[1] as TokenKind, id, secret: match[3]! }
}

/** Returns the wire form of a key: its prefix shows class and mode (A02). */
export function formatKey(key_class: 'secret' | 'publishable', mode: 'test' | 'live', secret: string): string {
  return `${key_class === 'secret' ? 'sk' : 'pk'}_${mode}_${secret}`
}
