/** An exchange that passed through, as it was: nothing in it is redacted. It is never printed and never written. */
import type { Capture } from './capture.ts'

export interface PassedExchange {
  /** When the request arrived, Unix epoch milliseconds. */
  at_ms: number
  method: string
  /** Path and query, as sent. */
  path: string
  /** As `1.1`. */
  http_version: string
  /** Names and values in turn, as the service got them. */
  request_headers: readonly string[]
  request: Capture
  /** Null when the service did not respond. */
  response: {
    status: number
    /** The usual one, whatever the service sent. */
    status_text: string
    /** Names and values in turn, as received. */
    headers: readonly string[]
    body: Capture
    /** From the request to the headers of the response, milliseconds. */
    wait_ms: number
  } | null
  duration_ms: number
  /** What ended it before its response was complete, in words; null for one that is complete. */
  problem: string | null
}
