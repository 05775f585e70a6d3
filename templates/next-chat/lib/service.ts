/** The placement service, with the secret key. `server-only` fails the build when a client component gets at it. */
import 'server-only'
import { serviceUrl } from './settings'

/** A little more than the service itself may wait for a decision. */
const patience_ms = 6_000

/**
 * Calls the service, and passes its answer on unchanged: status, body and Retry-After, as render.js wants it. A service
 * that is away is an answer as well, one that asks for no repetition.
 */
export async function passOn(path: string, body?: object): Promise<Response> {
  try {
    const answer = await callService(path, body)
    const retry_after = answer.headers.get('retry-after')
    return new Response(await answer.text(), {
      status: answer.status,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        ...(retry_after !== null && { 'retry-after': retry_after }),
      },
    })
  } catch (problem) {
    console.warn(`placement service: ${path} was not answered:`, problem)
    return Response.json({ reason_code: 'service_unreachable' }, { status: 503 })
  }
}

/** POSTs `body`, or GETs without one. */
export function callService(path: string, body?: object): Promise<Response> {
  const { SVC_SECRET_KEY } = process.env
  if (!SVC_SECRET_KEY) throw new Error('SVC_SECRET_KEY is not set, see .env.example')
  return fetch(serviceUrl() + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${SVC_SECRET_KEY}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    cache: 'no-store',
    signal: AbortSignal.timeout(patience_ms),
  })
}

/** The project, as every request of a backend names it. */
export function clientId(): string {
  const { SVC_CLIENT_ID } = process.env
  if (!SVC_CLIENT_ID) throw new Error('SVC_CLIENT_ID is not set, see .env.example')
  return SVC_CLIENT_ID
}
