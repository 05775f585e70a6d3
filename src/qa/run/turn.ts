/** A step under way: what its kind may use. */
import type { EndpointId } from '../../contract/index.ts'
import type { JsonValue } from '../json.ts'
import type { Check, Screenshot } from '../result.ts'
import type { Answer, RequestMembers } from '../steps/step-kind.ts'
import type { Target } from '../target/target.ts'
import type { CaseState } from './case-state.ts'

/** What a request step sends; `set`, `unset` and the like of the step are applied to it. */
export interface Call {
  params?: Readonly<Record<string, string>> | undefined
  query?: Readonly<Record<string, JsonValue>> | undefined
  body?: JsonValue | undefined
  members?: RequestMembers
}

/** A request that need not be one of the contract. */
export interface RawCall {
  method: string
  /** Path and query, relative to the base URL. */
  path: string
  /** Sent as it is; null for none. */
  body: string | null
  headers?: Readonly<Record<string, string>>
  members?: RequestMembers
}

export interface Turn {
  readonly target: Target
  readonly state: CaseState
  /** Aborted when the time of the step is up, or the run ends. */
  readonly signal: AbortSignal
  /** When the time of the step is up, as performance.now() counts. */
  readonly ends_at_ms: number
  /** Stored pictures are to be replaced by what is seen. */
  readonly update_snapshots: boolean
  /** Folder of the suite file, for files that it names. */
  readonly folder: string
  /** Calls an endpoint of the contract as the step says. Throws NoAnswer. */
  call(id: EndpointId, call: Call): Promise<Answer>
  /** Sends any request. Throws NoAnswer. */
  request(call: RawCall): Promise<Answer>
  /** Where a member of the step is written: `['do', 2, 'click']`. */
  placeOf(path: readonly (string | number)[]): Pick<Check, 'place'>
  /** Adds one expectation, met or not. */
  check(check: Check): void
  screenshot(picture: Screenshot): void
}
