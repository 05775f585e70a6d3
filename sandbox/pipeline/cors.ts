/** Cross-origin answers (A90, A91). Credentials are never allowed; `Vary: Origin` is always there. */
import { isOriginAllowed, serializeOrigin } from '../domain/settings.ts'
import type { Services } from '../operations/context.ts'

/** `date` beside those of A90: the renderer mends a wrong user clock by it. */
export const exposedHeaders =
  'x-request-id, date, retry-after, ratelimit, ratelimit-policy, x-sandbox-warning, x-sandbox-would-bill, x-sandbox-slot-ids, x-sandbox-fault'

/** Whether some project of this sandbox allows the origin, in the mode that allows most. */
export async function isKnownOrigin(services: Services, origin: string): Promise<boolean> {
  if (serializeOrigin(origin) === null) return false
  const projects = await services.store.listProjects()
  return projects.some(({ settings }) => isOriginAllowed(origin, settings.allowed_origins, 'test'))
}

/** Headers that let a page of `origin` read the answer. */
export function readableBy(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders }
}

/** The answer to a preflight from an allowed origin. */
export function preflightHeaders(origin: string, methods: readonly string[], privateNetwork: boolean) {
  return {
    ...readableBy(origin),
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': 'authorization, content-type, if-none-match',
    'access-control-max-age': '600',
    ...(privateNetwork ? { 'access-control-allow-private-network': 'true' } : {}),
  }
}
