/** Keys, projects and origins: who sends a request, for which project, and from which page. */
import { type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { originEntryProblem, originOfUrl, serializeOrigin } from '#contract/origins.ts'
import { isLoopback, pathPattern, withoutQuery } from '#foundation/http.ts'
import { valueAt } from '#foundation/json.ts'
import {
  countPhrase,
  formatRoute,
  groupBy,
  hasWarning,
  isActivated,
  isActivation,
  isBeacon,
  isFromBrowser,
  type RecordedExchange,
  textAt,
} from '../journal.ts'
import {
  type Finding,
  findingFor,
  findRefusals,
  judgeMatching,
  judgeRefused,
  type Observed,
  type RuleBody,
  ruleSet,
} from '../rule.ts'

const secretKeyInBrowser: ReasonCode = 'secret_key_in_browser'

const originRefused: RuleBody<'journal'> = {
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
      sample_size: exchanges.filter((exchange) => isFromBrowser(exchange) || isActivation(exchange)).length,
      findings: [
        ...[...refused].map(([origin, requests]) => notAllowed(origin, requests, observed)),
        ...findRefusals(exchanges, ['origin_missing']),
      ],
    }
  },
}

export const keyRules = ruleSet('journal', {
  'secret-key-in-browser': {
    title: 'no secret key comes from a browser',
    severity: 'error',
    costs: 'Anyone who opens the page can read the key and use your account.',
    fix: 'Revoke the key, keep secret keys on the server, and activate pages with a publishable key.',
    needs: 'a request from a browser',
    judge({ exchanges }) {
      const accepted = exchanges.filter((exchange) => hasWarning(exchange, secretKeyInBrowser))
      return {
        sample_size: exchanges.filter(isFromBrowser).length,
        findings: [
          ...findRefusals(exchanges, [secretKeyInBrowser]),
          // A project may accept secret keys from pages, with a warning.
          ...findingFor(
            accepted,
            `A secret key came from a browser page ${countPhrase(accepted.length)}; this project allows it.`,
            reasonCodes[secretKeyInBrowser].hint,
          ),
        ],
      }
    },
  },
  'credential-refused': {
    title: 'every request has a credential that its endpoint accepts',
    severity: 'error',
    costs: 'The request has no effect: no ad is shown, no beacon counts.',
    fix: 'Send a secret key as bearer token from servers; in pages, activate and send the activation token.',
    needs: 'a request',
    judge: judgeRefused([
      'credential_missing',
      'key_unknown',
      'key_revoked',
      'key_class',
      'token_in_wrong_place',
      'activation_token_invalid',
      'activation_token_expired',
      'publishable_key_malformed',
    ]),
  },
  'origin-refused': originRefused,
  'wrong-project': {
    title: 'client_id and key belong to the same project',
    severity: 'error',
    costs: 'The request has no effect.',
    fix: 'Use a client_id and a key of the same project.',
    needs: 'a request',
    judge: judgeMatching(
      () => true,
      (exchanges, { projects }) =>
        findRefusals(exchanges, ['project_mismatch']).map((finding) => ({
          ...finding,
          fix: `${finding.fix} ${projectsHere(projects)}`,
        })),
    ),
  },
  'test-outcome-live': {
    title: 'test_outcome is sent only with test keys',
    severity: 'error',
    costs: 'In production the request is refused, and a user sees no ad.',
    fix: 'Send test_outcome only in tests, never from production code.',
    needs: 'a request for a placement',
    judge: judgeRefused(
      ['test_outcome_requires_test_key'],
      ({ method, path }) => method === 'POST' && /^\/v1\/(placements|jobs)/.test(path),
    ),
  },
  'live-key': {
    title: 'tests use test keys',
    severity: 'warning',
    costs: 'With the real service these are production requests: they are billed to advertisers, and count as fraud.',
    fix: 'Read SVC_SECRET_KEY from the environment, and use a key that begins with sk_test_ in tests.',
    needs: 'a request with a secret key',
    judge: judgeMatching(
      ({ key }) => key === 'sk_test' || key === 'sk_live',
      (keyed) => {
        const live = keyed.filter(({ key }) => key === 'sk_live')
        const routes = [...new Set(live.map(formatRoute))].join(', ')
        return findingFor(live, `A production key was used ${countPhrase(live.length)}: ${routes}.`)
      },
    ),
  },
})

/** Rules about the stored project config, for `svc doctor`: the third of the five points to check when migrating. */
export const configRules = ruleSet('journal', {
  'config-not-found': {
    severity: 'error',
    fix: 'Set client_id to the project of the key.',
    judge: judgeMatching(
      (exchange) => configClientId(exchange) !== null,
      (reads, { projects }) => {
        const known = projects.map(({ client_id }) => client_id)
        const missing = groupBy(reads, (exchange) => (exchange.status === 404 ? configClientId(exchange) : null))
        return [...missing].map(([client_id, requests]) => ({
          message: known.includes(client_id)
            ? `The config of ${client_id} was requested with a key of another project.`
            : `The config of ${client_id} was requested, but there is no such project here.`,
          fix: `Set client_id to the project of the key. ${projectsHere(projects)}`,
          requests,
        }))
      },
    ),
  },
  /** render.js needs no config: it takes labels and sizes from the placement. */
  'config-unread': {
    severity: 'warning',
    fix: 'Read GET /v1/projects/{client_id}/config at startup, for labels, sizes and consent, instead of storing them.',
    judge: judgeMatching(isActivated, (activations, { exchanges }) => {
      const isRead = exchanges.some((exchange) => configClientId(exchange) !== null)
      const rendered = new Set(exchanges.filter(isOfRenderer).map(pageOriginHeader))
      const own = activations.filter((exchange) => !rendered.has(pageOriginHeader(exchange)))
      return findingFor(isRead ? [] : own, 'Browsers activate without render.js, but nothing reads the project config.')
    }),
  },
  'config-stale': {
    severity: 'warning',
    fix: 'Read it again, with If-None-Match and the ETag of the last response; it may be cached for 60 seconds.',
    judge: judgeMatching(
      (exchange) => configClientId(exchange) !== null && (exchange.status === 200 || exchange.status === 304),
      (reads, { projects }) =>
        projects.flatMap(({ client_id, config_revision }) => {
          const last = reads.findLast((exchange) => configClientId(exchange) === client_id)
          const revision = last === undefined ? null : readRevision(last)
          if (revision === null || revision >= config_revision) return []
          return findingFor(
            [last!],
            `The config of ${client_id} was last read at revision ${revision}; it is now at ${config_revision}.`,
          )
        }),
    ),
  },
})

const configPath = pathPattern('/v1/projects/{client_id}/config')

/** Whether a page loaded render.js, or a cached render.js sent this beacon. */
function isOfRenderer(exchange: RecordedExchange): boolean {
  const { path, request_body } = exchange
  const isScript = withoutQuery(path) === '/v1/render.js'
  return isScript || (isBeacon(exchange) && /^ri_\d+$/.test(textAt(request_body, 'render_instance_id') ?? ''))
}

/** Returns the origin of the page that a request came from, or null. A script is requested with only a Referer. */
function pageOriginHeader({ request_headers: { origin, referer } }: RecordedExchange): string | null {
  return origin ?? originOfUrl(referer ?? '')
}

/** Returns the project whose config a request reads, or null. */
function configClientId({ path }: RecordedExchange): string | null {
  return configPath.exec(withoutQuery(path))?.groups?.client_id ?? null
}

/** Returns the revision of a config from the body, or for a 304 from its ETag: `W/"3-test-1.0.0"`. */
function readRevision({ response_body, response_headers }: RecordedExchange): number | null {
  const revision = valueAt(response_body, 'config_revision')
  if (typeof revision === 'number') return revision
  const tagged = /^W\/"(\d+)-/.exec(response_headers.etag ?? '')?.[1]
  return tagged === undefined ? null : Number(tagged)
}

function projectsHere(projects: Observed['projects']): string {
  return `Projects here: ${projects.map(({ client_id }) => client_id).join(', ')}.`
}

function notAllowed(origin: string, requests: readonly RecordedExchange[], observed: Observed): Finding {
  const { projects, command_name } = observed
  const last = requests.at(-1)!
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
    fix: `${command_name} projects update ${client_id} --set "allowed_origins=${[...allowed, origin].join(',')}"`,
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

/** Rules about pages elsewhere, for `svc doctor`. */
export const originRules = ruleSet('journal', {
  /**
   * Browsers let a page on a public address reach this computer only from a secure context and after the user has
   * agreed (Local Network Access). A request that a browser blocks never arrives, so this looks at the requests that
   * did.
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
      return { sample_size: pages.size, findings }
    },
  },
})

function elsewhere(origin: string): Finding | null {
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
