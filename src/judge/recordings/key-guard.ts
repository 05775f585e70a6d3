/** Looks for production keys in what a client sends, before it is passed on. What cannot be looked into is not passed on either. */
import { isUtf8 } from 'node:buffer'
import { Transform } from 'node:stream'
import { holdsLiveKey } from '#foundation/redaction.ts'
import { decodeBody, isCompressed, readDeflated } from './compression.ts'
import { maxRequestBytes } from './recorded-body.ts'

/** Why something is not passed on: it has a production key, or could have one. */
export class KeyError extends Error {
  override readonly name = 'KeyError'
  readonly reason: 'live_key' | 'opaque'

  constructor(reason: KeyError['reason']) {
    super(reason)
    this.reason = reason
  }
}

/** The beginning of a key in every encoding that is undone fits in it, characters. */
const keyOverlap = 256

/** The beginning of gzip and of zlib in base64, as a value of its own. */
const packedText = /(?<![A-Za-z0-9+/_-])(?:H4sI|eJ[w-z]|eA[E-H]|eF[4-7]|eN[o-r])[A-Za-z0-9+/_-]{20,}/g
/** The most that is kept of one which goes on in the next part, characters. */
const maxPackedOverlap = 65_536
/** Chance makes no text of so many bytes from others. */
const minDeflatedText = 16

/** So many bytes tell whether a body is compressed. */
const minHead = 256

/** Whether a text, such as a header, has a production key that is compressed and in base64. */
export function holdsPackedKey(text: string): boolean {
  try {
    createPackedWatch()(text)
    return false
  } catch (error) {
    if (error instanceof KeyError) return true
    throw error
  }
}

/** Whether bytes are not text, and deflate without a header: what comes out is. */
function isDeflatedText(bytes: Buffer): boolean {
  if (isText(bytes)) return false
  const inflated = inflateWithin(bytes, 'deflate', maxRequestBytes)
  if (inflated === null || inflated.length < minDeflatedText) return false
  return isText(inflated) || holdsLiveKey(inflated.toString('latin1'))
}

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !/[\0-\x08\x0e-\x1f\x7f]/.test(bytes.toString('latin1'))
}

/** @throws KeyError for more than can be looked into */
function inflateWithin(bytes: Buffer, kind: Parameters<typeof readDeflated>[1], max_bytes: number): Buffer | null {
  try {
    return readDeflated(bytes, kind, max_bytes)
  } catch {
    throw new KeyError('opaque')
  }
}

/** Returns a function that looks into compressed bytes in base64, and returns the length of one in which a text ends. @throws KeyError */
function createPackedWatch(): (text: string) => number {
  let left = maxRequestBytes
  return (text) => {
    const plain = text.replaceAll('\\/', '/').replace(/\\$/, '')
    let tail = 0
    for (const { 0: packed, index } of plain.matchAll(packedText)) {
      const inflated = inflateWithin(Buffer.from(packed, 'base64'), 'gzip or zlib', Math.max(left, 1))
      left -= inflated?.length ?? 0
      if (inflated !== null && holdsLiveKey(inflated.toString('latin1'))) throw new KeyError('live_key')
      if (index + packed.length === plain.length) tail = Math.min(packed.length, maxPackedOverlap)
    }
    // Each of its characters can be an escape.
    return plain === text ? tail : 2 * tail + 1
  }
}

/** Returns a function that is called with each part of a text in turn. @throws KeyError by a production key, in two parts too, and for what is compressed */
function createWatch(): (bytes: Buffer) => void {
  let end = ''
  let head: Buffer | null = Buffer.alloc(0)
  const findPacked = createPackedWatch()
  return (bytes) => {
    head = head && Buffer.concat([head, bytes])
    if (head && (isCompressed(head) || isDeflatedText(head))) throw new KeyError('opaque')
    // A first part can be too short to tell.
    if (head && head.length >= minHead) head = null
    const text = end + bytes.toString('latin1')
    if (holdsLiveKey(text)) throw new KeyError('live_key')
    end = text.slice(-Math.max(keyOverlap, findPacked(text)))
  }
}

/** Returns a stream that passes on what `look` accepts, and fails with its KeyError. */
function createGuard(look: (chunk: Buffer) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        look(chunk)
        done(null, chunk)
      } catch (error) {
        done(error as Error)
      }
    },
  })
}

/** Passes a body on until it has a production key. It fails with a KeyError then. @param encodings of the body, as it was sent */
export function guardBody(encodings: readonly string[]): Transform {
  return encodings.length === 0 ? createGuard(createWatch()) : guardEncodedBody(encodings)
}

/** Holds a compressed body back until all of it was looked into. */
function guardEncodedBody(encodings: readonly string[]): Transform {
  const chunks: Buffer[] = []
  let length = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      length += chunk.length
      if (length > maxRequestBytes) return done(new KeyError('opaque'))
      chunks.push(chunk)
      done()
    },
    flush(done) {
      const body = Buffer.concat(chunks)
      const looked = decodeBody(body, encodings, maxRequestBytes).then((decoded) => {
        if (decoded === null) throw new KeyError('opaque')
        createWatch()(decoded)
        return body
      })
      void looked.then(
        (whole) => done(null, whole),
        (error: unknown) => done(error as KeyError),
      )
    },
  })
}

/** The bits of extensions, such as compression, which the handshake does not ask for. */
const extensionBits = 0x70
/** In the first byte of a frame: 0 for one that goes on with the message before it, 8 and more for one between the parts of a message. */
const opcodeBits = 0x0f
const firstControl = 0x08

/** Passes the frames of a WebSocket client on, until one has a production key or cannot be looked into (RFC 6455). */
export function guardFrames(): Transform {
  /** Of the message that is on its way, in any number of frames. */
  let message = createWatch()
  let head: number[] = []
  let frame = { left: 0, mask: [0, 0, 0, 0], at: 0, watch: message }
  return createGuard((chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (frame.left === 0) {
        head.push(chunk[at++]!)
        const read = readFrameHead(head)
        if (read === null) continue
        const opcode = head[0]! & opcodeBits
        if (opcode > 0 && opcode < firstControl) message = createWatch()
        frame = { ...read, at: 0, watch: opcode < firstControl ? message : createWatch() }
        head = []
        continue
      }
      const part = Buffer.from(chunk.subarray(at, at + frame.left))
      for (let index = 0; index < part.length; index++) part[index]! ^= frame.mask[frame.at++ % 4]!
      frame.watch(part)
      frame.left -= part.length
      at += part.length
    }
  })
}

/** Returns the length and the mask of a frame; null while its head is not complete. @throws KeyError when it cannot be looked into */
function readFrameHead(head: readonly number[]): { left: number; mask: number[] } | null {
  const [first = 0, second] = head
  if ((first & extensionBits) !== 0 || (second !== undefined && second < 0x80)) throw new KeyError('opaque')
  if (second === undefined) return null
  const short = second & 0x7f
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0
  if (head.length < 2 + lengthBytes + 4) return null
  const length = head.slice(2, 2 + lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0)
  return { left: lengthBytes === 0 ? short : length, mask: head.slice(2 + lengthBytes) }
}

/** Returns the frame that ends a WebSocket: the code for what is not permitted, and why. @param reason at most 123 bytes */
export function closeFrame(reason: string): Buffer {
  const text = Buffer.from(reason)
  return Buffer.concat([Buffer.from([0x88, text.length + 2, 0x03, 0xf0]), text])
}
