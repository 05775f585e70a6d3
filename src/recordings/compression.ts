/** The content encodings of HTTP, undone up to a limit: a small body can unpack to a very large one. */
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib'
import { findEntry } from '#foundation/table-entry.ts'

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
  // Some servers leave out the header of zlib.
  deflate: (bytes, options) => promisify(inflate)(bytes, options).catch(() => promisify(inflateRaw)(bytes, options)),
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
