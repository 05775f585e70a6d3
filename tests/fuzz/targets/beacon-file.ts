/** Files of beacons for `svc beacons lint`: JSON, JSON lines, HAR. */
import { readBeaconFile } from '#diagnosis/facts/beacon-file.ts'
import type { Place } from '#foundation/finding.ts'
import { parseJson } from '#foundation/json.ts'
import { looseTexts } from '../loose-json.ts'
import { check, checkSentence, type FuzzTarget } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 4_000,
  words: [
    ...[
      '"beacon_id"',
      '"asset_token"',
      '"event"',
      '"occurred_at_ms"',
      '"measurements"',
      '"render"',
      '"heartbeat"',
      '\n',
    ],
    ...[
      '"log"',
      '"entries"',
      '"request"',
      '"postData"',
      '"method"',
      '"POST"',
      '"url"',
      '"mimeType"',
      '"startedDateTime"',
    ],
    ...['http://a.test/v1/beacons', 'https://a.test/public/browser/v1/beacons'],
  ],
  run(bytes) {
    for (const text of looseTexts(bytes)) readFile(text)
  },
}

function readFile(text: string): void {
  const { kind, beacons } = readBeaconFile(text, { now_ms: 1_764_000_000_000, sent_at_ms: null })
  const lines = text.split('\n')
  const checkPlace = ({ line, column }: Place) => {
    const length = lines[line - 1]?.length ?? -1
    check(column >= 1 && column <= length + 1, `line ${line}, column ${column} is outside of the file`)
  }
  for (const { body, request, place } of beacons) {
    checkPlace(place([]))
    if (request !== null && request.url_place !== null) checkPlace(request.url_place)
    if (body.status === 'malformed') checkSentence(body.message)
    if (body.status !== 'read') continue
    check((body.beacon === null) === body.fields.length > 0, 'a beacon is wrong without a reason')
    for (const { at, message, isUnknown } of body.fields) {
      checkSentence(message)
      checkPlace(place(at, isUnknown === true))
    }
  }
  const whole = parseJson(text)
  const isShallow = !/[[{].{0,40}[[{].{0,40}[[{]/s.test(text)
  if (whole !== undefined && isShallow && kind !== 'har' && !Array.isArray(whole))
    check(beacons.length === 1 && beacons[0]!.body.status === 'read', 'JSON was not read as one beacon')
}
