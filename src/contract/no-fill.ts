/** Why a decision did not fill. The codes are stable and append-only; `nbr` is the OpenRTB no-bid reason. */
interface NoFillRow {
  meaning: string
  origin: 'core_policy' | 'partner' | 'transport' | 'test'
  nbr: number
  retry: 'next turn' | 'after change' | 'no' | 'next topic' | 'after consent' | 'later' | 'yes'
  how: string
}

export const noFillReasons = {
  no_demand: {
    meaning: 'No partner offered a creative.',
    origin: 'partner',
    nbr: 0,
    retry: 'next turn',
    how: 'A fill rate below 1, a topic and job type without demand, or an empty catalogue.',
  },
  timeout: {
    meaning: 'The partner responded after the window.',
    origin: 'transport',
    nbr: 15,
    retry: 'next turn',
    how: 'The scenario no_fill_timeout.',
  },
  partner_error: {
    meaning: 'The partner responded with an error.',
    origin: 'transport',
    nbr: 1,
    retry: 'next turn',
    how: 'The scenario no_fill_partner_error.',
  },
  below_floor: {
    meaning: 'All offers are under the floor.',
    origin: 'partner',
    nbr: 501,
    retry: 'after change',
    how: 'overrides.bidfloor above the catalogue: 1000.',
  },
  format_mismatch: {
    meaning: 'No creative of an allowed format.',
    origin: 'core_policy',
    nbr: 502,
    retry: 'after change',
    how: 'overrides.allowed_formats.',
  },
  size_mismatch: {
    meaning: 'No creative fits slot_hint.',
    origin: 'core_policy',
    nbr: 503,
    retry: 'after change',
    how: 'A tiny slot_hint: max_width 10.',
  },
  category_blocked: {
    meaning: 'blocked_categories removed all.',
    origin: 'core_policy',
    nbr: 504,
    retry: 'after change',
    how: 'overrides.blocked_categories.',
  },
  advertiser_blocked: {
    meaning: 'blocked_domains removed all.',
    origin: 'core_policy',
    nbr: 505,
    retry: 'after change',
    how: 'overrides.blocked_domains.',
  },
  policy_block: {
    meaning: 'A policy of the project or surface.',
    origin: 'core_policy',
    nbr: 7,
    retry: 'no',
    how: 'Disable the project.',
  },
  unsupported_surface: {
    meaning: 'The job type is not enabled for the project.',
    origin: 'core_policy',
    nbr: 6,
    retry: 'no',
    how: 'The project setting job_types.',
  },
  content_safety: {
    meaning: 'A high-risk topic.',
    origin: 'core_policy',
    nbr: 506,
    retry: 'next topic',
    how: 'A topic of the content safety list.',
  },
  consent_not_granted: {
    meaning: 'Consent is denied, withdrawn or expired.',
    origin: 'core_policy',
    nbr: 507,
    retry: 'after consent',
    how: 'Deny or withdraw consent.',
  },
  frequency_cap_exceeded: {
    meaning: 'The session or user has reached its cap.',
    origin: 'core_policy',
    nbr: 9,
    retry: 'later',
    how: 'overrides.frequency_cap.',
  },
  risk_suppressed: {
    meaning: 'The request looks non-human.',
    origin: 'core_policy',
    nbr: 4,
    retry: 'no',
    how: 'The scenario no_fill_risk_suppressed.',
  },
  test_forced: {
    meaning: 'test_outcome asked for it.',
    origin: 'test',
    nbr: 500,
    retry: 'yes',
    how: 'test_outcome: no_fill, with a test key.',
  },
  internal_error: {
    meaning: 'The service failed.',
    origin: 'core_policy',
    nbr: 1,
    retry: 'next turn',
    how: 'The scenario no_fill_internal_error.',
  },
} as const satisfies Record<string, NoFillRow>

export type NoFillReason = keyof typeof noFillReasons

/** Whether the same request may fill later: false where the request must change or a policy stands against it. */
export function isRetryable(reason: NoFillReason): boolean {
  const retry: NoFillRow['retry'] = noFillReasons[reason].retry
  return retry === 'next turn' || retry === 'later' || retry === 'yes'
}
