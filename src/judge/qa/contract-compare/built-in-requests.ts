/** The requests of the suite `contract-check` as a recording, for a comparison of two services without one. */
import { type Recording, readRecording } from '#contract/recordings/recording.ts'
import type { CaseExchange, CaseResult } from '../result.ts'

/** Returns the exchanges of a run, oldest first. */
export function toRecording(cases: readonly CaseResult[], svc_version: string): Recording {
  const entries = cases.flatMap(({ started_at_ms, steps }) =>
    steps.flatMap(({ exchanges }) => exchanges.map((exchange) => toEntry(exchange, started_at_ms))),
  )
  return readRecording(
    JSON.stringify({ log: { version: '1.2', creator: { name: 'svc', version: svc_version }, entries } }),
  )
}

function toEntry(exchange: CaseExchange, at_ms: number) {
  const { method, url, request_headers, request_body, status, response_headers, response_body, duration_ms } = exchange
  const pairs = (headers: Readonly<Record<string, string>>) =>
    Object.entries(headers).map(([name, value]) => ({ name, value }))
  return {
    startedDateTime: new Date(at_ms).toISOString(),
    time: duration_ms,
    request: {
      method,
      url,
      headers: pairs(request_headers),
      ...(request_body === null ? {} : { postData: { text: request_body } }),
    },
    response: {
      status,
      headers: pairs(response_headers),
      content: response_body === null ? {} : { text: response_body },
    },
  }
}
