/** The statuses that the contract has for an endpoint: whether a service may respond with another one is not its choice. */
import { type Endpoint, listFailures } from '#contract/endpoint.ts'
import { errorCodes, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import type { Difference } from '../result.ts'

/** Causes that do not depend on the endpoint. */
export const reasonsOfAnyEndpoint: readonly ReasonCode[] = [
  'method_not_allowed',
  'not_found',
  'http_malformed',
  'payload_too_large',
  'content_type_unsupported',
  'host_not_allowed',
]

/** Returns the statuses of an endpoint's success and of its errors (A11, A33), in order. */
export function listStatuses(endpoint: Endpoint): number[] {
  const { status, response, response_headers = [], pages = {} } = endpoint
  const reasons = [...listFailures(endpoint), ...reasonsOfAnyEndpoint]
  const statuses = [
    status,
    ...(response_headers.includes('etag') ? [304] : []),
    ...('media_type' in response && response.has_ranges === true ? [206, 416] : []),
    ...reasons.map((reason) => errorCodes[reasonCodes[reason].error].status),
    ...Object.values(pages),
  ]
  return [...new Set(statuses)].toSorted((a, b) => a - b)
}

/**
 * Whether the contract has a status. It has 200 of every endpoint, since a job's 201 is only observed (A33), and every 5xx
 * and 429: a proxy in front of a service has its own.
 */
export function isListedStatus(endpoint: Endpoint, status: number): boolean {
  return status === 200 || status === 429 || status >= 500 || listStatuses(endpoint).includes(status)
}

/** Whether a response of this status has a body by the contract: informational ones, redirects, 204 and 205 have none. */
export function hasContractBody(status: number): boolean {
  return status >= 200 && status !== 204 && status !== 205 && (status < 300 || status >= 400)
}

/** Whether a difference is a status that the contract does not have. */
export function isUnlistedStatus({ what, weight }: Difference): boolean {
  return what === 'status' && weight === 'documented'
}

/** Returns what of a response breaks the contract beside an unexpected status: which headers it has is not documented. */
export function listBesideStatus(differences: readonly Difference[]): Difference[] {
  return differences.filter(
    ({ what, weight }) => what !== 'status' && (weight === 'documented' || !what.startsWith('header ')),
  )
}
