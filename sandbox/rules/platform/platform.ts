/** The effects that pure rules must not have: reading the clock, creating identifiers and randomness, signing and hashing. */
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
  /** Notes an existing identifier, so that new ones are larger. */
  reserveIdsUpTo(id: number): void
  /** A number of [0, 1). */
  random(): number
  /** 32 secret bytes, base64url (43 characters). */
  newSecret(): string
  /**
   * The secret of a slot's asset token, which need not be stored, and its SHA-256: HMAC-SHA256 of the slot's number under
   * the key of this install, base64url (A05).
   */
  assetSecret(slot_id: number): DerivedSecret
  /** An Ed25519 signature under the key of this install, and the key to check it with; both base64url. */
  signPublicly(text: string): { signature: string; public_key: string }
  /** HMAC-SHA256 of UTF-8 text under the UTF-8 text of a key, 64 lower-case hexadecimal digits. */
  hmacSha256Hex(key: string, text: string): string
  sha256(text: string): Buffer
  /** SHA-256 of `text`, base64url (43 characters). */
  digest(text: string): string
  sha256Hex(text: string): string
  /** Compares two hashes in constant time. */
  equals(one: Uint8Array, other: Uint8Array): boolean
}

interface DerivedSecret {
  secret: string
  hash: Buffer
}

/**
 * SHA-256 of UTF-8 text. Goes through a string: a buffer created in native code has its own memory, at three times the
 * cost.
 */
export function sha256(text: string): Buffer {
  return Buffer.from(hash('sha256', text, 'latin1'), 'latin1')
}

/** SHA-256 of UTF-8 text as 64 hexadecimal digits. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex')
}

/** SHA-256 of UTF-8 text, base64url. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** 2026-01-01T00:00:00Z: identifiers count milliseconds from here, times 4096, plus a counter. */
const idEpochMs = Date.UTC(2026, 0, 1)
const idsPerMs = 4096
/** The most nodes that share a database: an identifier modulo this is the number of the node that created it. */
const maxNodes = 64
const maxDerivedSecrets = 256
/** The length of the longest text that is signed, in characters. */
const maxSignedCharacters = 64

interface PlatformOptions {
  clock?: Clock
  seed?: number | null
  /** The key of the install, at least 32 bytes. */
  signingKey: Uint8Array
  /** Returns the number of this node among those that share the database, below 64; null when it is alone. */
  node?: () => number | null
}

/**
 * Returns the platform of one sandbox. With a `seed`, identifiers, tokens and randomness are the same in every run.
 * Nodes that share a database create different identifiers: a node's identifiers end with its number, 64 each
 * millisecond, and a node that needs more takes them from the next one.
 */
export function createPlatform(options: PlatformOptions): Platform {
  const seed = options.seed ?? null
  const readNode = seed === null ? options.node : undefined
  const key = seed === null ? options.signingKey : createHash('sha256').update(`seed:${seed}`).digest()
  const random = seed === null ? Math.random : seededRandom(seed)
  const hmac = hmacSha256(key)
  let lastId = 0
  /** Cached: the token of a fill is derived for its decision and again for the response, with others in between. */
  const derived = new Map<number, DerivedSecret>()
  let secrets = 0
  let publicSigner: { key: KeyObject; public_key: string } | undefined
  return {
    clock: options.clock ?? sandboxClock(),
    seed,
    newId() {
      const now = seed === null ? (Date.now() - idEpochMs) * idsPerMs : 0
      lastId = now > lastId ? now : lastId + 1
      const node = readNode?.() ?? null
      if (node !== null) lastId += (maxNodes + node - (lastId % maxNodes)) % maxNodes
      return lastId
    },
    reserveIdsUpTo(id) {
      if (id > lastId) lastId = id
    },
    random,
    newSecret: () => (seed === null ? randomBytes(32).toString('base64url') : hmac(`secret:${++secrets}:${lastId}`)),
    assetSecret(slot_id) {
      const known = derived.get(slot_id)
      if (known !== undefined) return known
      const secret = hmac(`ast:${slot_id}`)
      const created = { secret, hash: sha256(secret) }
      if (derived.size >= maxDerivedSecrets) derived.clear()
      derived.set(slot_id, created)
      return created
    },
    signPublicly(text) {
      publicSigner ??= ed25519(Buffer.from(hmac('evidence checkpoints'), 'base64url'))
      const signature = signWith(null, Buffer.from(text), publicSigner.key).toString('base64url')
      return { signature, public_key: publicSigner.public_key }
    },
    hmacSha256Hex: (secret, text) => createHmac('sha256', secret).update(text).digest('hex'),
    sha256,
    digest,
    sha256Hex,
    equals: (one, other) => one.length === other.length && timingSafeEqual(one, other),
  }
}

const blockBytes = 64
const digestBytes = 32

/**
 * Returns HMAC-SHA256 (RFC 2104) under a key of at most 64 bytes, from short ASCII text to base64url. Two plain hashes
 * cost a quarter of what an Hmac object does, which every placement would create.
 */
function hmacSha256(key: Uint8Array): (text: string) => string {
  if (key.length > blockBytes) throw new RangeError(`the key has ${key.length} bytes, more than ${blockBytes}`)
  const inner = Buffer.alloc(blockBytes + maxSignedCharacters, 0x36)
  const outer = Buffer.alloc(blockBytes + digestBytes, 0x5c)
  for (const [index, byte] of key.entries()) {
    inner[index]! ^= byte
    outer[index]! ^= byte
  }
  return (text) => {
    if (text.length > maxSignedCharacters) throw new RangeError(`the text has ${text.length} characters`)
    const end = blockBytes + inner.write(text, blockBytes, 'latin1')
    outer.write(hash('sha256', inner.subarray(0, end), 'latin1'), blockBytes, 'latin1')
    return hash('sha256', outer, 'base64url')
  }
}

/** The bytes before the 32 bytes of an Ed25519 private key in PKCS 8 (RFC 8410). */
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
