/** Keys and projects: who sends a request, and for which project. */
import { type ReasonCode, reasonCodes } from '../../contract/errors.ts'
import { pathPattern, withoutQuery } from '../../foundation/http.ts'
import { valueAt } from '../../foundation/json.ts'
import { type Exchange, groupBy, hasWarning, isActivated, isFromBrowser, routeOf, times } from '../exchange.ts'
import { about, type Observed, over, refusals, refusedFor, ruleSet } from '../rule.ts'
import { originRefused } from './origins.ts'

const secretKeyInBrowser: ReasonCode = 'secret_key_in_browser'

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
        looked_at: exchanges.filter(isFromBrowser).length,
        findings: [
          ...refusals(exchanges, [secretKeyInBrowser]),
          // A project may accept secret keys from pages, with a warning.
          ...about(
            accepted,
            `A secret key came from a browser page ${times(accepted.length)}; this project lets it pass.`,
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
    judge: refusedFor([
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
    judge: over(
      () => true,
      (exchanges, { projects }) =>
        refusals(exchanges, ['project_mismatch']).map((finding) => ({
          ...finding,
          fix: `${finding.fix} ${projectsHere(projects)}`,
        })),
    ),
  },
  'test-outcome-live': {
    title: 'test_outcome is sent with test keys only',
    severity: 'error',
    costs: 'In production the request is refused, and a user sees no ad.',
    fix: 'Send test_outcome only in tests, never from production code.',
    needs: 'a request that asks for a placement',
    judge: refusedFor(
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
    judge: over(
      ({ key }) => key === 'sk_test' || key === 'sk_live',
      (keyed) => {
        const live = keyed.filter(({ key }) => key === 'sk_live')
        const routes = [...new Set(live.map(routeOf))].join(', ')
        return about(live, `A production key was used ${times(live.length)}: ${routes}.`)
      },
    ),
  },
})

/** Rules about the stored project config, for `svc doctor`: the third of the five points to check when migrating. */
export const configRules = ruleSet('journal', {
  'config-not-found': {
    severity: 'error',
    fix: 'Set client_id to the project of the key.',
    judge: over(
      (exchange) => configOf(exchange) !== null,
      (reads, { projects }) => {
        const known = projects.map(({ client_id }) => client_id)
        const missing = groupBy(reads, (exchange) => (exchange.status === 404 ? configOf(exchange) : null))
        return [...missing].map(([client_id, requests]) => ({
          message: known.includes(client_id)
            ? `The config of ${client_id} was requested with a key of another project.`
            : `The config of ${client_id} was requested; there is no such project here.`,
          fix: `Set client_id to the project of the key. ${projectsHere(projects)}`,
          requests,
        }))
      },
    ),
  },
  'config-unread': {
    severity: 'warning',
    fix: 'Read GET /v1/projects/{client_id}/config at start, for labels, sizes and consent, instead of storing them.',
    judge: over(isActivated, (activations, { exchanges }) => {
      const isRead = exchanges.some((exchange) => configOf(exchange) !== null)
      return about(isRead ? [] : activations, 'Browsers activate, but nothing reads the project config.')
    }),
  },
  'config-stale': {
    severity: 'warning',
    fix: 'Read it again, with If-None-Match and the ETag of the last response; it may be kept for 60 seconds.',
    judge: over(
      (exchange) => configOf(exchange) !== null && (exchange.status === 200 || exchange.status === 304),
      (reads, { projects }) =>
        projects.flatMap(({ client_id, config_revision }) => {
          const last = reads.findLast((exchange) => configOf(exchange) === client_id)
          const revision = last === undefined ? null : revisionOf(last)
          if (revision === null || revision >= config_revision) return []
          return about(
            [last!],
            `The config of ${client_id} was last read at revision ${revision}; it is at ${config_revision} now.`,
          )
        }),
    ),
  },
})

const configPath = pathPattern('/v1/projects/{client_id}/config')

/** Returns the project whose config a request reads, or null. */
function configOf({ path }: Exchange): string | null {
  return configPath.exec(withoutQuery(path))?.groups?.client_id ?? null
}

/** Returns the revision of a config from the body, or for a 304 from its ETag: `W/"3-test-1.0.0"`. */
function revisionOf({ response_body, response_headers }: Exchange): number | null {
  const revision = valueAt(response_body, 'config_revision')
  if (typeof revision === 'number') return revision
  const tagged = /^W\/"(\d+)-/.exec(response_headers.etag ?? '')?.[1]
  return tagged === undefined ? null : Number(tagged)
}

function projectsHere(projects: Observed['projects']): string {
  return `Projects here: ${projects.map(({ client_id }) => client_id).join(', ')}.`
}
