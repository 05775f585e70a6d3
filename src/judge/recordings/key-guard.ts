/** Looks for production keys in what a client sends, before it is passed on. What cannot be looked into is not passed on either. */
import { Transform } from 'node:stream'
import { isPacked, type ReadingBudget } from '#foundation/readings/compressed.ts'
import { createReadingBudget, readAll } from '#foundation/readings/readings.ts'
import { decodeBody, isCompressed } from './compression.ts'
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

/**
 * A key of production, from its first character on. After another letter it is the end of a word, as in `task_live_1`. A letter that ends
 * an escape is none in another reading; one that is the length of a field in a binary format is that of a long key.
 */
const liveKey = /(?<![A-Za-z])[sp]k_live_(?!redacted\b)[A-Za-z0-9]/
const liveKeyBehindLength = /([A-Za-z])([sp]k_live_[\w-]{57,})/g
/** The same as the numbers of its bytes, in a list or with their indexes, and in the encodings of mail: quoted-printable, and UTF-7. */
const between = String.raw`,\s{0,64}(?:["']?\d{1,9}["']?\s{0,64}:\s{0,64})?`
const letterBefore = `(?:6[5-9]|[78]\\d|9[0789]|1[01]\\d|12[0-2])${between}`
const liveBytes = new RegExp(
  String.raw`(?<!\d)(?=11[25],)(?<!(?<!\d)${letterBefore})${['11[25]', 107, 95, 108, 105, 118, 101, 95, '\\d'].join(between)}`,
)
const ofMail = /=(?:([2-7][\da-f])|\r?\n)|\+AF8-?/gi

function hasLiveKey(text: string): boolean {
  if (liveKey.test(text) || liveBytes.test(text)) return true
  for (const [, before = '', key = ''] of text.matchAll(liveKeyBehindLength)) {
    if (key.length >= before.charCodeAt(0)) return true
  }
  if (hasKeyOfCbor(text)) return true
  const plain = text.replace(ofMail, (whole, digits?: string) =>
    digits === undefined ? (whole.startsWith('+') ? '_' : '') : String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return plain !== text && liveKey.test(plain)
}

/** Whether a line, as what can be read of bytes, is a row of short texts of CBOR (RFC 8949), of which one behind a name is a key. */
function hasKeyOfCbor(text: string): boolean {
  if (!/[o-w][sp]k_live_/.test(text)) return false
  return text.split('\n').some((line) => {
    const first = line.search(/[a-w]/)
    for (let at = first; /[a-w]/.test(line[at] ?? ''); ) {
      const end = at + 1 + line.charCodeAt(at) - 0x60
      if (at > first && /^[sp]k_live_[\w-]{7,}$/.test(line.slice(at + 1, end))) return true
      at = end
    }
    return false
  })
}

/** Returns why a text is not passed on: it has a production key in one of its readings, or has more of them than are looked into. */
export function findKeyReason(text: string): KeyError['reason'] | null {
  return findReason(text, createBudget(text.length))
}

function createBudget(length: number): ReadingBudget {
  return createReadingBudget(length, maxRequestBytes)
}

function findReason(text: string, budget: ReadingBudget): KeyError['reason'] | null {
  for (const reading of readAll(text, budget)) if (hasLiveKey(reading)) return 'live_key'
  return budget.left < 0 || budget.hasUndecodable ? 'opaque' : null
}

/** The beginning of a key fits in it, in two escapes of each character, one in the other, characters. */
const keyOverlap = 1_024
/** What ends a value in an encoding. */
const valueEnd = /["'<>{}(),:;=& ]/
/** So many bytes of a body, and characters of a value, tell whether it is compressed. */
const minHead = 256
/** What is looked into once more, since a compressed value goes on in the next part, characters. */
const maxLookedAgain = 64 * maxRequestBytes

/** Returns a function that is called with each part of a text in turn. @throws KeyError by a production key, in two parts too, and for what is compressed */
function createWatch(): (bytes: Buffer) => void {
  let end = ''
  let head: Buffer | null = Buffer.alloc(0)
  let left = maxLookedAgain
  return (bytes) => {
    head = head && Buffer.concat([head, bytes])
    if (head && (isCompressed(head) || isPacked(head, createBudget(head.length)))) throw new KeyError('opaque')
    // A first part can be too short to tell.
    if (head && head.length >= minHead) head = null
    const text = end + bytes.toString('latin1')
    left -= end.length
    const reason = left < 0 ? 'opaque' : findReason(text, createBudget(text.length))
    if (reason !== null) throw new KeyError(reason)
    // What begins there was looked at with the word that it may be the end of.
    end = text.slice(-Math.max(keyOverlap, findPackedEnd(text))).replace(/^[sp]k_live_/, '')
  }
}

/** Returns the length of a compressed value in which a text ends: what it says later can only be read with all before it. @throws KeyError */
function findPackedEnd(text: string): number {
  let start = text.length
  while (start > 0 && !valueEnd.test(text[start - 1]!)) start--
  const length = text.length - start
  if (length <= keyOverlap) return 0
  const budget = createBudget(minHead)
  for (const _ of readAll(text.slice(start, start + 2 * minHead), budget)) if (budget.hasUnpacked) break
  if (!budget.hasUnpacked) return 0
  if (length > maxRequestBytes) throw new KeyError('opaque')
  return length
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
