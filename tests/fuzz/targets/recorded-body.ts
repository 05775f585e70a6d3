/** What a service sends to `svc record` and to the client: compressed bodies, streams of events, pages in place of JSON. */
import { describeOther } from '#client/response.ts'
import { parseEventData, splitEventBlocks } from '#foundation/server-sent-events.ts'
import { decodeBody, readEncodings } from '#recordings/compression.ts'
import { check, checkSame, type FuzzTarget } from '../target.ts'

const encodings = ['gzip', 'br', 'zstd', 'deflate', 'identity', 'gzip, br', 'x', ' GZIP ,identity,deflate']
const maxBytes = 50_000

export const target: FuzzTarget = {
  max_bytes: 1_000,
  words: [
    'data: {"seq":1}\n\n',
    'data:',
    '\r\n\r\n',
    '\n\n',
    ': ping',
    '<!doctype html>',
    '<script>',
    '</script>',
    '<!--',
    '-->',
    '<body',
    '&amp;',
    '&#x41;',
  ],
  async run(bytes) {
    const [choice = 0, ...rest] = bytes
    const body = Buffer.from(rest)
    const text = body.toString('utf8')
    const names = readEncodings(encodings[choice % encodings.length])
    const decoded = await decodeBody(body, names, maxBytes)
    check(decoded === null || decoded.length <= maxBytes, `a body has ${decoded?.length} bytes`)
    if (names.length === 0) check(decoded?.equals(body) === true, 'a plain body was changed')
    checkEvents(text.replaceAll('\r', ''), choice)
    check(describeOther(text, 200 + choice).length < 300, 'a page is quoted at length')
  },
}

/** However a stream arrives, it has the same events. */
function checkEvents(text: string, at: number): void {
  const whole = splitEventBlocks(text)
  const first = splitEventBlocks(text.slice(0, at))
  const second = splitEventBlocks(first.rest + text.slice(at))
  checkSame([...first.blocks, ...second.blocks].map(parseEventData), whole.blocks.map(parseEventData), 'the events')
}
