import { originOfUrl } from '#contract/origins.ts'
import { groupBy, isActivated, isBeacon, type JournaledExchange, textAt } from '#diagnosis/exchange.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { valueAt } from '#foundation/json.ts'
import { findingFor, judgeMatching, type Observed, ruleSet } from '../rule.ts'

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

/** Returns the projects of the sandbox, for a fix. */
export function projectsHere(projects: Observed['projects']): string {
  return `Projects here: ${projects.map(({ client_id }) => client_id).join(', ')}.`
}

/** Whether a page loaded render.js, or a cached render.js sent this beacon. */
function isOfRenderer(exchange: JournaledExchange): boolean {
  const { path, request_body } = exchange
  const isScript = withoutQuery(path) === '/v1/render.js'
  return isScript || (isBeacon(exchange) && /^ri_\d+$/.test(textAt(request_body, 'render_instance_id') ?? ''))
}

/** Returns the origin of the page that a request came from, or null. A script is requested with only a Referer. */
function pageOriginHeader({ request_headers: { origin, referer } }: JournaledExchange): string | null {
  return origin ?? originOfUrl(referer ?? '')
}

/** Returns the project whose config a request reads, or null. */
function configClientId({ path }: JournaledExchange): string | null {
  return configPath.exec(withoutQuery(path))?.groups?.client_id ?? null
}

/** Returns the revision of a config from the body, or for a 304 from its ETag: `W/"3-test-1.0.0"`. */
function readRevision({ response_body, response_headers }: JournaledExchange): number | null {
  const revision = valueAt(response_body, 'config_revision')
  if (typeof revision === 'number') return revision
  const tagged = /^W\/"(\d+)-/.exec(response_headers.etag ?? '')?.[1]
  return tagged === undefined ? null : Number(tagged)
}
