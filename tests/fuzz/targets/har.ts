/** HAR files: of `svc record`, of the network panel of a browser, of proxies. */
import { RecordingError, readRecording } from '#contract/recordings/recording.ts'
import { isObject, parseJson, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { looseTexts } from '../loose-json.ts'
import { check, type FuzzTarget, readOrRefuse } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 8_000,
  words: [
    ...[
      '"log"',
      '"entries"',
      '"request"',
      '"response"',
      '"startedDateTime"',
      '"postData"',
      '"headers"',
      '"_session_id"',
    ],
    ...[
      'https://a.test/v1/placements',
      '/v1/beacons',
      '/assets/a.png',
      'content-type',
      'sk_test_abcdefgh',
      '"OPTIONS"',
    ],
    ...['\n{"startedDateTime":', 'ast_0000000000a_abcdefghijkl'],
  ],
  run(bytes) {
    for (const text of looseTexts(bytes)) readFile(text)
  },
}

function readFile(text: string): void {
  const recording = readOrRefuse(() => readRecording(text), RecordingError)
  if (recording === null) return
  const { exchanges, left_out } = recording
  const entries = valueAt(parseJson(text), 'log.entries')
  const count = exchanges.length + left_out.not_of_api + left_out.preflight + left_out.no_response + left_out.unreadable
  if (Array.isArray(entries)) check(count === entries.length, `${entries.length} entries became ${count}`)
  let before_ms = Number.NEGATIVE_INFINITY
  for (const exchange of exchanges) {
    check(exchange.at_ms >= before_ms, 'the exchanges are not in the order of their times')
    before_ms = exchange.at_ms
    check(exchange.duration_ms >= 0, 'a duration is negative')
    const { cookie = 'redacted' } = exchange.request_headers
    check(cookie === 'redacted', `a cookie is kept: ${cookie}`)
    checkRedacted(exchange)
  }
}

/** No text of an exchange has anything that the redactor would still replace. */
function checkRedacted(value: unknown): void {
  if (typeof value === 'string') check(redactSecrets(value) === value, `a secret is kept: ${JSON.stringify(value)}`)
  else if (Array.isArray(value)) for (const item of value) checkRedacted(item)
  else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value)) if (name !== 'base64') checkRedacted(inner)
  }
}
