/**
 * The text of bytes that a user gave: UTF-8, with or without a byte order mark, or UTF-16 with one, as Windows programs
 * write it. Nothing is replaced: text that is damaged is refused with the place of the damage.
 */

/** Bytes that cannot be read as text. The message is a sentence about "it", without a full stop. */
export class TextError extends Error {
  override readonly name: string = 'TextError'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** Bytes that are not text. The message has the place. */
export class EncodingError extends TextError {
  override readonly name = 'EncodingError'
  /** The first wrong byte, from 0. */
  readonly offset: number
  /** Its line, from 1. */
  readonly line: number
  /** The message without the place. */
  readonly what: string

  constructor(what: string, offset: number, textBefore: string) {
    const line = textBefore.split('\n').length
    const hint = 'Save it as UTF-8, or as UTF-16 with a byte order mark.'
    super(`${what}, at byte offset ${offset} (line ${line})`, hint)
    this.what = what
    this.offset = offset
    this.line = line
  }
}

/** The longest string that the engine has, characters. */
const maxTextBytes = 0x1fffffe8

/** @param length of a text in bytes @throws TextError when it cannot be held as one string */
export function refuseLongText(length: number): void {
  if (length <= maxTextBytes) return
  const size = Math.round(length / 1_048_576)
  throw new TextError(`It is too long, ${size} MB of at most 512`, 'Keep the parts that are needed, or split it.')
}

/**
 * Returns the text of bytes for a search: as `decodeText`, except that bytes which are no character are replaced. A program that
 * reads another encoding finds the same ASCII in it.
 */
export function decodeLoosely(bytes: Uint8Array): string {
  try {
    return decodeText(bytes)
  } catch (error) {
    if (error instanceof EncodingError) return new TextDecoder().decode(bytes)
    throw error
  }
}

/** Returns the text of bytes, without its byte order mark. @throws EncodingError; TextError when they are too many */
export function decodeText(bytes: Uint8Array): string {
  refuseLongText(bytes.length)
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return decodeUtf16(Buffer.from(bytes.subarray(2)))
  if (first === 0xfe && second === 0xff) return decodeUtf16(swapBytes(bytes.subarray(2)))
  const text = new TextDecoder().decode(bytes)
  const offset = findInvalidUtf8(bytes)
  if (offset !== null) {
    const value = bytes[offset]?.toString(16).padStart(2, '0')
    const what = value === undefined ? 'it ends within a character' : `the byte 0x${value} is part of no character`
    throw new EncodingError(`It is not UTF-8: ${what}`, offset, decodeBefore(bytes, offset))
  }
  const zero = bytes.indexOf(0)
  if (zero === -1) return text
  const what = 'It is not text, or it is UTF-16 without a byte order mark: there is a zero byte'
  throw new EncodingError(what, zero, decodeBefore(bytes, zero))
}

/**
 * Returns the offset of the first byte that is not UTF-8, or the number of bytes when the last character is cut off after two or
 * more of its bytes; null when all of it is UTF-8.
 */
export function findInvalidUtf8(bytes: Uint8Array): number | null {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return null
  } catch {
    // Each wrong sequence becomes U+FFFD, which the text may have itself too, in three bytes.
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    let offset = 0
    for (let from = 0; ; from++, offset += 3) {
      const at = text.indexOf('\ufffd', from)
      offset += Buffer.byteLength(text.slice(from, at))
      if (!isReplacement(bytes, offset)) return isCutOff(bytes.subarray(offset)) ? bytes.length : offset
      from = at
    }
  }
}

function isReplacement(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
}

/** Whether bytes are the beginning of a character. One byte alone is rather a character of another encoding. */
function isCutOff(bytes: Uint8Array): boolean {
  if (bytes.length < 2 || bytes.length > 3) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

function decodeBefore(bytes: Uint8Array, offset: number): string {
  return new TextDecoder().decode(bytes.subarray(0, offset))
}

/** Returns the text of UTF-16, little-endian, that stood after a byte order mark of two bytes. */
function decodeUtf16(units: Buffer): string {
  const text = units.toString('utf16le')
  const half = text.search(/\p{Surrogate}/u)
  if (half === -1 && units.length % 2 === 0) return text
  const index = half === -1 ? text.length : half
  throw new EncodingError('It is not UTF-16: there is half a character', 2 + 2 * index, text.slice(0, index))
}

/** Returns UTF-16 in the other byte order. A byte that is left over at the end stays. */
function swapBytes(bytes: Uint8Array): Buffer {
  const swapped = Buffer.from(bytes)
  swapped.subarray(0, swapped.length - (swapped.length % 2)).swap16()
  return swapped
}
