/** The control plane in the way of a request: who may call it, and what is noted of it. */
import { journalPath } from '#contract/recordings/redaction.ts'
import { withoutQuery } from '#foundation/http.ts'
import type { Services } from '#operations/context.ts'
import type { PipelineResponse, Request, Route } from './exchange.ts'
import { checkControlPlane, type GuardOptions, moveTokenToCookie } from './guards.ts'

/**
 * Returns the route for a caller that may use it, with its token in a cookie.
 * @throws ApiError 403 origin_refused or role_missing
 */
export async function guardControlPlane(
  { services, guard }: { services: Services; guard: GuardOptions },
  found: Route | null,
  request: Request,
): Promise<Route | null> {
  if (found?.isForHostPages === true) return found
  const { url, base_url, access } = services
  await checkControlPlane(request, found ?? {}, { ...guard, access, own_origins: [url, base_url] })
  return found === null ? null : moveTokenToCookie(found, request, guard, url.startsWith('https:'))
}

/**
 * Notes an action of the control plane in the audit list (A97). One that was refused for lack of a token is not an
 * action: any client could fill the list with them.
 */
export async function noteAction(
  services: Services,
  action: string,
  request: Request,
  response: PipelineResponse,
): Promise<void> {
  const { status, error } = response
  const reason_code = error?.reason_code ?? null
  if (reason_code === 'origin_refused') return
  const path = journalPath(withoutQuery(request.url))
  await services.access.note({ token: request.holder?.name ?? null, action, path, status, reason_code })
}
