/** What the console on a page gets from the sandbox about the slots whose asset tokens the page has (A114). */
import type { AuthoritativeConsent, ConsentState } from '../../fields.ts'
import type { BeaconItem } from '../beacons.ts'
import type { BillingVerdict, FillDecision } from '../placements.ts'

/** Asset tokens of one request. */
export const maxConsoleTokens = 100

/** The newest beacons of a slot that the console gets. */
export const maxConsoleBeacons = 100

/** Response of POST /_sandbox/console/page/slots. Tokens that are unknown, or not for the asking page, have no slot. */
export interface ConsoleSlots {
  server_time_ms: number
  slots: ConsoleSlot[]
}

/** A filled slot as the page that shows it may see it. Nothing of the request's prompt, topic or metadata, no key. */
export interface ConsoleSlot {
  asset_token: string
  slot_id: string
  session_id: string | null
  format: FillDecision['format']
  sponsor_name: string
  /** Whether its campaign was forced: it is never billed. */
  is_forced: boolean
  requested_at_ms: number
  decided_at_ms: number
  frame_loaded_at_ms: number | null
  /** Until when beacons of the asset token are accepted, clicks apart. It moves when the frame is first loaded. */
  expires_at_ms: number
  /** Oldest first; the newest when there are more than `maxConsoleBeacons`. */
  beacons: ConsoleBeacon[]
  billing: BillingVerdict & {
    /** What to do to get it billed; null when it would be, or when nothing can be done. */
    missing: string | null
  }
  consent: {
    /** Bound to the decision. */
    state: ConsentState
    revision: AuthoritativeConsent['revision']
    expires_at_ms: number
    /** Of the session now; null when none is stored. */
    current_state: ConsentState | null
    current_revision: AuthoritativeConsent['revision'] | null
  }
  /** The inspector's page of the slot. */
  inspector_url: string
}

/** A beacon as the sandbox received it, accepted or not. */
export interface ConsoleBeacon extends Pick<BeaconItem, 'event' | 'verdict' | 'reason_code' | 'would_bill' | 'metric'> {
  /** When it was received. */
  at_ms: number
  /** The reason as a clause, such as "the page was hidden". */
  meaning: string
}
