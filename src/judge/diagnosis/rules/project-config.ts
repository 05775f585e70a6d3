import { groupBy, type JournaledExchange } from '#diagnosis/exchange.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { valueAt } from '#foundation/json.ts'
import { findingFor, judgeMatching, type Observed, ruleSet } from '../rule.ts'

/** Rules about the stored project config: the third of the five points to check when migrating. */
export const configRules = ruleSet('journal', {
  'config-not-found': {
    title: 'the project config is read with its own key',
    severity: 'error',
    costs: 'The page has neither the labels nor the sizes nor the consent rules of its project.',
    needs: 'a request for the project config',
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
  'config-stale': {
    title: 'the newest project config is in use',
    severity: 'warning',
    costs: 'The page goes on with the labels, sizes and consent rules of before.',
    needs: 'a project config that was read',
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
