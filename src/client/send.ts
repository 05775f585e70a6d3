/** Sends a request that is written out already, over Node's transport. Throws UnreachableError. */
import type { HttpRequest } from './request.ts'
import { exchange, type Fetch } from './transport.ts'

export interface RawAnswer {
  status: number
  ok: boolean
  request_id: string | null
  text: string
}

/** Longest an answer may take, milliseconds: no wait_ms lasts as long. */
const timeout_ms = 60_000

export async function sendRequest(request: HttpRequest, base_url: string, signal: AbortSignal): Promise<RawAnswer> {
  const undici = await import('undici')
  const fetch: Fetch = (url, init) => undici.fetch(url, init as Parameters<typeof undici.fetch>[1])
  return exchange({ fetch, base_url, timeout_ms }, request, signal, async (response) => ({
    status: response.status,
    ok: response.ok,
    request_id: response.headers.get('x-request-id'),
    text: await response.text(),
  }))
}
