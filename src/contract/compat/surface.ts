/** What the endpoints of old clients have in common: the surface that they are on, and the route that replaces them. */
import type { EndpointEntry } from '../endpoint.ts'
import { limits } from '../limits.ts'

/** Requests with this header, whatever its value, come from an old client (C08). No WebSocket handshake has it. */
export const oldClientHeader = 'x-csl-wrapper-version'

const alias = {
  stability: 'deprecated',
  provenance: 'observed',
  rate: 'default',
  body_limit_bytes: limits.body_bytes,
  status: 200,
} as const satisfies Partial<EndpointEntry>

/** Common to the aliases for servers, under `/public/wrapper/v1/`. `successor`: the path that replaces them. */
export const onWrapper = (successor: string) => ({ ...alias, successor, credentials: ['secret_key'] }) as const

/** Common to the aliases for browsers, under `/public/browser/v1/`. `successor`: the path that replaces them. */
export const onBrowser = (successor: string) => ({ ...alias, successor, credentials: ['activation_token'] }) as const
