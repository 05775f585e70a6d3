/**
 * A sponsor's site on its own origin, whose pages report what they can access.
 *
 * The reports come to this server, because the browser's driver sometimes misses a background tab. A cookie
 * names the test of a tab; the id is written into the page, since a page without an origin has no cookies.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { vi } from 'vitest'
import { wait_ms } from '#tests/patience.ts'
import type { Host } from './stage.ts'

/** What a page reports about itself. */
export interface Visit {
  path: string
  origin: string
  /** `kept`, or the error's name. */
  storage: string
  referrer: string
  /** The header that its request came with. */
  referer: string | null
  has_opener: boolean
  can_open: boolean
}

export interface Sponsor extends Disposable {
  readonly origin: string
  readonly click_url: string
  /** Assigns the tabs of a host page to its test. */
  introduce(host: Host): Promise<void>
  /** Waits for at least `count` reports of landing pages and of the page that the first of them opened. */
  visits(host: Host, at_least: number): Promise<Visit[]>
}

export async function openSponsor(): Promise<Sponsor> {
  const visits = new Map<string, Visit[]>()
  /** Tests whose first landing page was sent. */
  const greeted = new Set<string>()
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { id, ...visit } = JSON.parse(Buffer.concat(chunks).toString()) as Visit & { id: string }
      visits.set(id, [...(visits.get(id) ?? []), visit])
      return response.writeHead(204).end()
    }
    const id = /(?:^|; )test=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''
    const isFirst = !greeted.has(id)
    greeted.add(id)
    response.writeHead(200, { 'content-type': 'text/html' }).end(page(id, request.headers.referer ?? null, isFirst))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  return {
    origin,
    click_url: `${origin}/landing`,
    introduce: ({ context, session_id }) => context.addCookies([{ name: 'test', value: session_id, url: origin }]),
    visits: ({ session_id }, at_least) =>
      vi.waitUntil(
        () => {
          const seen = visits.get(session_id) ?? []
          return seen.length >= at_least && seen
        },
        { timeout: wait_ms, interval: 50 },
      ),
    [Symbol.dispose]: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The first page of a test opens one more. */
const page = (
  id: string,
  referer: string | null,
  isFirst: boolean,
): string => `<!doctype html><title>Sponsor</title><script>
let storage = 'kept'
try { localStorage.setItem('seen', '1') } catch (error) { storage = error.name }
const path = location.pathname
const can_open = ${isFirst} && open('/more') !== null
const { origin } = self
const { referrer } = document
const has_opener = opener !== null
const visit = { id: ${JSON.stringify(id)}, path, origin, storage, referrer, referer: ${JSON.stringify(referer)}, has_opener, can_open }
fetch('/visits', { method: 'POST', mode: 'no-cors', body: JSON.stringify(visit) })
</script>`
