/** Origins: from which page a request came, and whether its project allows it. */
import { originEntryProblem, serializeOrigin } from '#contract/origins.ts'
import {
  countPhrase,
  formatRoute,
  groupBy,
  isActivation,
  isFromBrowser,
  type JournaledExchange,
  type NonEmpty,
  takeLast,
} from '#diagnosis/exchange.ts'
import { isLoopback } from '#foundation/http.ts'
import { findRefusals, type Observed, type RuleFinding, ruleSet } from '../rule.ts'

export const originRules = ruleSet('journal', {
  'origin-refused': {
    title: 'every page is on an allowed origin',
    severity: 'error',
    costs: 'The page gets no activation token and shows no ads.',
    fix: 'Add the origin of the page, with scheme and port, to the allowed origins of the project.',
    needs: 'a request from a browser, or an activation',
    judge(observed) {
      const { exchanges } = observed
      const refused = groupBy(exchanges, ({ reason_code, request_headers }) =>
        reason_code === 'origin_not_allowed' ? (request_headers.origin ?? withoutOrigin) : null,
      )
      return {
        sample_size: exchanges.filter((exchange) => isFromBrowser(exchange) || isActivation(exchange)).length,
        findings: [
          ...[...refused].map(([origin, requests]) => notAllowed(origin, requests, observed)),
          ...findRefusals(exchanges, ['origin_missing']),
        ],
      }
    },
  },
  /**
   * Browsers let a page on a public address reach this computer only from a secure context and after the user has
   * agreed (Local Network Access). A request that a browser blocks never arrives, so this looks at the requests that
   * did.
   */
  'local-network': {
    title: 'pages may reach a sandbox on this computer',
    severity: 'warning',
    costs: 'The browser asks its user first, or blocks the requests: no ad is shown.',
    needs: 'a request from a page',
    fix: 'Allow local network access for that page, or serve it from http://localhost while you develop.',
    judge({ exchanges }) {
      // One that was refused has its own rule.
      const pages = groupBy(exchanges, ({ reason_code, request_headers }) =>
        reason_code === 'origin_not_allowed' ? null : (request_headers.origin ?? null),
      )
      const findings = [...pages].flatMap(([origin, requests]) => {
        const found = elsewhere(origin)
        return found === null ? [] : [{ ...found, requests }]
      })
      return { sample_size: pages.size, findings }
    },
  },
})

/** Stands for the origin of requests that had none. */
const withoutOrigin = ''

function notAllowed(origin: string, requests: NonEmpty<JournaledExchange>, observed: Observed): RuleFinding {
  const { projects, command_name } = observed
  const last = takeLast(requests)
  if (origin === withoutOrigin) {
    return {
      message: `${formatRoute(last)} was refused ${countPhrase(requests.length)}: it had no Origin header.`,
      fix: 'Send it from a page, whose browser adds the header, or with the secret key from a server.',
      requests,
      reason: 'origin_not_allowed',
    }
  }
  if (origin === 'null') {
    return {
      message: `A page without its own origin (null) was refused ${countPhrase(requests.length)} (${formatRoute(last)}): no project can allow it.`,
      fix: 'Serve the page from http://localhost, not as a file; a sandboxed iframe around it needs allow-same-origin.',
      requests,
      reason: 'origin_not_allowed',
    }
  }
  const problem = originEntryProblem(origin)
  if (problem !== null) {
    return {
      message: `${origin} was refused ${countPhrase(requests.length)} (${formatRoute(last)}): it ${problem.message}.`,
      fix: `No project can allow it. Needed: ${problem.expected}.`,
      requests,
      reason: 'origin_not_allowed',
    }
  }
  const client_id = last.client_id ?? observed.client_id ?? projects[0]?.client_id ?? 'CLIENT_ID'
  const allowed = projects.find((project) => project.client_id === client_id)?.allowed_origins ?? []
  const near = allowed.map((entry) => difference(origin, entry)).find((text) => text !== null)
  return {
    message: `${origin} was refused ${countPhrase(requests.length)} (${formatRoute(last)}): ${near ?? `${client_id} allows ${allowed.join(', ') || 'no origin'}`}.`,
    fix: `${command_name} sandbox projects update ${client_id} --set "allowed_origins=${[...allowed, origin].join(',')}"`,
    requests,
    reason: 'origin_not_allowed',
  }
}

/** Returns how an origin differs from an allowed one if they differ in only one part, or null. */
export function difference(origin: string, allowed: string): string | null {
  const [seen, entry] = [splitOrigin(origin), splitOrigin(allowed)]
  if (seen === null || entry === null) return null
  const isOpen = { scheme: false, host: false, port: entry.port === '*' }
  const [only, ...others] = (['scheme', 'host', 'port'] as const).filter((it) => !isOpen[it] && seen[it] !== entry[it])
  const areLoopback = isLoopback(seen.host) && isLoopback(entry.host)
  if (only === undefined || others.length > 0 || (only === 'host' && !areLoopback)) return null
  return `${allowed} is allowed, the ${only} differs`
}

/** Ports of allowed origins can be `*`, which is not a valid URL. */
function splitOrigin(origin: string): { scheme: string; host: string; port: string } | null {
  const [, rest = origin, isAny] = /^(.*?)(:\*)?\/?$/.exec(origin) ?? []
  const [, scheme, host, port] = /^(.*):\/\/(.*?)(?::(\d+))?$/.exec(serializeOrigin(rest) ?? '') ?? []
  if (scheme === undefined || host === undefined) return null
  const usual = scheme === 'https' ? '443' : '80'
  return { scheme, host, port: isAny === undefined ? (port ?? usual) : '*' }
}

function elsewhere(origin: string): RuleFinding | null {
  const url = URL.parse(origin)
  if (url === null) {
    return {
      message: `A page without its own origin (${origin}) called the service.`,
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
