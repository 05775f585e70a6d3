/**
 * Tokens locate their own row: `ast_<id>_<secret>`, opaque to clients. The id is the integer key of the row, and only the
 * SHA-256 of the secret is stored (A04, A05, A06).
 */
import type { Mode } from '../../src/contract/fields.ts'
import { decodeInteger, encodeInteger } from '../../src/contract/ids.ts'

export type TokenKind = 'ast' | 'at' | 'bt'

export interface ParsedToken {
  kind: TokenKind
  id: number
  secret: string
}

const pattern = /^(ast|at|bt)_([0-9a-z]{11})_([A-Za-z0-9_-]{43})$/

/** Returns the wire form of a token; `secret` is 32 bytes in base64url. */
export function formatToken(kind: TokenKind, id: number, secret: string): string {
  return `${kind}_${encodeInteger(id)}_${secret}`
}

/** Returns the parts of a token, or null when it is malformed. */
export function parseToken(text: string): ParsedToken | null {
  const match = pattern.exec(text)
  if (match === null) return null
  const id = decodeInteger(match[2]!)
  return id === null ? null : { kind: match[1] as TokenKind, id, secret: match[3]! }
}

/** Returns the wire form of a key: its prefix shows class and mode (A02). */
export function formatKey(key_class: 'secret' | 'publishable', mode: Mode, secret: string): string {
  return `${key_class === 'secret' ? 'sk' : 'pk'}_${mode}_${secret}`
}
