import { expect, test } from 'vitest'
import type { Json } from '#foundation/json.ts'
import { readResponseReason } from './expectations.ts'

test.each<[Json, string | null]>([
  [{ accepted: true, reason_code: 'BELOW_THRESHOLD' }, 'BELOW_THRESHOLD: the view is below the viewability threshold'],
  [{ accepted: true, reason_code: 'OK' }, null],
  [{ decision: { fill: false, no_fill_reason: 'no_demand' } }, 'no_demand: No partner offered a creative.'],
  [{ reason_code: 'schema_invalid', message: 'It does not match.' }, 'schema_invalid: It does not match.'],
  [{ reason_code: 'of_another_service' }, 'of_another_service'],
  [{ slot_id: 'slot_1', decision: null }, null],
  ['a page', null],
])('the reason that %j gives: %s', (body, reason) => {
  expect(readResponseReason(body)).toBe(reason)
})
