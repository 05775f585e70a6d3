/**
 * Secrets of a session that no pattern finds: tokens that a service shapes in its own way, prompt texts that a response
 * repeats, addresses of e-mail. Each is learnt from a field or header that is known to have it, and replaced wherever it
 * occurs, in every exchange that is written after it.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { encodeInteger } from '#contract/ids.ts'
import { replaceSignedTokens } from '#contract/recordings/secret-names.ts'
import { escapeHtml } from '#foundation/html.ts'
import { redactSecrets } from '#foundation/redaction.ts'

export interface SecretMemory {
  /** Learns a token or key. `kind` is the prefix in place of one that it does not have. Known shapes need no learning. */
  learnSecret(secret: string, kind: string): void
  /** Learns what an exchange authenticated with: it is found in base64 too. */
  learnCredential(secret: string): void
  /** Learns a text, and what stands in its place. Short ones would be found in the middle of other words. */
  learnText(text: string, replacement: string): void
  /** Returns a text with everything that was learnt, in every spelling, and every signed token replaced. */
  replace(text: string): string
}

/** The length of the beginnings by which secrets are found, which is that of the shortest one. */
const startLength = 8
/** Prompt texts, of which a session has any number. */
const maxTexts = 2_000

export function createSecretMemory(key: Buffer = randomBytes(32)): SecretMemory {
  const byStart = new Map<string, Bucket>()
  /** Marks the hash of the first four characters of each spelling: most places of a text need no look at the map. */
  const starts = new Uint8Array(65_536)
  const known = new Set<string>()
  const texts: string[][] = []

  const add = (spelling: string, replacement: string) => {
    if (spelling.length < startLength || known.has(spelling)) return false
    known.add(spelling)
    const start = spelling.slice(0, startLength)
    const bucket: Bucket = byStart.get(start) ?? { spellings: new Map(), lengths: [], isCrowded: false }
    byStart.set(start, bucket)
    bucket.spellings.set(spelling, replacement)
    if (!bucket.lengths.includes(spelling.length)) {
      bucket.lengths.push(spelling.length)
      bucket.lengths.sort((one, other) => other - one)
    }
    starts[hashStart(spelling, 0)] = 1
    return true
  }
  const addSecret = (spelling: string, replacement: string) => {
    const bucket = byStart.get(spelling.slice(0, startLength))
    if (bucket !== undefined && bucket.lengths.length >= maxLengths) bucket.isCrowded = true
    else add(spelling, replacement)
  }
  const remove = (spelling: string) => {
    known.delete(spelling)
    const start = spelling.slice(0, startLength)
    const bucket = byStart.get(start)
    bucket?.spellings.delete(spelling)
    if (bucket?.spellings.size === 0 && !bucket.isCrowded) byStart.delete(start)
  }

  return {
    learnSecret(secret, kind) {
      if (redactSecrets(secret) !== secret || secret.endsWith('redacted')) return
      const replacement = nameSecret(secret, kind, key)
      for (const spelling of listSpellings(secret)) addSecret(spelling, replacement)
    },
    learnCredential(secret) {
      this.learnSecret(secret, 'tok')
      for (const spelling of listBase64(secret)) addSecret(spelling, nameSecret(secret, 'tok', key))
    },
    learnText(text, replacement) {
      const added = listSpellings(text).filter((spelling) => add(spelling, replacement))
      if (added.length === 0) return
      texts.push(added)
      if (texts.length > maxTexts) for (const spelling of texts.shift() ?? []) remove(spelling)
    },
    replace(text) {
      let replaced = ''
      let copied = 0
      for (let at = 0; known.size > 0 && at + startLength <= text.length; at++) {
        if (starts[hashStart(text, at)] === 0) continue
        const bucket = byStart.get(text.slice(at, at + startLength))
        const found = bucket === undefined ? null : findSpelling(bucket, text, at)
        if (found === null) continue
        replaced += text.slice(copied, at) + found.replacement
        copied = at + found.length
        at = copied - 1
      }
      const kept = copied === 0 ? text : replaced + text.slice(copied)
      return replaceSignedTokens(kept, (token) => nameSecret(token, 'jwt', key))
    },
  }
}

/** The spellings with the same beginning. */
interface Bucket {
  /** Each with its replacement. */
  spellings: Map<string, string>
  /** Those that occur, the longest first. */
  lengths: number[]
  /** Whether secrets of more lengths were learnt than are looked for: everything with this beginning is one then. */
  isCrowded: boolean
}

/** A service that sends secrets of more lengths with one beginning means to slow the search down. */
const maxLengths = 64
const restOfWord = /[^\s"'<>&\\]*/y

function findSpelling(
  { spellings, lengths, isCrowded }: Bucket,
  text: string,
  at: number,
): { length: number; replacement: string } | null {
  if (isCrowded) {
    restOfWord.lastIndex = at
    return { length: Math.max(startLength, restOfWord.exec(text)![0].length), replacement: 'redacted' }
  }
  for (const length of lengths) {
    const replacement = at + length > text.length ? undefined : spellings.get(text.slice(at, at + length))
    if (replacement !== undefined) return { length, replacement }
  }
  return null
}

function hashStart(text: string, at: number): number {
  const first = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)
  const second = text.charCodeAt(at + 2) * 31 + text.charCodeAt(at + 3)
  return (first * 961 + second) & 0xffff
}

/** A text as it occurs in headers, JSON, HTML and URLs. */
function listSpellings(text: string): string[] {
  const inJson = JSON.stringify(text).slice(1, -1)
  const inAscii = inJson.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const inUrl = encodeURIComponent(text.toWellFormed())
  const all = [
    text,
    inJson,
    inAscii,
    inJson.replaceAll('/', '\\/'),
    escapeHtml(text),
    inUrl,
    inUrl.replaceAll('%20', '+'),
  ]
  return [...new Set(all)]
}

/** A text as it occurs within base64, by its place in a group of three bytes. What depends on its neighbours is left out. */
function listBase64(text: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)])
    const first = Math.ceil((before * 8) / 6)
    const end = Math.floor((bytes.length * 8) / 6)
    return [...new Set([bytes.toString('base64'), bytes.toString('base64url')])].map((all) => all.slice(first, end))
  })
}

/**
 * Returns what stands in place of a token: the same for every occurrence in a recording, another in the next one. Its form is
 * that of a redacted token of the sandbox, so that whatever follows a placement by its token can.
 */
function nameSecret(secret: string, kind: string, key: Buffer): string {
  const prefix = /^([a-z]{2,8})_/i.exec(secret)?.[1]?.toLowerCase() ?? kind
  const digest = createHmac('sha256', key).update(secret).digest()
  return `${prefix}_${encodeInteger(digest.readUIntBE(0, 6))}_redacted`
}
