/** The grants with which a page steers the sandbox from its console, and what it may do then (A114). */
import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../../endpoint.ts'
import { EpochMs, type Format, NoFields } from '../../fields.ts'
import { assumedObject, strictObject } from '../../objects.ts'

/** Body of POST /_sandbox/console/page/act: each is a call that the control plane or the API already has. */
export type ConsoleAction =
  /** Whether every placement of test traffic is a no-fill. */
  | { action: 'no_fill'; on: boolean }
  /** The only format that test traffic fills in; null for any. */
  | { action: 'format'; format: Format | null }
  /** The campaign that test traffic gets, or the rule that forbids it; null for the best offer. */
  | { action: 'campaign'; campaign_id: string | null }
  /** Withdraws the consent of the session that the slot belongs to. */
  | { action: 'withdraw_consent'; slot_id: string }
  /** Moves the sandbox clock to just past the end of the slot's asset token. */
  | { action: 'expire'; slot_id: string }
  /** Delays the next frame of the session that the slot belongs to. Milliseconds, default `defaultSlowFrameMs`. */
  | { action: 'slow_frame'; latency_ms?: number | undefined; slot_id: string }
  /** Sends the placement request of the slot again. */
  | { action: 'replay'; slot_id: string }
  /** Changes nothing. */
  | { action: 'state' }

export const defaultSlowFrameMs = 3_000
export const maxConsoleCampaigns = 100

/** Response of POST /_sandbox/console/page/act. */
export interface ConsoleActResult {
  /** What was done, in a sentence. */
  done: string
  /** What is in force after it. */
  state: ConsoleState
  /** The new exchange of a replay; null for other actions. */
  replayed: { request_id: string; status: number; slot_id: string | null } | null
}

/** What changes test traffic now, whether the console or anything else has done it. */
export interface ConsoleState {
  /** The scenario in use. */
  scenario: string | null
  is_no_fill: boolean
  /** The only format that test traffic fills in. */
  format: Format | null
  /** The campaign that is forced. */
  campaign_id: string | null
  /** What can be forced, your own first, at most `maxConsoleCampaigns`. */
  campaigns: { campaign_id: string; sponsor_name: string }[]
  /** How long the next frame is delayed, milliseconds. */
  slow_frame_ms: number | null
  /** The sandbox clock ahead of the system clock, milliseconds. */
  clock_offset_ms: number
  /** When the grant ends, by the system clock. */
  grant_expires_at_ms: number
}

/** Response of POST /_sandbox/console/page/ask. Times of grants are those of the system clock. */
export interface ConsoleAsk extends Pick<ConsoleGrant, 'grant_id' | 'code' | 'expires_at_ms'> {
  /** Claims the token once the user has confirmed; never shown. */
  secret: string
  /** The inspector's page where the user compares the code and confirms. */
  confirm_url: string
}

/** Response of POST /_sandbox/console/page/claim. `expired` also for a grant that is unknown, or of another page. */
export interface ConsoleClaim {
  status: GrantStatus | 'expired'
  /** The grant's token: only in the first response after the user has confirmed. */
  token?: string
}

const grantStatuses = ['waiting', 'confirmed', 'refused'] as const
type GrantStatus = (typeof grantStatuses)[number]

export const ConsoleGrant = assumedObject('A114', () => ({
  grant_id: z.string().describe('Identifier of the grant.'),
  origin: z.string().describe('Origin of the page that asks. The grant is good there only.'),
  code: z.string().describe('Four digits, which the console on the page shows too.'),
  status: z
    .enum(grantStatuses)
    .describe('waiting for you, confirmed, or refused, which a grant that was revoked is too.'),
  is_claimed: z.boolean().describe('Whether the page has its token.'),
  asked_at_ms: EpochMs.describe('When the page asked, by the system clock.'),
  expires_at_ms: EpochMs.describe('When it ends: 10 minutes after it was asked for, 60 after it was confirmed.'),
}))
export type ConsoleGrant = z.infer<typeof ConsoleGrant>

const grantParams = assumedObject('A114', () => ({ grant_id: z.string().describe('Identifier of the grant.') }))

export const control = declareEndpoints({
  'console.list': {
    ...reading,
    path: '/_sandbox/console/grants',
    summary: 'List the grants of pages',
    description:
      'Pages whose console asked to steer this sandbox, newest first, confirmed or not. Never a secret or a token. They are in memory only: a reset, a restore and a restart end them.',
    response: assumedObject('A114', () => ({
      items: z.array(ConsoleGrant).describe('All grants that have not ended.'),
    })),
  },
  'console.confirm': {
    ...writing,
    path: '/_sandbox/console/grants/{grant_id}/confirm',
    summary: 'Let a page steer the sandbox',
    description:
      'Compare the code with the one that the console on the page shows. For 60 minutes, that page may force no-fills, a format and a campaign, withdraw consent, move the clock, slow down a frame and replay requests, in test mode.',
    params: grantParams,
    body: NoFields,
    response: ConsoleGrant,
    errors: ['not_found'],
  },
  'console.revoke': {
    ...writing,
    method: 'DELETE',
    path: '/_sandbox/console/grants/{grant_id}',
    summary: 'Refuse or revoke the grant of a page',
    description: 'From the next request on, the page is refused. What it has changed stays.',
    params: grantParams,
    query: strictObject(() => ({})),
    response: ConsoleGrant,
    errors: ['not_found'],
  },
})
