/** Requests to the sandbox of a test by `node:http`: DOM environments replace `fetch`, and theirs apply CORS. */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import type { FetchInit, FetchResponse } from '../client/index.ts'

/** Sends a request and resolves with its response, whose body is read piece by piece. Redirects are not followed. */
export async function loopbackFetch(url: string, init: FetchInit): Promise<FetchResponse> {
  const { method, headers, body, signal } = init
  const bytes = typeof body === 'object' ? Buffer.from(await body.arrayBuffer()) : body
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? requestHttps : requestHttp
    const request = send(url, { method, headers }, (response) => {
      const status = response.statusCode ?? 0
      const reader = Readable.toWeb(response).getReader()
      response.once('close', () => signal.removeEventListener('abort', abort))
      resolve({
        status,
        ok: status >= 200 && status < 300,
        headers: { get: (name) => [response.headers[name.toLowerCase()] ?? []].flat().join(', ') || null },
        body: { getReader: () => reader },
      })
    })
    const abort = () => request.destroy(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    request.once('error', reject).end(bytes)
  })
}
