/**
 * Local Network Access: browsers let a page of a public address reach this machine only from a secure context and after
 * the person has agreed. A refused request never arrives, so what is told here comes from those that did.
 */

import type { Traffic } from '../exchange.ts'
import { type Check, type Outcome, ok, orOk, problem, warning } from './finding.ts'

export const localNetwork: Check<Pick<Traffic, 'exchanges'>> = {
  name: 'local network access',
  find: ({ exchanges }) => {
    const origins = [...new Set(exchanges.flatMap(({ detail }) => detail?.request_headers.origin ?? []))]
    if (origins.length === 0) return [ok('No page was seen; nothing to say.')]
    return orOk(origins.flatMap(outcomeOf), 'Every page that was seen is served from this machine.')
  },
}

function outcomeOf(origin: string): Outcome[] {
  const url = URL.parse(origin)
  if (url === null) {
    return [
      warning(
        `A page without an origin of its own (${origin}) called the service.`,
        'A sandboxed iframe or a file has none: serve the page from http://localhost.',
      ),
    ]
  }
  if (isThisMachine(url.hostname)) return []
  if (url.protocol === 'http:') {
    return [
      problem(
        `${origin} is not this machine and not https: browsers block its requests to a sandbox here.`,
        'Serve the page from http://localhost while you develop, or over https.',
      ),
    ]
  }
  return [
    warning(
      `${origin} is not this machine: browsers ask before they let it reach a sandbox here.`,
      'Allow local network access for that page, or serve it from http://localhost while you develop.',
    ),
  ]
}

export function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname)
}
