/**
 * The sandbox sits on a developer's machine beside a browser that visits the whole web. Every request must name this
 * host (DNS rebinding); the control plane answers no page but its own.
 */
import { ApiError } from '../../src/contract/errors.ts'

const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]'])

export function isLoopback(host: string): boolean {
  return loopbackHosts.has(host) || host === '::1' || host.startsWith('127.')
}

const mostKnown = 64

/** Checks Host headers. One that was found good is known by its text: a client sends the same with every request. */
export function hostGuard(configured: string): (header: string | undefined) => void {
  const own = configured.toLowerCase()
  const known = new Set<string | undefined>()
  /** @throws ApiError 421 when the Host header names neither loopback nor the configured host */
  return (header) => {
    if (known.has(header)) return
    const host = header?.toLowerCase().replace(/:\d{1,5}$/, '') ?? ''
    if (!loopbackHosts.has(host) && host !== own && host !== `[${own}]`) throw new ApiError('host_not_allowed')
    if (known.size < mostKnown) known.add(header)
  }
}

export interface ControlRequest {
  method: string
  origin: string | undefined
  sec_fetch_site: string | undefined
  token: string | undefined
}

/**
 * Programs on loopback need nothing. A browser, known by Origin or Sec-Fetch-Site, must be on the sandbox's own origin,
 * and must carry the token of this start to write. A sandbox that listens beyond loopback demands the token of all.
 * @throws ApiError 403 origin_refused
 */
export function checkControl(request: ControlRequest, own_origin: string, token: string, isPublic: boolean): void {
  const hasToken = request.token === token
  if (isPublic && !hasToken) {
    throw new ApiError('origin_refused', {
      message: 'This sandbox listens beyond loopback: its control plane needs the admin token.',
      hint: 'Send the admin token that svc start has printed in the x-sandbox-token header.',
    })
  }
  const { origin, sec_fetch_site } = request
  if (origin === undefined && sec_fetch_site === undefined) return
  const isOwn = (origin === undefined || origin === own_origin) && isOwnSite(sec_fetch_site)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isOwn || (!isRead && !hasToken)) throw new ApiError('origin_refused')
}

/** `none` is an address that a person typed. */
function isOwnSite(sec_fetch_site: string | undefined): boolean {
  return sec_fetch_site === undefined || sec_fetch_site === 'same-origin' || sec_fetch_site === 'none'
}
