/** Origins of pages: which are allowed, and which browsers let reach a sandbox on this computer. */
import { isLoopback } from '../../foundation/http.ts'
import { type Exchange, groupBy, isActivation, isFromBrowser, routeOf, times } from '../exchange.ts'
import { type Finding, type Observed, type RuleBody, refusals, ruleSet } from '../rule.ts'

export const originRefused: RuleBody<'journal'> = {
  title: 'every page is on an allowed origin',
  severity: 'error',
  costs: 'The page gets no activation token and shows no ads.',
  fix: 'Add the origin of the page, with scheme and port, to the allowed origins of the project.',
  needs: 'a request from a browser, or an activation',
  judge(observed) {
    const { exchanges } = observed
    const refused = groupBy(exchanges, ({ reason_code, request_headers }) =>
      reason_code === 'origin_not_allowed' ? (request_headers.origin ?? '(none)') : null,
    )
    return {
      looked_at: exchanges.filter((exchange) => isFromBrowser(exchange) || isActivation(exchange)).length,
      findings: [
        ...[...refused].map(([origin, requests]) => notAllowed(origin, requests, observed)),
        ...refusals(exchanges, ['origin_missing']),
      ],
    }
  },
}

function notAllowed(origin: string, requests: readonly Exchange[], observed: Observed): Finding {
  const { projects, command_name } = observed
  const last = requests.at(-1)!
  const client_id = last.client_id ?? observed.client_id ?? projects[0]?.client_id ?? 'CLIENT_ID'
  const allowed = projects.find((project) => project.client_id === client_id)?.allowed_origins ?? []
  const near = allowed.map((entry) => difference(origin, entry)).find((text) => text !== null)
  return {
    message: `${origin} was refused ${times(requests.length)} (${routeOf(last)}): ${near ?? `${client_id} allows ${allowed.join(', ') || 'no origin'}`}.`,
    fix: `${command_name} projects update ${client_id} --set "allowed_origins=${[...allowed, origin].join(',')}"`,
    requests,
    reason: 'origin_not_allowed',
  }
}

/** Returns how an origin differs from an allowed one when it is in one part only, or null. */
export function difference(origin: string, allowed: string): string | null {
  const [seen, entry] = [partsOf(origin), partsOf(allowed)]
  if (seen === null || entry === null) return null
  const isOpen = { scheme: false, host: false, port: entry.port === '*' }
  const [only, ...others] = (['scheme', 'host', 'port'] as const).filter((it) => !isOpen[it] && seen[it] !== entry[it])
  const areLoopback = isLoopback(seen.host) && isLoopback(entry.host)
  if (only === undefined || others.length > 0 || (only === 'host' && !areLoopback)) return null
  return `${allowed} is allowed, the ${only} differs`
}

/** Ports of allowed origins may be `*`, which is no URL. */
function partsOf(origin: string): { scheme: string; host: string; port: string } | null {
  const [, rest = origin, isAny] = /^(.*?)(:\*)?\/?$/.exec(origin) ?? []
  const url = URL.parse(rest)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return { scheme: url.protocol.slice(0, -1), host: url.hostname, port: isAny === undefined ? port : '*' }
}

/** Rules about pages elsewhere, for `svc doctor`. */
export const originRules = ruleSet('journal', {
  /**
   * Browsers let a page of a public address reach this computer only from a secure context and after the user has agreed
   * (Local Network Access). A request that a browser blocks never arrives, so this looks at those that did.
   */
  'local-network': {
    severity: 'warning',
    fix: 'Allow local network access for that page, or serve it from http://localhost while you develop.',
    judge({ exchanges }) {
      const pages = groupBy(exchanges, ({ request_headers }) => request_headers.origin ?? null)
      const findings = [...pages].flatMap(([origin, requests]) => {
        const found = elsewhere(origin)
        return found === null ? [] : [{ ...found, requests }]
      })
      return { looked_at: pages.size, findings }
    },
  },
})

function elsewhere(origin: string): Finding | null {
  const url = URL.parse(origin)
  if (url === null) {
    return {
      message: `A page without an origin of its own (${origin}) called the service.`,
      fix: 'A sandboxed iframe or a file has none: serve the page from http://localhost.',
    }
  }
  if (isLoopback(url.hostname)) return null
  if (url.protocol !== 'http:') {
    return { message: `${origin} is not this machine: browsers ask before they let it reach a sandbox here.` }
  }
  return {
    severity: 'error',
    message: `${origin} is not this machine and not https: browsers block its requests to a sandbox here.`,
    fix: 'Serve the page from http://localhost while you develop, or over https.',
  }
}
