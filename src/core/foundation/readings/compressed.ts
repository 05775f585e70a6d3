/** Compressed data within other texts: gzip, zlib and zstd by how they begin, deflate and Brotli by what comes out. */
import { isUtf8 } from 'node:buffer'
import { brotliDecompressSync, constants, inflateRawSync, unzipSync, zstdDecompressSync } from 'node:zlib'

/** What the readings of a text may take. */
export interface ReadingBudget {
  /** The bytes that may still be decoded: below 0, there were more, and not every reading was seen. */
  left: number
  /** Whether something was compressed. */
  hasUnpacked: boolean
  /** Whether something was compressed in a way that is not undone. */
  hasUndecodable: boolean
}

/** Whether bytes begin with data that is compressed, as far as they come. */
export function isPacked(bytes: Buffer, budget: ReadingBudget): boolean {
  return unpack(bytes, budget) !== null || budget.left < 0
}

/** How bzip2, xz, lzip, LZMA (the size of its data too), 7z, rar, LZ4, Snappy and LZO begin. */
const undecodable =
  /^(?:BZh[1-9](?:1AY&SY|\x17rE8P\x90)|\xfd7zXZ\0|LZIP\x01|\x5d\0\0[\s\S]{2}(?:\xff{8}|[\s\S]{5}\0{3})|7z\xbc\xaf'\x1c|Rar!\x1a\x07|\x04"M\x18|\xff\x06\0\0sNaPpY|\x89LZO\0\r\n)/

/** Whether bytes are compressed in a way that is not undone, by their beginning. @param bytes as latin1 */
export function isUndecodable(bytes: string): boolean {
  return undecodable.test(bytes)
}

/** Whether a text is ASCII that can be read. */
export function isReadable(text: string): boolean {
  return /^[\t\r\n\x20-\x7e]*$/.test(text)
}

/** Fewer bytes without a header have no secret. */
const minHeaderless = 16
/** What an attempt costs at least, in bytes that are decoded meanwhile. */
const attemptCost = 2_048
const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** Returns what compressed bytes have, as far as they come; null for other bytes, and for more than the budget allows. */
export function unpack(bytes: Buffer, budget: ReadingBudget): Buffer | null {
  const [first = 0, second = 0] = bytes
  const limits = { maxOutputLength: Math.max(1, budget.left), chunkSize: Math.min(16_384, 512 + 8 * bytes.length) }
  const options = { finishFlush: constants.Z_SYNC_FLUSH, ...limits }
  const isZlib = (first & 0x0f) === 8 && first < 0x80 && ((first << 8) | second) % 31 === 0
  if (isZlib || (first === 0x1f && second === 0x8b)) {
    const unpacked = attempt(() => unzipSync(bytes, options), budget)
    if (unpacked !== null) return unpacked
  }
  if (bytes.subarray(0, 4).equals(zstdMagic)) return attempt(() => zstdDecompressSync(bytes, limits), budget)
  if (bytes.length < minHeaderless) return null
  // Chance unpacks too, but not to text.
  const inflated = mayBeDeflate(bytes) ? attempt(() => inflateRawSync(bytes, options), budget) : null
  if (inflated !== null && isText(inflated)) return inflated
  const finishFlush = constants.BROTLI_OPERATION_FLUSH
  const unpacked = mayBeBrotli(bytes)
    ? attempt(() => brotliDecompressSync(bytes, { finishFlush, ...limits }), budget)
    : null
  return unpacked !== null && isText(unpacked) ? unpacked : null
}

function attempt(decode: () => Buffer, budget: ReadingBudget): Buffer | null {
  budget.left -= attemptCost
  // The stack of an error takes ten times as long as the attempt.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    const decoded = decode()
    return decoded.length === 0 ? null : decoded
  } catch (error) {
    if (error instanceof RangeError) budget.left = -1
    return null
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function isText(bytes: Buffer): boolean {
  return (
    bytes.length >= minHeaderless && isUtf8(bytes) && isReadable(bytes.toString('latin1').replace(/[\x80-\xff]/g, ''))
  )
}

/** Returns the number in some bits of bytes, the lowest first. */
function readBits(bytes: Buffer, from: number, count: number): number {
  let value = 0
  for (let index = 0; index < count; index++) {
    const at = from + index
    value |= (((bytes[at >> 3] ?? 0) >> (at & 7)) & 1) << index
  }
  return value
}

/** Whether bytes begin as a block of deflate does (RFC 1951): a decoder takes long to say no. */
function mayBeDeflate(bytes: Buffer): boolean {
  const kind = readBits(bytes, 1, 2)
  if (kind === 0) return (bytes.readUInt16LE(1) ^ bytes.readUInt16LE(3)) === 0xffff
  if (kind === 1) return beginsWithText(bytes)
  if (kind === 3 || readBits(bytes, 3, 5) > 29 || readBits(bytes, 8, 5) > 29) return false
  const lengths = Array.from({ length: readBits(bytes, 13, 4) + 4 }, (_, index) => readBits(bytes, 17 + 3 * index, 3))
  // A code is complete.
  return lengths.reduce((sum, length) => sum + (length === 0 ? 0 : 128 >> length), 0) === 128
}

/** Whether the first symbols of fixed codes are characters of a text, up to one that repeats some. */
function beginsWithText(bytes: Buffer): boolean {
  for (let count = 0; count < 4; count++) {
    // The bits of a code come the other way round.
    let symbol = 0
    for (let index = 0; index < 8; index++) symbol = (symbol << 1) | readBits(bytes, 3 + 8 * count + index, 1)
    if (count > 0 && symbol < 0x30) return symbol > 1
    if (!isReadable(String.fromCharCode(symbol - 0x30))) return false
  }
  return true
}

/** A text becomes at most this many times shorter: random bytes say anything of their length. */
const maxBrotliRatio = 50

/** Whether bytes begin as Brotli does (RFC 7932). */
function mayBeBrotli(bytes: Buffer): boolean {
  const windowBits = (bytes[0]! & 1) === 0 ? 1 : (bytes[0]! & 0x0e) === 0 ? 7 : 4
  const isLast = readBits(bytes, windowBits, 1) === 1
  const at = windowBits + (isLast ? 2 : 1)
  if (isLast && readBits(bytes, windowBits + 1, 1) === 1) return false
  const nibbles = readBits(bytes, at, 2)
  return nibbles !== 3 && readBits(bytes, at + 2, 16 + 4 * nibbles) < maxBrotliRatio * bytes.length
}
