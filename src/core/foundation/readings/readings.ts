/**
 * What foreign text says beyond its letters: the texts that it becomes once its encodings are undone, in any order, one within the
 * other. Undone are escapes of JSON and scripts, percent signs, entities, base64 of both alphabets (in lines too, and behind other
 * characters), hexadecimal digits, UTF-16, and gzip, zlib, deflate, Brotli and zstd at the beginning of bytes. Within bytes that are no
 * text, what can be read is.
 *
 * The work is limited: by the depth, and by bytes in proportion to the text. It reads bytes as latin1, so that each is one character.
 */
import { isUtf8 } from 'node:buffer'
import { isReadable, isUndecodable, type ReadingBudget, unpack } from './compressed.ts'
import { everyEscape, hasEscapes, listUnescaped } from './escapes.ts'

/** The maximum number of encodings, one within the other, that are undone. */
const maxEncodings = 5

const budgetPerCharacter = 24

/** Returns what the readings of a text may take. @param least for what is unpacked from little, bytes */
export function createReadingBudget(length: number, least = 65_536): ReadingBudget {
  return { left: least + budgetPerCharacter * length, hasUnpacked: false, hasUndecodable: false }
}

/** Yields the text itself, and each of its readings. @param bytes as latin1, or ASCII */
export function* readAll(bytes: string, budget: ReadingBudget, depth = maxEncodings): Generator<string> {
  budget.left -= bytes.length
  if (budget.left < 0) return
  const text = readText(bytes.includes('\0') ? bytes.replaceAll('\0', '') : bytes)
  if (text !== '') yield text
  if (depth === 0) return
  if (!isReadable(bytes)) {
    const unpacked = unpack(Buffer.from(bytes, 'latin1'), budget)
    budget.hasUnpacked ||= unpacked !== null
    budget.hasUndecodable ||= isUndecodable(bytes)
    if (unpacked !== null) yield* readAll(unpacked.toString('latin1'), budget, depth - 1)
  }
  if (text === '') return
  for (const inner of undo(toBytes(text))) yield* readAll(inner, budget, depth - 1)
}

/** Returns what stands in place of a piece by one of its readings; null to keep it. */
type Find = (reading: string, piece: string) => string | null

/** What is found in a piece of which not all can be read. */
const unread = '[redacted]'

/**
 * Returns a text with each of its pieces replaced that has a reading, beyond the piece itself, for which `find` returns what stands in
 * its place: from the smallest pieces on, so that what is found in one is not looked for in those around it. @param isPiece whether all
 * of it is one too
 */
export function replaceEncoded(text: string, find: Find, isPiece = false): string {
  if (text.length < minRun && !hasEscapes(text)) return text
  const budget = createReadingBudget(text.length)
  // A piece of one kind is often one of another kind too.
  const clean = new Set<string>()
  const replace = (piece: string) => {
    if (clean.has(piece)) return null
    for (const reading of listReadings(piece, budget)) {
      const found = find(reading, piece)
      if (found !== null) return found
    }
    if (budget.left < 0) return unread
    clean.add(piece)
    return null
  }
  let kept = replacePieces(text, listRuns(text), replace)
  if (!hasEscapes(kept)) return kept
  for (const kind of kinds) kept = replacePieces(kept, listPieces(kept, kind), replace)
  return isPiece ? (replace(kept) ?? kept) : kept
}

interface Span {
  from: number
  to: number
}

function replacePieces(text: string, spans: Iterable<Span>, replace: (piece: string) => string | null): string {
  let replaced = ''
  let copied = 0
  for (const { from, to } of spans) {
    const kept = replace(text.slice(from, to))
    if (kept === null) continue
    replaced += text.slice(copied, from) + kept
    copied = to
  }
  return copied === 0 ? text : replaced + text.slice(copied)
}

/** Those of words, most of which have none. */
const cache = new Map<string, readonly string[]>()
const maxCached = 4_096
const maxCachedLength = 256

/** Returns the readings of a piece beyond itself. */
function listReadings(piece: string, budget: ReadingBudget): Iterable<string> {
  if (piece.length > maxCachedLength) return readBeyond(piece, budget)
  const known = cache.get(piece)
  if (known !== undefined) return known
  const readings = [...readBeyond(piece, budget)]
  if (budget.left < 0) return readings
  if (cache.size >= maxCached) cache.clear()
  // A copy: a part of a text holds all of it in memory.
  cache.set(Buffer.from(piece, 'utf16le').toString('utf16le'), readings)
  return readings
}

function* readBeyond(piece: string, budget: ReadingBudget): Generator<string> {
  for (const reading of readAll(toBytes(piece), budget)) if (reading !== piece) yield reading
}

/** The characters of base64 and of hexadecimal digits. */
const base64Characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_'
const ofRun = markCharacters(base64Characters)

function markCharacters(characters: string): Uint8Array {
  const marks = new Uint8Array(0x10000)
  for (const each of characters) marks[each.charCodeAt(0)] = 1
  return marks
}

function isMarked(marks: Uint8Array, text: string, at: number): boolean {
  return at >= 0 && at < text.length && marks[text.charCodeAt(at)] === 1
}

/** The length of a run that is read: `{"pin":1234}` in base64. */
const minRun = 16
const lineBreak = /[\r\n]{1,4}[ \t]{0,16}/y

/** Returns the places of words in base64 or in hexadecimal digits, in any number of lines. */
function listRuns(text: string): Span[] {
  const runs: Span[] = []
  const { length } = text
  for (let at = 0; at < length; at++) {
    if (ofRun[text.charCodeAt(at)] === 0) continue
    const from = at
    for (;;) {
      do at++
      while (at < length && ofRun[text.charCodeAt(at)] === 1)
      const code = text.charCodeAt(at)
      if (code !== 0x0a && code !== 0x0d) break
      lineBreak.lastIndex = at
      const next = at + lineBreak.exec(text)![0].length
      if (next >= length || ofRun[text.charCodeAt(next)] === 0) break
      at = next
    }
    if (at - from < minRun) continue
    for (let padding = 0; padding < 2 && text[at] === '='; padding++) at++
    runs.push({ from, to: at })
  }
  return runs
}

/** A kind of piece in which escapes are undone together. */
interface PieceKind {
  /** The characters that end it. */
  ends: Uint8Array
  /** The characters around it; null for any. */
  around: readonly [before: string, after: string] | null
}

const ofWord = ' \t\r\n"\'`<>'
const kinds: readonly PieceKind[] = [
  // A value of an address, and a word.
  { ends: markCharacters(`${ofWord}?&#;,=`), around: null },
  { ends: markCharacters(ofWord), around: null },
  // A literal of a script, and what is between two tags.
  { ends: markCharacters('"\n'), around: ['"', '"'] },
  { ends: markCharacters("'\n"), around: ["'", "'"] },
  { ends: markCharacters('`'), around: ['`', '`'] },
  { ends: markCharacters('<>'), around: ['>', '<'] },
]

/** Yields the places of the pieces of a kind that have escapes. */
function* listPieces(text: string, kind: PieceKind): Generator<Span> {
  let looked = 0
  for (const { index } of text.matchAll(everyEscape)) {
    if (index < looked || isEnd(text, index, kind)) continue
    const from = findStart(text, index, looked, kind)
    const to = findEnd(text, index, kind)
    looked = to
    const { around } = kind
    if (around === null || (text[from - 1] === around[0] && text[to] === around[1])) yield { from, to }
  }
}

function findStart(text: string, at: number, least: number, kind: PieceKind): number {
  let from = at
  while (from > least && (!isEnd(text, from - 1, kind) || (kind.around !== null && text[from - 2] === '\\'))) from--
  return from
}

/** An escaped quote is within a literal, and ends a word. */
function findEnd(text: string, at: number, kind: PieceKind): number {
  let to = at
  while (to < text.length) {
    if (text[to] === '\\') {
      if (kind.around === null && to + 1 < text.length && isEnd(text, to + 1, kind)) return to
      to += 2
    } else if (isEnd(text, to, kind)) return to
    else to++
  }
  return text.length
}

/** Base64 in a word can have lines. */
function isEnd(text: string, at: number, { ends }: PieceKind): boolean {
  if (!isMarked(ends, text, at)) return false
  const code = text.charCodeAt(at)
  if ((code !== 0x0a && code !== 0x0d) || ends[0x20] !== 1) return true
  const before = code === 0x0a && text[at - 1] === '\r' ? at - 2 : at - 1
  const after = code === 0x0d && text[at + 1] === '\n' ? at + 2 : at + 1
  return !isMarked(ofLine, text, before) || !isMarked(ofLine, text, after)
}

const ofLine = markCharacters(`${base64Characters}%\\`)

/** Returns a text as UTF-8, each byte as one character. */
function toBytes(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1')
}

/** Chance makes few texts of so many characters from other bytes. */
const readable = /[\t\r\n\x20-\x7e]{8}[\t\r\n\x20-\x7e]*/g

/** Returns the text of bytes; of those that are none, what can be read in them. */
function readText(bytes: string): string {
  if (isReadable(bytes)) return bytes
  const buffer = Buffer.from(bytes, 'latin1')
  if (!/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(bytes) && isUtf8(buffer)) return buffer.toString()
  return (bytes.match(readable) ?? []).join('\n')
}

/** Yields the bytes that a text encodes. */
function* undo(text: string): Generator<string> {
  yield* listUnescaped(text)
  for (const { from, to } of listRuns(text)) {
    const word = text.slice(from, to).replace(/[\s=]+/g, '')
    if (word.length >= minRun) yield* decodeRun(word)
  }
}

/** The length of an address before such a part. */
const maxPathStart = 128
/** An address has no more parts before one that is base64. */
const maxParts = 8

/** Characters before the encoding can belong to base64 too, or to the digits: each position may be the first, and so is each part of a path. */
function* decodeRun(word: string): Generator<string> {
  for (let from = 0; from < 4; from++) yield Buffer.from(word.slice(from), 'base64').toString('latin1')
  const slashes = [...word.slice(0, maxPathStart).matchAll(/\/(?!\/)/g)].slice(0, maxParts)
  for (const { index } of slashes) {
    if (index > 2 && word.length - index > minRun) yield Buffer.from(word.slice(index + 1), 'base64').toString('latin1')
  }
  for (const [digits] of word.matchAll(hexDigits)) {
    yield Buffer.from(digits, 'hex').toString('latin1')
    yield Buffer.from(digits.slice(1), 'hex').toString('latin1')
  }
}

const hexDigits = /[\da-f]{16,}/gi
