/** Stored project config: the third of the five points to check when migrating. */
import { reasonCodes } from '../../contract/errors.ts'
import { type Exchange, member, pathOf, type Traffic } from '../exchange.ts'
import { type Check, type Outcome, orOk, problem, warning } from './finding.ts'
import { refusals } from './journal-check.ts'

export const storedConfig: Check<Traffic> = {
  name: 'project config',
  find: (traffic) =>
    orOk(
      [...unknownProject(traffic), ...neverRead(traffic), ...stale(traffic)],
      'No request named a project of another key, and no old config is in use.',
    ),
}

const configPath = /^\/v1\/projects\/([^/]+)\/config$/

/** Requests that name a project which the key is not of: a stored client_id of another environment. */
function unknownProject({ exchanges, projects }: Traffic): Outcome[] {
  const known = projects.map(({ client_id }) => client_id)
  const notFound = exchanges.filter((exchange) => exchange.status === 404 && configPath.test(pathOf(exchange)))
  const names = [...new Set(notFound.map((exchange) => configPath.exec(pathOf(exchange))?.[1] as string))]
  return [
    ...refusals(exchanges, {
      project_mismatch: `${reasonCodes.project_mismatch.hint} Projects here: ${known.join(', ')}.`,
    }),
    ...names.map((name) =>
      problem(
        known.includes(name)
          ? `The config of ${name} was asked for with a key of another project.`
          : `The config of ${name} was asked for; there is no such project here.`,
        `Set client_id to the project of the key. Projects here: ${known.join(', ')}.`,
      ),
    ),
  ]
}

/** A browser flow that never reads the config draws labels and sizes of its own. */
function neverRead({ exchanges }: Traffic): Outcome[] {
  const isUsed = exchanges.some((exchange) => pathOf(exchange) === '/v1/browser/activate' && exchange.status === 200)
  const isRead = exchanges.some((exchange) => configPath.test(pathOf(exchange)))
  if (!isUsed || isRead) return []
  return [
    warning(
      'Browsers activate, but nobody reads the project config.',
      'Read GET /v1/projects/{client_id}/config at start, for labels, sizes and consent, instead of storing them.',
    ),
  ]
}

/** The last config that a project's clients were given, against the one of now. */
function stale({ exchanges, projects }: Traffic): Outcome[] {
  return projects.flatMap(({ client_id, config_revision }) => {
    const last = exchanges.findLast(
      (exchange) => configPath.exec(pathOf(exchange))?.[1] === client_id && isGiven(exchange),
    )
    const given = last === undefined ? null : revisionOf(last)
    if (given === null || given >= config_revision) return []
    return [
      warning(
        `The config of ${client_id} was last read at revision ${given}; it is at ${config_revision} now.`,
        'Read it again, with If-None-Match and the ETag of the last answer; it may be kept for 60 seconds.',
      ),
    ]
  })
}

function isGiven({ status }: Exchange): boolean {
  return status === 200 || status === 304
}

/** From the body, or of a 304 from its ETag: `W/"3-test-1.0.0"`. */
function revisionOf({ detail }: Exchange): number | null {
  const told = member(detail?.response_body, 'config_revision')
  if (typeof told === 'number') return told
  const tagged = /^W\/"(\d+)-/.exec(detail?.response_headers.etag ?? '')?.[1]
  return tagged === undefined ? null : Number(tagged)
}
