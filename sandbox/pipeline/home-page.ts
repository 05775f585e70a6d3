/** What a browser sees at the sandbox's own address: that it runs, and where to look. */
import { randomBytes } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { encodeId } from '../../src/contract/ids.ts'
import type { Services } from '../operations/context.ts'

const links: readonly (readonly [string, string])[] = [
  ['/_sandbox/demo', 'The demo host: five AI surfaces with a sponsored slot, and a live timeline'],
  ['/_sandbox/placements', 'Placements, newest first; add the slot_id for the decision trace'],
  ['/_sandbox/beacons', 'Beacons, accepted and rejected, with their verdict'],
  ['/_sandbox/requests', 'The request journal'],
  ['/_sandbox/events?since_seq=0', 'Events as they happen'],
  ['/_sandbox/evidence/verify', 'The evidence chains, verified now'],
  ['/_sandbox/info', 'Version, database, clock, projects'],
  ['/_sandbox/contract', 'What is documented, observed and assumed'],
  ['/_sandbox/openapi.json', 'The OpenAPI 3.1 document'],
]

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --paper: #fff; --line: #d8dee4; --accent: #0b6e4f }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #9198a1; --paper: #10151b; --line: #2d343c; --accent: #4cc38a } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 44rem; margin: 0 auto; padding: 3rem 1.25rem }
h1 { font-size: 1.5rem; margin: 0 0 .25rem } p { margin: 0 0 2rem; color: var(--quiet) }
dl { margin: 0 } dt { border-top: 1px solid var(--line); padding-top: .75rem } dd { margin: 0 0 .75rem; color: var(--quiet) }
a { color: var(--accent); font: 15px ui-monospace, monospace }`

export function homePage(services: Services, reply: FastifyReply): FastifyReply {
  const nonce = randomBytes(16).toString('base64url')
  const items = links.map(([path, text]) => `<dt><a href="${path}">${path}</a></dt><dd>${text}</dd>`).join('')
  return reply
    .headers({
      'x-request-id': encodeId('req', services.platform.newId()),
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>svc sandbox</title><style nonce="${nonce}">${style}</style><main><h1>The sandbox is running</h1><p>svc ${services.version} at ${services.base_url}</p><dl>${items}</dl></main></html>`,
    )
}
