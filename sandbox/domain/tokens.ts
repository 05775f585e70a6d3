/**
 * Tokens locate themselves: `ast_<id>_<secret>`, opaque to clients. The id finds the row by its integer key, and only
 * the SHA-256 of the secret is stored (A04, A05, A06).
 */
import { decodeInteger, encodeInteger } from '../../src/contract/ids.ts'

export type TokenKind = 'ast' | 'at' | 'bt'

export interface ParsedToken {
  kind: TokenKind
  id: number
  secret: string
}

const pattern = /^(ast|at|bt)_([0-9a-z]{11})_([A-Za-z0-9_-]{43})$/

/** The wire form of a token; `secret` is 32 bytes in base64url. */
export function formatToken(kind: TokenKind, id: number, secret: string): string {
  return `${kind}_${encodeInteger(id)}_${secret}`
}

/** The parts of a token, or null when it is malformed. */
export function parseToken(text: string): ParsedToken | null {
  const match = pattern.exec(text)
  if (match === null) return null
  const id = decodeInteger(match[2]!)
  return id === null ? null : { kind: match[1] as TokenKind, id, secret: match[3]! }
}

const anyToken = /\b(ast|at|bt)_([0-9a-z]{11})_[A-Za-z0-9_-]{43}/g
const anyKey = /\b(sk|pk)_(test|live)_[A-Za-z0-9_-]+/g

/** `text` with every token and key in it made useless: what journals, events and errors may hold. */
export function redactSecrets(text: string): string {
  const mayHoldToken = text.includes('ast_') || text.includes('at_') || text.includes('bt_')
  const tokens = mayHoldToken ? text.replace(anyToken, '$1_$2_redacted') : text
  return tokens.includes('k_') ? tokens.replace(anyKey, '$1_$2_redacted') : tokens
}
