/** What pure rules may not do: read the clock, create identifiers and randomness, sign and hash. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  randomBytes,
  sign as signWith,
  timingSafeEqual,
} from 'node:crypto'
import { type Clock, sandboxClock } from './clock.ts'

export interface Platform {
  readonly clock: Clock
  /** A seed, or null when identifiers and tokens are random. */
  readonly seed: number | null
  /** A time-ordered integer, larger than every one before it, whatever the sandbox clock does. */
  newId(): number
  /** Notes an identifier that exists already, so that new ones are larger. */
  seenId(id: number): void
  /** A number of [0, 1). */
  random(): number
  /** 32 secret bytes, base64url (43 characters). */
  newSecret(): string
  /** HMAC-SHA256 of `text` under the key of this install, base64url: a secret that need not be stored. */
  sign(text: string): string
  /** An Ed25519 signature under the key of this install, and the key to check it with; both base64url. */
  signPublicly(text: string): { signature: string; public_key: string }
  /** SHA-256 of `text`. */
  sha256(text: string): Buffer
  sha256Hex(text: string): string
  /** Compares two hashes in constant time. */
  equals(one: Uint8Array, other: Uint8Array): boolean
}

/** SHA-256 of UTF-8 text. */
export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** SHA-256 of UTF-8 text as 64 hexadecimal digits. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex')
}

/** 2026-01-01T00:00:00Z: identifiers count milliseconds from here, times 4096, plus a counter. */
const idEpoch_ms = Date.UTC(2026, 0, 1)
const idsPerMs = 4096
const mostSignatures = 256

/**
 * Returns the platform of one sandbox. `signingKey` is the key of the install, at least 32 bytes. With a `seed`,
 * identifiers, tokens and randomness are the same in every run.
 */
export function createPlatform(options: { clock?: Clock; seed?: number | null; signingKey: Uint8Array }): Platform {
  const seed = options.seed ?? null
  const key = seed === null ? options.signingKey : createHash('sha256').update(`seed:${seed}`).digest()
  const random = seed === null ? Math.random : seededRandom(seed)
  let lastId = 0
  /** The token of a fill is signed for its decision and again for the response, with others in between: cached. */
  const signatures = new Map<string, string>()
  let secrets = 0
  let publicSigner: { key: KeyObject; public_key: string } | undefined
  return {
    clock: options.clock ?? sandboxClock(),
    seed,
    newId() {
      const now = seed === null ? (Date.now() - idEpoch_ms) * idsPerMs : 0
      lastId = now > lastId ? now : lastId + 1
      return lastId
    },
    seenId(id) {
      if (id > lastId) lastId = id
    },
    random,
    newSecret: () =>
      seed === null
        ? randomBytes(32).toString('base64url')
        : createHmac('sha256', key).update(`secret:${++secrets}:${lastId}`).digest('base64url'),
    sign(text) {
      const known = signatures.get(text)
      if (known !== undefined) return known
      const signature = createHmac('sha256', key).update(text).digest('base64url')
      if (signatures.size >= mostSignatures) signatures.clear()
      signatures.set(text, signature)
      return signature
    },
    signPublicly(text) {
      publicSigner ??= ed25519(createHmac('sha256', key).update('evidence checkpoints').digest())
      const signature = signWith(null, Buffer.from(text), publicSigner.key).toString('base64url')
      return { signature, public_key: publicSigner.public_key }
    },
    sha256,
    sha256Hex,
    equals: (one, other) => one.length === other.length && timingSafeEqual(one, other),
  }
}

/** What precedes the 32 bytes of an Ed25519 private key in PKCS 8 (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Returns the key pair of 32 secret bytes. */
function ed25519(secret: Uint8Array): { key: KeyObject; public_key: string } {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Head, secret]), format: 'der', type: 'pkcs8' })
  return { key, public_key: createPublicKey(key).export({ format: 'jwk' }).x! }
}

/** mulberry32: a small generator with a period of 2^32, enough for simulated latency and fill. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
