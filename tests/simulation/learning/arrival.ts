/** A request that the process has received, and what was known then. */
import type { Acknowledged, Known, Sent } from '../acknowledged.ts'
import type { Problem } from '../problem.ts'
import type { Received } from '../virtual/network.ts'

export interface Arrival {
  path: string
  generation: number
  known: Known
  /** Whether a replacement of the state was under way at the same time: then nothing is known of its order. */
  isMixed: boolean
  replaces: boolean
  /** What is known of the snapshot that it restores. */
  snapshot: Known | null
  /** What it does, as an operation of the history; null for what is none. */
  operation: Sent | null
  /** Of a consent. */
  expected_revision: number | null
  /** How often the rate buckets had been forgotten, and the clock moved. */
  rates: number
  clocks: number
}

/** What the parts of the learner share. */
export interface Learning {
  acknowledged: Acknowledged
  add(problem: Problem): void
  /** Whether what was known when a request arrived may be compared with its response. */
  isKnown(arrival: Arrival): boolean
}

export function readBody<Body>({ body }: Received): Body {
  return JSON.parse(body.toString('utf8')) as Body
}

/** When a response was written, by the clock of the sandbox: at most a second too early. NaN without a date. */
export function readDate({ headers }: Received): number {
  return Date.parse(headers.date ?? '')
}
