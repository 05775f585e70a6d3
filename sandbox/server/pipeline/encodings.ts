/** Content encodings of files (RFC 9110, 12.5.3). A file is compressed once, by the build or when it is first requested. */
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants, gunzip, gzip } from 'node:zlib'

export type Coding = 'br' | 'gzip'

interface Encoding {
  coding: Coding
  /** The file of a coding is beside the file itself. */
  suffix: string
  encode: (bytes: Buffer) => Promise<Buffer>
  decode: (bytes: Buffer) => Promise<Buffer>
}

/** Half a megabyte takes 30 ms; the highest quality takes 3 s and saves a tenth. */
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/** In the order of preference where a client has none. */
const codings: readonly Encoding[] = [
  {
    coding: 'br',
    suffix: '.br',
    encode: (bytes) => promisify(brotliCompress)(bytes, quick),
    decode: promisify(brotliDecompress),
  },
  { coding: 'gzip', suffix: '.gz', encode: promisify(gzip), decode: promisify(gunzip) },
]

/**
 * Returns the coding for an `Accept-Encoding` header: the one with the highest weight, null for the file as it is. A file is
 * sent as it is too where the header permits nothing that there is.
 */
export function codingFor(header: string | undefined): Coding | null {
  if (header === undefined) return null
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters
      .map((text) => /^q=([01](?:\.\d{0,3})?)$/.exec(text)?.[1])
      .find((text) => text !== undefined)
    weights.set(name === 'x-gzip' ? 'gzip' : name, weight === undefined ? 1 : Number(weight))
  }
  const findWeight = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  // Without a word about identity, any coding that is accepted is preferred to it.
  const identity = weights.get('identity') ?? 0
  let best: { coding: Coding; weight: number } | null = null
  for (const { coding } of codings) {
    const weight = findWeight(coding)
    if (weight > 0 && weight >= identity && weight > (best?.weight ?? 0)) best = { coding, weight }
  }
  return best?.coding ?? null
}

/**
 * Resolves to the compressed form of a file: as the build wrote it beside the file, else made now, quickly; cache it. A form of
 * other content, while a build is moved into place, is not used.
 */
export async function readEncoded(path: string, body: Buffer, wanted: Coding): Promise<Buffer> {
  const { suffix, encode, decode } = findCoding(wanted)
  try {
    const bytes = await readFile(path + suffix)
    if ((await decode(bytes)).equals(body)) return bytes
  } catch {
    // No such file, or only a part of it.
  }
  return encode(body)
}

/** Resolves to the compressed form of bytes that are in no file, made quickly; cache it. */
export function encodeNow(body: Buffer, wanted: Coding): Promise<Buffer> {
  return findCoding(wanted).encode(body)
}

function findCoding(wanted: Coding): Encoding {
  return codings.find(({ coding }) => coding === wanted)!
}
