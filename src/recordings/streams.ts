/** What requests and responses pass on their way: nothing is held back longer than it takes to see where a word ends. */
import { Transform } from 'node:stream'
import { holdsLiveKey } from '#foundation/redaction.ts'
import type { Rewriting } from './rewriting.ts'

/** A request has a production key. */
export class LiveKeyError extends Error {
  override readonly name = 'LiveKeyError'
}

/** The beginning of a key in every encoding that is undone fits in it, characters. */
const keyOverlap = 256

/** Passes a body on until it has a production key, which is not passed on. It fails with a LiveKeyError then. */
export function guardLiveKeys(): Transform {
  let end = ''
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = end + chunk.toString('latin1')
      if (holdsLiveKey(text)) return done(new LiveKeyError())
      end = text.slice(-keyOverlap)
      done(null, chunk)
    },
  })
}

/** The beginning of an address at the end of a text. */
const openAddress = /(?:h(?:t(?:t(?:p.*)?)?)?|w(?:s.*)?)$/is

/** Rewrites the addresses in a body as it passes, bytes of any encoding that has ASCII in it. */
export function rewriteStream({ rewriteText, longest }: Rewriting): Transform {
  let held = ''
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = held + chunk.toString('latin1')
      const last = text.slice(-longest)
      const open = last.search(openAddress)
      held = open < 0 ? '' : last.slice(open)
      done(null, Buffer.from(rewriteText(text.slice(0, text.length - held.length)), 'latin1'))
    },
    flush(done) {
      done(null, Buffer.from(rewriteText(held), 'latin1'))
    },
  })
}
