/** What `svc beacons lint` finds. */
import type { ReasonCode } from '../../contract/errors.ts'
import type { AcceptCode } from '../../contract/v1/beacons.ts'

/** What the service would accept and count, and which is wrong all the same. */
export type LintCode = 'event_spelling_deprecated' | 'route_deprecated' | 'occurred_at_ignored' | 'clip_out_of_order'

/** `error`: the service refuses it. `warning`: it is accepted, and not billed or not as it should be. */
export type Severity = 'error' | 'warning'

export interface LintFinding {
  /** From 1. */
  line: number
  column: number
  severity: Severity
  /** The reason_code that the service would answer, or the lint's own. */
  code: ReasonCode | Exclude<AcceptCode, 'OK'> | LintCode
  /** The member, dotted; null where it is the whole beacon. */
  path: string | null
  /** What is wrong, one sentence. No token and no key. */
  message: string
  /** What to do. */
  fix: string
}

/** A finding before its place is known. */
export interface LooseFinding extends Omit<LintFinding, 'line' | 'column'> {
  /** The member that it points at; the beacon when empty. */
  at: readonly PropertyKey[]
  /** Whether the name of that member is meant, not its value. */
  isName?: true
}
