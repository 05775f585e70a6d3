/** Short texts that strangers write: headers, URLs, origins, identifiers, durations. */
import { isIP } from 'node:net'
import { decodeId, encodeId, parseToken } from '#contract/ids.ts'
import { isOriginAllowed, originEntryProblem, originOfUrl, serializeOrigin } from '#contract/origins.ts'
import { parseDuration, parseSince } from '#foundation/duration.ts'
import { parseRateLimit, rateHeaders } from '#pipeline/rate-limits.ts'
import { classifyAddress, parseCallbackUrl } from '#runtime/callbacks/url.ts'
import { readStoredTrace, readTraceContext, toStoredTrace } from '#runtime/traces/trace-context.ts'
import { check, checkSame, checkSentence, type FuzzTarget, readOrRefuse } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 300,
  words: [
    ...[
      'https://',
      'http://127.0.0.1',
      '[::1]',
      '[::ffff:10.0.0.1]',
      '0x7f.1',
      '169.254.169.254',
      '64:ff9b::',
      'localhost:',
      '%00',
    ],
    ...[
      '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'a=1,b@c=2',
      '5/s',
      '100/min',
      '1.5s',
      '31m',
      'slot_00000000001',
    ],
    ...['ast_00000000001_', 'capacitor://localhost', 'http://localhost:*', 'xn--', '@', '\u3002', '\uff0e'],
  ],
  run(bytes) {
    const text = bytes.toString('utf8')
    const [first = '', second] = text.split('\n')
    checkTrace(first, second)
    checkCallback(first)
    checkOrigin(first)
    checkWords(first)
  },
}

function checkTrace(traceparent: string, tracestate: string | undefined): void {
  const context = readTraceContext(traceparent, tracestate)
  if (context === null) return
  checkSame(readStoredTrace(toStoredTrace(context)), context, 'a trace that was stored')
  check((context.state?.length ?? 0) <= 512, 'a tracestate is too long')
}

/** A callback goes nowhere that is not public, by the library of the system. */
function checkCallback(text: string): void {
  const found = parseCallbackUrl(text)
  if (typeof found === 'string') return
  const { url, host, address, port } = found
  check(Number.isInteger(port) && port >= 0 && port <= 65_535, `the port is ${port}`)
  check(url.username === '' && url.password === '', 'a callback has a password')
  const plain = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '')
  check(address === null ? isIP(plain) === 0 : isIP(plain) !== 0, `${plain} is and is not an address`)
  if (address === null) return
  const kind = classifyAddress(address)
  check(kind === 'public' || kind === 'loopback', `${host} is a ${kind} address`)
  if (url.protocol === 'http:') check(kind === 'loopback', `http goes to ${host}`)
}

function checkOrigin(text: string): void {
  const origin = serializeOrigin(text)
  if (origin !== null) {
    check(serializeOrigin(origin) === origin, `${origin} is not its own origin`)
    check(isOriginAllowed(text, [origin], 'live'), `${origin} does not allow itself`)
    check(!/[\s/\\?#@]/.test(origin.replace('://', '')), `${JSON.stringify(origin)} is more than an origin`)
    check(originOfUrl(`${origin}/a?b#c`) === origin, `${origin} is not that of its URLs`)
  }
  const problem = originEntryProblem(text)
  if (problem !== null) check(problem.message !== '' && problem.expected !== '', 'an origin is wrong without a reason')
}

function checkWords(text: string): void {
  const span_ms = parseDuration(text)
  check(span_ms === null || (Number.isFinite(span_ms) && span_ms >= 0), `a duration is ${span_ms}`)
  const since = parseSince(text)
  if (since !== null)
    check(
      Object.values(since).every((value) => Number.isFinite(value)),
      'a start is no number',
    )
  const id = decodeId('slot', text)
  if (id !== null) check(encodeId('slot', id) === text, `${text} is not the only spelling of its id`)
  const token = parseToken(text)
  if (token !== null) check(text.startsWith(`${token.kind}_`), 'a token has another kind')
  const limit = readOrRefuse(() => parseRateLimit(text), RangeError)
  if (limit === null || limit === 'off') return
  for (const value of Object.values(rateHeaders(limit, 0, 1))) checkSentence(value)
}
