/**
 * The endpoints that a page may call, as plain data. The build evaluates this file and puts the data in its place, so that
 * a page loads neither the contract nor a schema.
 */

import type { Endpoint } from '#contract/endpoint.ts'
import { compat, v1 } from '#contract/index.ts'
import { mapTable } from '#foundation/table-entry.ts'
import type { SentEndpoint } from './exchange.ts'

/**
 * The JSON endpoints of the public API, and the report of a generation. Files and the control plane are not for this
 * client.
 */
export type BrowserEndpointId = Exclude<keyof typeof v1, 'render.script' | 'render.frame'> | 'generation.report'

const { 'render.script': _script, 'render.frame': _frame, ...json } = v1
const pageEndpoints = { ...json, 'generation.report': compat['generation.report'] }

// A request only needs to know whether there is a credential.
export const browserEndpoints = mapTable<BrowserEndpointId, Endpoint, SentEndpoint>(
  pageEndpoints,
  ({ id, method, path, credentials, status }) => ({
    ...{ id, method, path, status },
    credentials: credentials.slice(-1),
    response: {},
  }),
)
