/** Sends a request that is written out already, and answers as it came: nothing is judged. Throws UnreachableError. */
import type { HttpRequest } from './request.ts'
import { exchange, type Fetch, type FetchResponse } from './transport.ts'

export interface RawAnswer {
  status: number
  ok: boolean
  request_id: string | null
  headers: FetchResponse['headers']
  text: string
}

/** Longest an answer may take, milliseconds: no wait_ms lasts as long. */
const timeout_ms = 30_000

export async function fetchRaw(request: HttpRequest, base_url: string, signal: AbortSignal): Promise<RawAnswer> {
  const undici = await import('undici')
  const fetch: Fetch = (url, init) => undici.fetch(url, init as Parameters<typeof undici.fetch>[1])
  return exchange({ fetch, base_url, timeout_ms }, request, signal, async (response) => ({
    status: response.status,
    ok: response.ok,
    request_id: response.headers.get('x-request-id'),
    headers: response.headers,
    text: await response.text(),
  }))
}
