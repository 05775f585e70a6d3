import { type NextRequest, NextResponse } from 'next/server'
import { serviceOrigin } from './lib/settings'

/** The policy of every page: its own scripts by nonce, and the service's resources that render.js and its frame need. */
export function proxy(request: NextRequest): NextResponse {
  const nonce = btoa(crypto.randomUUID())
  const isDevelopment = process.env.NODE_ENV === 'development'
  const service = serviceOrigin()
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}' ${service} ${isDevelopment ? "'unsafe-eval'" : ''}`,
    `connect-src 'self' ${service}`,
    `frame-src ${service || "'none'"}`,
    `style-src 'self' ${isDevelopment ? "'unsafe-inline'" : `'nonce-${nonce}'`}`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')

  // Next.js finds the nonce for its scripts in the policy of the request.
  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy)
  const response = NextResponse.next({ request: { headers } })
  response.headers.set('content-security-policy', policy)
  response.headers.set('referrer-policy', 'strict-origin-when-cross-origin')
  response.headers.set('x-content-type-options', 'nosniff')
  return response
}

export const config = { matcher: '/((?!api/|_next/).*)' }
