/** What bodies pass through on their way. */
import { Transform } from 'node:stream'
import type { Rewriting } from './rewriting.ts'

/** The beginning of an address at the end of a text. */
const openAddress = /(?:h(?:t(?:t(?:p.*)?)?)?|w(?:s.*)?)$/is

/**
 * Rewrites the addresses in a body as it passes, bytes of any encoding that has ASCII in it. Nothing is held back longer than it
 * takes to see where a word ends.
 */
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

/**
 * Passes each chunk on after what has arrived on other connections was read. A service can respond and close its connection before
 * it has read a request, and Node drops what has arrived on a connection when a write to it fails: its response too.
 */
export function createReadFirst(): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      setImmediate(done, null, chunk)
    },
  })
}
