/** Rewrites a response on its way: nothing is held back longer than it takes to see where a word ends. */
import { Transform } from 'node:stream'
import type { Rewriting } from './rewriting.ts'

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
