/** How the command line sends requests: the fetch of its clients, without the cost of the global one. */

import { type Fetch, globalFetch } from '#client/exchange.ts'
import { isLoopbackUrl, sendDirectly } from '#client/node-fetch.ts'
import { version } from '#text/version.ts'
import { commandLineAgent } from './system.ts'

/**
 * Returns a fetch over `node:http`: the global one takes 50 ms of processor time to load, twice what Node takes to
 * start. Sends plain HTTP itself, and everything to loopback. Leaves TLS and proxies of other services to the global
 * fetch. Redirects are returned as responses: no service of the contract sends one, and following it would send headers
 * and bodies to a service that nobody named.
 */
export function httpFetch(env: Readonly<Record<string, string | undefined>>): Fetch {
  return (url, init) => {
    const headers = { 'user-agent': `${commandLineAgent}${version}`, ...init.headers }
    const isDirect = isLoopbackUrl(url) || (url.startsWith('http:') && !env.NODE_USE_ENV_PROXY)
    return (isDirect ? sendDirectly : globalFetch)(url, { ...init, headers })
  }
}
