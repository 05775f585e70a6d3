/** Every number of the contract that is not a field: limits, lifetimes, thresholds. Times in milliseconds. */
import { viewability, viewableSidePx } from './viewability.ts'

export const limits = {
  /** A21, bytes. */
  body_bytes: 65_536,
  beacon_body_bytes: 8_192,
  /** Of an imported export, bytes: as sent, and unpacked. */
  import_bytes: 1_073_741_824,
  import_unpacked_bytes: 8_589_934_592,
  /** Of an imported bundle, bytes: 20 turns with their media. */
  bundle_bytes: 16_777_216,
  /** Of your own campaigns sent to a sandbox, bytes: 32 MB of pictures and clips as base64, and the text. */
  demand_bytes: 52_428_800,
  /** A21. */
  slots_requested: { min: 1, max: 4 },
  /** A22. */
  wait_ms: { max: 5_000, placements_default: 1_500, decisions_default: 0 },
  /** A04, seconds settable per project. */
  activation_token_ttl_ms: 600_000,
  /** A05. */
  frame_load_within_ms: 300_000,
  beacons_after_load_ms: 1_800_000,
  click_after_load_ms: 86_400_000,
  /** A06. */
  beacon_token_ttl_ms: 1_800_000,
  /** A30. */
  decision_ttl_ms: 600_000,
  /** A62. */
  consent_ttl_ms: 180 * 86_400_000,
  consent_repeat_within_ms: 60_000,
  /** A73. */
  beacon_max_age_ms: 300_000,
  beacon_max_future_skew_ms: 60_000,
  heartbeat_interval_ms: 10_000,
  heartbeats_max: 30,
  /** A76. */
  viewability,
  /** A76. */
  viewable_side_px: viewableSidePx,
  /** A20: tokens a second and burst. */
  rate: {
    default: { per_second: 100, burst: 200 },
    beacons: { per_second: 500, burst: 1_000 },
    activate: { per_second: 20, burst: 40 },
  },
} as const

/** The maximum number of slots that a list is limited to by their ids, which fit into one request line. */
export const maxSlotIds = 500
