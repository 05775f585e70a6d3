/** Why a decision did not fill. The codes are stable and append-only; `nbr` is the OpenRTB no-bid reason. */
interface NoFillRow {
  meaning: string
  origin: 'core_policy' | 'partner' | 'transport' | 'test'
  nbr: number
  retry: 'next turn' | 'after change' | 'no' | 'next topic' | 'after consent' | 'later' | 'yes'
  how: string
}

export const noFillReasons = {
  no_demand: fromPartner(
    0,
    'next turn',
    'No partner offered a creative.',
    'A fill rate below 1, a topic and job type without demand, or an empty catalogue.',
  ),
  timeout: inTransport(15, 'next turn', 'The partner responded after the window.', 'The scenario no_fill_timeout.'),
  partner_error: inTransport(
    1,
    'next turn',
    'The partner responded with an error.',
    'The scenario no_fill_partner_error.',
  ),
  below_floor: fromPartner(
    501,
    'after change',
    'All offers are under the floor.',
    'overrides.bidfloor above the catalogue: 1000.',
  ),
  format_mismatch: byPolicy(502, 'after change', 'No creative of an allowed format.', 'overrides.allowed_formats.'),
  size_mismatch: byPolicy(503, 'after change', 'No creative fits slot_hint.', 'A tiny slot_hint: max_width 10.'),
  category_blocked: byPolicy(
    504,
    'after change',
    'blocked_categories removed every campaign.',
    'overrides.blocked_categories.',
  ),
  advertiser_blocked: byPolicy(
    505,
    'after change',
    'blocked_domains removed every campaign.',
    'overrides.blocked_domains.',
  ),
  policy_block: byPolicy(
    7,
    'no',
    'A policy of the project or surface forbids ads.',
    'The project setting enabled: false.',
  ),
  unsupported_surface: byPolicy(
    6,
    'no',
    'The job type is not enabled for the project.',
    'The project setting job_types.',
  ),
  content_safety: byPolicy(506, 'next topic', 'A high-risk topic.', 'A topic of the content safety list.'),
  consent_not_granted: byPolicy(
    507,
    'after consent',
    'Consent is denied, withdrawn or expired.',
    'Consent that is denied, withdrawn or expired.',
  ),
  frequency_cap_exceeded: byPolicy(9, 'later', 'The session or user has reached its cap.', 'overrides.frequency_cap.'),
  risk_suppressed: byPolicy(4, 'no', 'The request looks non-human.', 'The scenario no_fill_risk_suppressed.'),
  test_forced: byTest(500, 'yes', 'test_outcome asked for it.', 'test_outcome: no_fill, with a test key.'),
  slot_expired: byPolicy(
    0,
    'next turn',
    'The lifetime of the decision is over; for old clients, which have no such status.',
    'The decision of an expired slot, requested by an old client.',
  ),
  internal_error: byPolicy(1, 'next turn', 'The service failed.', 'The scenario no_fill_internal_error.'),
}

type Retry = NoFillRow['retry']

function byPolicy(nbr: number, retry: Retry, meaning: string, how: string): NoFillRow {
  return { meaning, origin: 'core_policy', nbr, retry, how }
}

function fromPartner(nbr: number, retry: Retry, meaning: string, how: string): NoFillRow {
  return { meaning, origin: 'partner', nbr, retry, how }
}

function inTransport(nbr: number, retry: Retry, meaning: string, how: string): NoFillRow {
  return { meaning, origin: 'transport', nbr, retry, how }
}

function byTest(nbr: number, retry: Retry, meaning: string, how: string): NoFillRow {
  return { meaning, origin: 'test', nbr, retry, how }
}

export type NoFillReason = keyof typeof noFillReasons

/** Whether the same request may fill later: false where the request must change or a policy forbids it. */
export function isRetryable(reason: NoFillReason): boolean {
  const retry: NoFillRow['retry'] = noFillReasons[reason].retry
  return retry === 'next turn' || retry === 'later' || retry === 'yes'
}
