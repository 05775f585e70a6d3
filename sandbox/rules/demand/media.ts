/** What a picture or a clip is, by its bytes: type, size, length, and whether it is complete. */
import imageSize from 'image-size'
import { FileProblem } from './own-file.ts'
import { checkSvg } from './svg.ts'

/** A picture or clip as it was read. */
export interface Media {
  kind: 'picture' | 'clip'
  media_type: string
  /** Without the dot, in lower case. */
  extension: string
  /** Pixels; of an SVG what it declares. */
  width: number
  height: number
  /** Null for a picture. */
  duration_ms: number | null
}

/** Bytes. */
const maxPictureBytes = 2_000_000
export const maxClipBytes = 20_000_000
/** Pixels of a side: a larger one is not an ad but takes the memory of the page. */
const maxSide = 4096
const maxDurationMs = 180_000

interface MediaKind {
  name: string
  kind: Media['kind']
  media_type: string
  extensions: readonly string[]
  begins(bytes: Buffer): boolean
  /** Whether the end of the file is that of its type. */
  ends(bytes: Buffer): boolean
}

const at = (bytes: Buffer, offset: number, text: string) =>
  bytes.subarray(offset, offset + text.length).toString('latin1') === text

const kinds: readonly MediaKind[] = [
  {
    ...{ name: 'PNG', kind: 'picture', media_type: 'image/png', extensions: ['png'] },
    begins: (bytes) => at(bytes, 0, '\x89PNG\r\n\x1a\n'),
    ends: (bytes) => at(bytes, bytes.length - 8, 'IEND\xae\x42\x60\x82'),
  },
  {
    ...{ name: 'JPEG', kind: 'picture', media_type: 'image/jpeg', extensions: ['jpg', 'jpeg'] },
    begins: (bytes) => at(bytes, 0, '\xff\xd8\xff'),
    ends: (bytes) => at(bytes, bytes.length - 2, '\xff\xd9'),
  },
  {
    ...{ name: 'GIF', kind: 'picture', media_type: 'image/gif', extensions: ['gif'] },
    begins: (bytes) => at(bytes, 0, 'GIF87a') || at(bytes, 0, 'GIF89a'),
    ends: (bytes) => at(bytes, bytes.length - 1, ';'),
  },
  {
    ...{ name: 'WebP', kind: 'picture', media_type: 'image/webp', extensions: ['webp'] },
    begins: (bytes) => at(bytes, 0, 'RIFF') && at(bytes, 8, 'WEBP'),
    ends: (bytes) => bytes.readUInt32LE(4) + 8 === bytes.length,
  },
  {
    ...{ name: 'SVG', kind: 'picture', media_type: 'image/svg+xml', extensions: ['svg'] },
    begins: (bytes) => /^\uFEFF?\s*<(?:\?xml|!--|!DOCTYPE|svg)/i.test(bytes.subarray(0, 512).toString('utf8')),
    // Its reader finds an element that is not closed.
    ends: () => true,
  },
  {
    ...{ name: 'MP4', kind: 'clip', media_type: 'video/mp4', extensions: ['mp4', 'm4v'] },
    begins: (bytes) => at(bytes, 4, 'ftyp'),
    ends: endsWithBox,
  },
  {
    ...{ name: 'WebM', kind: 'clip', media_type: 'video/webm', extensions: ['webm'] },
    begins: (bytes) => at(bytes, 0, '\x1a\x45\xdf\xa3'),
    // Its length and its packets are compared instead.
    ends: () => true,
  },
]

const known = 'Known: PNG, JPEG, WebP, GIF, SVG, MP4 and WebM.'

/** Reads what a file is. @throws FileProblem */
export async function readMedia(name: string, bytes: Buffer): Promise<Media> {
  const found = kinds.find(({ begins }) => begins(bytes))
  if (found === undefined) throw new FileProblem(`${name} is of no type that is served.`, known)
  const extension = (/\.([a-z0-9]+)$/i.exec(name)?.[1] ?? '').toLowerCase()
  if (!found.extensions.includes(extension)) {
    const better = `${name.replace(/\.[^./]*$/, '')}.${found.extensions[0]}`
    throw new FileProblem(`${name} is a ${found.name} by its content.`, `Name it ${better}.`)
  }
  const limit = found.kind === 'picture' ? maxPictureBytes : maxClipBytes
  if (bytes.length > limit)
    throw new FileProblem(`${name} has ${bytes.length} bytes, and at most ${limit} are taken.`, 'Export it smaller.')
  if (!found.ends(bytes)) throw new FileProblem(`${name} is cut off, or something follows it.`, 'Export it again.')
  const measured = await measure(name, found, bytes)
  const { width, height, duration_ms } = measured
  if (!(width >= 1 && height >= 1 && width <= maxSide && height <= maxSide))
    throw new FileProblem(
      `${name} is ${width}x${height}, and a side may have 1 to ${maxSide} pixels.`,
      'Export it in the size in which it is shown, or twice that.',
    )
  if (duration_ms !== null && !(duration_ms >= 1 && duration_ms <= maxDurationMs))
    throw new FileProblem(`${name} takes ${duration_ms} ms, and at most ${maxDurationMs} are played.`, 'Cut it.')
  return { kind: found.kind, media_type: found.media_type, extension: found.extensions[0]!, ...measured }
}

type Measured = Pick<Media, 'width' | 'height' | 'duration_ms'>

async function measure(name: string, { name: type, kind }: MediaKind, bytes: Buffer): Promise<Measured> {
  if (type === 'SVG') return { ...checkSvg(name, bytes.toString('utf8')), duration_ms: null }
  try {
    return kind === 'picture' ? measurePicture(bytes) : await measureClip(bytes)
  } catch (error) {
    if (error instanceof FileProblem) throw new FileProblem(`${name} ${error.message}`, error.hint)
    throw new FileProblem(`${name} is a broken ${type}: ${(error as Error).message}.`, 'Export it again.')
  }
}

function measurePicture(bytes: Buffer): Measured {
  const { width, height, orientation = 1 } = imageSize(bytes)
  // A browser turns a photo as its camera was held.
  return orientation >= 5 ? { width: height, height: width, duration_ms: null } : { width, height, duration_ms: null }
}

/** The container is read, not decoded: its packets must be there up to the length that it states. */
async function measureClip(bytes: Buffer): Promise<Measured> {
  const { Input, BufferSource, MP4, WEBM } = await import('mediabunny')
  using input = new Input({ source: new BufferSource(bytes), formats: [MP4, WEBM] })
  const track = await input.getPrimaryVideoTrack()
  if (track === null) throw new FileProblem('has no picture track.', 'Export it with a video track, or take a picture.')
  const [width, height, stated, last] = await Promise.all([
    track.getDisplayWidth(),
    track.getDisplayHeight(),
    input.getDurationFromMetadata(),
    input.computeDuration(),
  ])
  if (stated !== null && last < stated - 0.5)
    throw new FileProblem(`ends after ${last.toFixed(1)} s and states ${stated.toFixed(1)} s.`, 'Export it again.')
  return { width, height, duration_ms: Math.round(last * 1000) }
}

/** Whether the boxes of an MP4 end where the file ends. */
function endsWithBox(bytes: Buffer): boolean {
  let offset = 0
  while (offset + 8 <= bytes.length) {
    const short = bytes.readUInt32BE(offset)
    if (short === 0) return true
    const length = short === 1 && offset + 16 <= bytes.length ? Number(bytes.readBigUInt64BE(offset + 8)) : short
    if (length < 8) return false
    offset += length
  }
  return offset === bytes.length
}
