/** The content encodings of HTTP, undone up to a limit: a small body can unpack to a very large one. */
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib'
import { isUndecodable } from '#foundation/readings/compressed.ts'
import { findEntry } from '#foundation/table-entry.ts'

/** One of node:zlib, whose types differ in options that are not used here. */
type Decode = (bytes: Buffer, options: object, done: (error: Error | null, decoded: Buffer) => void) => void
type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

/** Returns a decoder that fails when bytes are left behind the end of what it decodes: nothing would have looked into them. */
function wholly(decode: Decode): Decoder {
  return (bytes, options) =>
    new Promise((resolve, reject) => {
      decode(bytes, { ...options, info: true }, (error, decoded) => {
        if (error) return reject(error)
        // With `info` the types know only the buffer.
        const { buffer, engine } = decoded as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
        if (engine.bytesWritten === bytes.length) resolve(buffer)
        else reject(new Error('Bytes follow the end of the data.'))
      })
    })
}

const inflateWholly = wholly(inflate)
const inflateRawWholly = wholly(inflateRaw)

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: wholly(gunzip),
  'x-gzip': wholly(gunzip),
  br: wholly(brotliDecompress),
  zstd: wholly(zstdDecompress),
  // Some servers leave out the header of zlib.
  deflate: (bytes, options) => inflateWholly(bytes, options).catch(() => inflateRawWholly(bytes, options)),
}

/** How gzip, zstd, zip and compress begin. */
const magics = ['1f8b', '28b52ffd', '504b0304', '1f9d'].map((digits) => Buffer.from(digits, 'hex'))

/** Whether bytes are compressed though no header says so, by their beginning. */
export function isCompressed(bytes: Buffer): boolean {
  return (
    isUndecodable(bytes.toString('latin1', 0, 16)) ||
    magics.some((magic) => bytes.subarray(0, magic.length).equals(magic))
  )
}

/** The maximum number of encodings, one in the other. */
const maxEncodings = 3

/** Returns the encodings of a header, in the order in which they were applied, without `identity`. */
export function readEncodings(header: string | undefined): string[] {
  const names = (header ?? '').split(',').map((name) => name.trim().toLowerCase())
  return names.filter((name) => name !== '' && name !== 'identity')
}

/** Resolves to the bytes of a body; null when it is longer than `max_bytes`, damaged, or of an encoding not known. */
export async function decodeBody(
  bytes: Buffer,
  encodings: readonly string[],
  max_bytes: number,
): Promise<Buffer | null> {
  if (encodings.length > maxEncodings) return null
  let decoded = bytes
  for (const name of encodings.toReversed()) {
    const decode = findEntry(decoders, name)
    const next = await decode?.(decoded, { maxOutputLength: max_bytes }).catch(() => null)
    if (next === undefined || next === null) return null
    decoded = next
  }
  return decoded.length > max_bytes ? null : decoded
}
