/**
 * Secrets of a session that no pattern finds: tokens that a service shapes in its own way, prompt texts that a response
 * repeats, addresses of e-mail. Each is learnt from a field or header that is known to have it, and replaced wherever it
 * occurs, in every exchange that is written after it.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { escapeHtml } from '#foundation/html.ts'
import { replaceEncoded } from '#foundation/readings/readings.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { encodeInteger } from '../ids.ts'
import { isJsonLike } from './json-strings.ts'
import { replaceJsonTexts } from './json-texts.ts'
import { replaceSignedTokens } from './secret-shapes.ts'

export interface SecretMemory {
  /** Learns a token or key. `kind` is the prefix in place of one that it does not have. Known shapes need no learning. */
  collectSecret(secret: string, kind: string): void
  /** Learns what an exchange authenticated with. A short one is found as a word, and as a whole value if it could be a word of a language or is a number. */
  collectCredential(secret: string): void
  /** Learns a text, and what stands in its place. Short ones would be found in the middle of other words. */
  collectFromText(text: string, replacement: string): void
  /** Whether bytes have something that was learnt, as it is. */
  isWithin(bytes: string): boolean
  /** Returns a text with everything that was learnt, in every encoding, and every signed token replaced. */
  replace(text: string): string
}

/** The length of the beginnings by which secrets are found, which is that of the shortest one. */
const startLength = 8
/** Prompt texts, of which a session has any number. */
const maxTexts = 2_000
/** The spellings of secrets that are kept word for word. A service can send any number of tokens. */
const maxSecrets = 20_000

export function createSecretMemory(key: Buffer = randomBytes(32)): SecretMemory {
  const index = createIndex()
  const texts: string[][] = []
  const words = createWords()
  const replaceText = (text: string): string => {
    const plain = words.replace(index.replace(text))
    const kept = replaceEncoded(plain, (reading) => index.find(reading) ?? words.find(reading))
    return replaceSignedTokens(kept, (token) => nameSecret(token, 'jwt', key))
  }
  return {
    collectSecret(secret, kind) {
      if (index.has(secret) || redactSecrets(secret) !== secret || secret.endsWith('redacted')) return
      if (isNumber(secret)) return words.add(secret, nameSecret(secret, kind, key))
      const replacement = nameSecret(secret, kind, key)
      for (const spelling of listSpellings(secret)) index.addSecret(spelling, replacement)
    },
    collectCredential(secret) {
      // A file can have been redacted before.
      if (/redacted\]?$/.test(secret)) return
      if (secret.length >= minCredential) this.collectSecret(secret, 'tok')
      else words.add(secret, nameSecret(secret, 'tok', key))
    },
    collectFromText(text, replacement) {
      const added = listSpellings(text).filter((spelling) => index.add(spelling, replacement, true))
      if (added.length === 0) return
      texts.push(added)
      if (texts.length <= maxTexts) return
      for (const spelling of texts.shift() ?? []) index.remove(spelling)
    },
    isWithin: (bytes) => index.find(bytes) !== null,
    replace: (text) => (isJsonLike(text) ? replaceJsonTexts(text, replaceText) : replaceText(text)),
  }
}

/** Digits are in times and addresses too, so they are no secret within other text. */
function isNumber(text: string): boolean {
  return /^\d+$/.test(text)
}

/** Credentials that are too short to be looked for within other text. */
interface Words {
  add(word: string, replacement: string): void
  find(text: string): string | null
  replace(text: string): string
}

/** At least this long they are found wherever they occur. */
const minCredential = 12
const maxWords = 4_096

function createWords(): Words {
  const others = createWordSet(/(?<![\w-]|$)|(?<=\\[bfnrt])(?!$)/g, /(?![\w-])/y)
  /** Those of letters, and numbers: other parts of an exchange can have them too, so they are found as whole values. */
  const values = createWordSet(/(?<=["'=>]|^)(?!$)/g, /(?=["'&<\\]|$)/y)
  let count = 0
  return {
    add(word, replacement) {
      const isDigits = isNumber(word)
      const kept = isDigits || /^\p{L}+$/u.test(word) ? values : others
      if (word.length < (isDigits ? 4 : 6) || kept.has(word) || count++ >= maxWords) return
      kept.add(word, replacement)
      // It is too short for a reading in base64.
      others.add(Buffer.from(word).toString('base64url'), replacement)
    },
    find: (text) => others.find(text) ?? values.find(text),
    replace: (text) => values.replace(others.replace(text)),
  }
}

/** Words of few lengths: where one may begin, each length is looked up once. */
function createWordSet(start: RegExp, end: RegExp) {
  const replacements = new Map<string, string>()
  const lengths = new Set<number>()
  const starts = new Uint8Array(65_536)
  function* locate(text: string): Generator<Found> {
    if (replacements.size === 0) return
    let copied = 0
    for (const { index: at } of text.matchAll(start)) {
      if (at < copied || starts[hashStart(text, at)] === 0) continue
      for (const length of lengths) {
        const replacement = replacements.get(text.slice(at, at + length))
        end.lastIndex = at + length
        if (replacement === undefined || at + length > text.length || !end.test(text)) continue
        copied = at + length
        yield { at, length, replacement }
        break
      }
    }
  }
  return {
    has: (word: string) => replacements.has(word),
    add(word: string, replacement: string): void {
      replacements.set(copy(word), replacement)
      lengths.add(word.length)
      starts[hashStart(word, 0)] = 1
    },
    find(text: string): string | null {
      for (const { replacement } of locate(text)) return replacement
      return null
    },
    replace(text: string): string {
      const parts: string[] = []
      let copied = 0
      for (const { at, length, replacement } of locate(text)) {
        parts.push(text.slice(copied, at), replacement)
        copied = at + length
      }
      return copied === 0 ? text : parts.join('') + text.slice(copied)
    },
  }
}

interface Index {
  has(spelling: string): boolean
  /** Returns whether a spelling is new. */
  add(spelling: string, replacement: string, isText: boolean): boolean
  /** Adds the spelling of a secret, or beyond the limits its beginning alone. */
  addSecret(spelling: string, replacement: string): void
  remove(spelling: string): void
  /** Returns what stands in place of the first spelling in a text; null without one. */
  find(text: string): string | null
  /** Returns a text with every spelling replaced. */
  replace(text: string): string
}

/** Where a text has a spelling. */
interface Found {
  at: number
  length: number
  replacement: string
}

function createIndex(): Index {
  const byStart = new Map<string, Bucket>()
  /** Marks the hash of the first four characters of each spelling: most places of a text need no look at the map. */
  const starts = new Uint8Array(65_536)
  /** The beginnings of the secrets beyond `maxSecrets`: everything that begins so is one. */
  const crowded = createStartSet()
  let secrets = 0
  const locate = (text: string, from: number, budget: { left: number }): Found | null => {
    let pair = hashPair(text, from)
    let next = hashPair(text, from + 1)
    for (let at = from; at + startLength <= text.length; at++) {
      const third = hashPair(text, at + 2)
      const hash = (pair * 961 + third) & 0xffff
      pair = next
      next = third
      if (starts[hash] === 0) continue
      const start = text.slice(at, at + startLength)
      const bucket = byStart.get(start) ?? (crowded.has(start) ? onlyCrowded : null)
      const found = bucket === null ? null : findSpelling(bucket, text, at, budget)
      if (found !== null) return { at, ...found }
    }
    return null
  }
  return {
    has: (spelling) => byStart.get(spelling.slice(0, startLength))?.spellings.has(spelling) === true,
    add(spelling, replacement, isText) {
      const start = spelling.slice(0, startLength)
      const known = byStart.get(start)
      if (spelling.length < startLength || this.has(spelling)) return false
      const bucket = known ?? createBucket()
      if (known === undefined) byStart.set(copy(start), bucket)
      bucket.spellings.set(copy(spelling), replacement)
      bucket.hasText ||= isText
      if (!bucket.lengths.has(spelling.length)) bucket.longest = null
      bucket.lengths.add(spelling.length)
      starts[hashStart(spelling, 0)] = 1
      return true
    },
    addSecret(spelling, replacement) {
      const start = spelling.slice(0, startLength)
      const bucket = byStart.get(start)
      if (this.has(spelling)) return
      if (bucket !== undefined && bucket.lengths.size >= maxLengths) bucket.isCrowded = true
      else if (secrets < maxSecrets) secrets += this.add(spelling, replacement, false) ? 1 : 0
      else if (spelling.length >= startLength) {
        crowded.add(start)
        starts[hashStart(spelling, 0)] = 1
      }
    },
    remove(spelling) {
      const start = spelling.slice(0, startLength)
      const bucket = byStart.get(start)
      bucket?.spellings.delete(spelling)
      if (bucket?.spellings.size === 0 && !bucket.isCrowded) byStart.delete(start)
    },
    find: (text) => locate(text, 0, { left: minBudget + 4 * text.length })?.replacement ?? null,
    replace(text) {
      const parts: string[] = []
      const budget = { left: minBudget + 4 * text.length }
      let copied = 0
      for (let found = locate(text, 0, budget); found !== null; found = locate(text, copied, budget)) {
        parts.push(text.slice(copied, found.at), found.replacement)
        copied = found.at + found.length
      }
      return copied === 0 ? text : parts.join('') + text.slice(copied)
    },
  }
}

/** A part of a text holds all of it in memory. A copy does not. */
function copy(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

/** The spellings with the same beginning. */
interface Bucket {
  /** Each with its replacement. */
  spellings: Map<string, string>
  /** Those that occur. */
  lengths: Set<number>
  /** The lengths, the longest first; null until they are needed. */
  longest: readonly number[] | null
  /** Whether one of them is a text of several words. */
  hasText: boolean
  /** Whether secrets of more lengths were learnt than are looked for: everything with this beginning is one then. */
  isCrowded: boolean
}

function createBucket(isCrowded = false): Bucket {
  return { spellings: new Map(), lengths: new Set(), longest: null, hasText: false, isCrowded }
}

const onlyCrowded = createBucket(true)

/** A service that sends secrets of more lengths with one beginning means to slow the search down. */
const maxLengths = 64
/** Comparisons that a search may take, and four for each character. Beyond it everything with a known beginning is a secret. */
const minBudget = 50_000
/** Characters that a comparison hashes. */
const comparedLength = 32
const restOfWord = /[^\s"'<>&\\]*/y

function findSpelling(bucket: Bucket, text: string, at: number, budget: { left: number }): Omit<Found, 'at'> | null {
  if (!bucket.isCrowded && budget.left > 0) {
    bucket.longest ??= [...bucket.lengths].sort((one, other) => other - one)
    for (const length of bucket.longest) {
      if (at + length > text.length) continue
      budget.left -= 1 + Math.floor(length / comparedLength)
      const replacement = bucket.spellings.get(text.slice(at, at + length))
      if (replacement !== undefined) return { length, replacement }
      if (budget.left <= 0) break
    }
    if (budget.left > 0) return null
  }
  restOfWord.lastIndex = at
  const end = bucket.hasText ? findTextEnd(text, at) : at + restOfWord.exec(text)![0].length
  return { length: Math.max(startLength, end - at), replacement: 'redacted' }
}

/** Returns the offset of what ends a text in JSON or HTML. */
function findTextEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5c && text.charCodeAt(at + 1) !== 0x22) at++
    else if (code === 0x22 || code === 0x3c || code === 0x5c) return at
  }
  return text.length
}

/** A set of beginnings in 1 MB, whatever their number. It can have one that was not added: one of a thousand with 200,000 in it. */
function createStartSet(): { add(start: string): void; has(start: string): boolean } {
  let bits: Uint8Array | null = null
  const places = (start: string) => {
    let hash = 0x811c9dc5
    for (let at = 0; at < startLength; at++) hash = Math.imul(hash ^ start.charCodeAt(at), 0x01000193)
    return [hash & 0x7fffff, Math.imul(hash, 0x9e3779b1) >>> 9]
  }
  return {
    add(start) {
      bits ??= new Uint8Array(0x100000)
      for (const place of places(start)) bits[place >> 3]! |= 1 << (place & 7)
    },
    has: (start) => bits !== null && places(start).every((place) => (bits![place >> 3]! & (1 << (place & 7))) !== 0),
  }
}

function hashStart(text: string, at: number): number {
  return (hashPair(text, at) * 961 + hashPair(text, at + 2)) & 0xffff
}

function hashPair(text: string, at: number): number {
  return text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)
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

/**
 * Returns what stands in place of a token: the same for every occurrence in a recording, another in the next one. Its form is
 * that of a redacted token of the sandbox, so that whatever follows a placement by its token can.
 */
function nameSecret(secret: string, kind: string, key: Buffer): string {
  const prefix = /^([a-z]{2,8})_/i.exec(secret)?.[1]?.toLowerCase() ?? kind
  const digest = createHmac('sha256', key).update(secret).digest()
  return `${prefix}_${encodeInteger(digest.readUIntBE(0, 6))}_redacted`
}
