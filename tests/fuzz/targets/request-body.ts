/** Bodies of requests: parsed, and judged by the schema of their endpoint. */
import type { Endpoint } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { parseJson } from '#pipeline/body/body.ts'
import { validateBody } from '#pipeline/body/validation.ts'
import { looseTexts } from '../loose-json.ts'
import { check, checkSentence, type FuzzTarget } from '../target.ts'

const endpoints = tableNames(contract).flatMap((id) => {
  const endpoint: Endpoint = contract[id]
  return endpoint.body === undefined ? [] : [endpoint]
})

export const target: FuzzTarget = {
  max_bytes: 800,
  words: [
    ...[
      '"client_id"',
      '"session_id"',
      '"job_type"',
      '"consent"',
      '"semantic_targeting"',
      '"slot_config"',
      '"allowed_formats"',
    ],
    ...[
      '"beacon_id"',
      '"asset_token"',
      '"measurements"',
      '"occurred_at"',
      '9007199254740993',
      'null',
      '"\\u0000"',
      '"\\ud800"',
      '"__proto__"',
    ],
    ...[
      '"settings"',
      '"rules"',
      '"rate"',
      '"offset_ms"',
      '"tcf_string"',
      '"metadata"',
      '"callback_url"',
      '"brand_safety"',
    ],
  ],
  run(bytes) {
    const endpoint = endpoints[(bytes[0] ?? 0) % endpoints.length]!
    for (const text of looseTexts(bytes.subarray(1))) judge(endpoint, Buffer.from(text))
  },
}

function judge(endpoint: Endpoint, body: Buffer): void {
  for (const is_old_client of [false, true]) {
    try {
      const { json, isExact } = parseJson(body, true)
      validateBody(endpoint, json, isExact, { is_old_client, warnings: [], played: null })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      checkSentence(error.message)
      check(error.hint !== '', 'an error has no hint')
      for (const { path, message, expected } of error.fields) {
        check(typeof path === 'string', 'a field has no path')
        checkSentence(message)
        if (expected !== '') checkSentence(expected)
      }
    }
  }
}
