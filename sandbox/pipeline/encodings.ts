/** Content encodings of files (RFC 9110, 12.5.3). The build compresses them: nothing is compressed by a request. */
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'

export type Coding = 'br' | 'gzip'

/** In the order of preference where a client has none. The file of a coding is beside the file itself. */
const codings: readonly { coding: Coding; suffix: string; decode: (bytes: Buffer) => Promise<Buffer> }[] = [
  { coding: 'br', suffix: '.br', decode: promisify(brotliDecompress) },
  { coding: 'gzip', suffix: '.gz', decode: promisify(gunzip) },
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
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  // Without a word about identity, any coding that is accepted is preferred to it.
  const identity = weights.get('identity') ?? 0
  let best: { coding: Coding; weight: number } | null = null
  for (const { coding } of codings) {
    const weight = weightOf(coding)
    if (weight > 0 && weight >= identity && weight > (best?.weight ?? 0)) best = { coding, weight }
  }
  return best?.coding ?? null
}

/**
 * Resolves to the compressed form of a file, or null when the build made none. A form of other content, while a build is
 * moved into place, is not used.
 */
export async function readEncoded(path: string, body: Buffer, wanted: Coding): Promise<Buffer | null> {
  const { suffix, decode } = codings.find(({ coding }) => coding === wanted)!
  try {
    const bytes = await readFile(path + suffix)
    return (await decode(bytes)).equals(body) ? bytes : null
  } catch {
    return null
  }
}
