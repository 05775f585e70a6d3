/**
 * What the sandbox tolerates in a request, and production may refuse or read otherwise: the values of the response header
 * `x-sandbox-warning`. Append-only, like reason codes.
 */
import { isTableName } from '#foundation/table-entry.ts'

interface WarningRow {
  meaning: string
  fix: string
}

export const warnings = {
  wait_ms_clamped: {
    meaning: 'wait_ms is above 5000: the request waited for 5000 ms at most.',
    fix: 'Send 5000 or less, and poll GET /v1/decisions/{slot_id} for a decision that takes longer.',
  },
  wait_ms_conflict: {
    meaning: 'wait_ms differs between query and body: the query was used.',
    fix: 'Send it once.',
  },
  prompt_text_discarded: {
    meaning: 'The prompt text was discarded unread, because prompt_shared is not true.',
    fix: 'Send text only with that consent. A topic needs semantic_targeting instead.',
  },
  consent_purposes_kept: {
    meaning: 'The consent leaves out a purpose: the stored value was kept.',
    fix: 'Send each purpose. Only false withdraws one.',
  },
  consent_overturned: {
    meaning: 'The consent of the request grants what the session had denied or withdrawn by POST /v1/consent.',
    fix: 'Send consent in a request only as the user has given it since; otherwise leave it out, so that the stored one decides.',
  },
  rate_limit_overridden: {
    meaning: 'The sandbox was started with --rate-limit, which takes precedence over the limits of a project.',
    fix: 'Start the sandbox without --rate-limit to try the limits of a project.',
  },
  fields_ignored: {
    meaning: 'The body has fields that the service does not know: they were ignored.',
    fix: 'Compare their names with the contract: svc contract show jobs.create.',
  },
  topic_cut: {
    meaning: 'context.topic has more than 200 characters: the rest was cut off.',
    fix: 'Send a topic of a few words, not the text of the conversation.',
  },
  category_unknown: {
    meaning: 'A category is not an IAB code: it matches no campaign, so blocking it blocks nothing.',
    fix: 'Send codes such as IAB8 or IAB8-5.',
  },
  currency_without_rate: {
    meaning: 'The sandbox has no exchange rate for bidfloor_currency: the floor was taken as USD.',
    fix: 'Send the floor in USD, EUR or GBP to test it.',
  },
  campaign_forced: {
    meaning:
      'overrides.force_campaign_id, of the request or of a scenario, was followed: this fill, or the rule that forbids it, says nothing about the market.',
    fix: 'Leave it out, or end the scenario, to see which campaign wins. A forced ad is never billed.',
  },
  callback_ignored: {
    meaning: 'callback_url was ignored: with --strict there are no callbacks, as in the API document.',
    fix: 'Poll GET /v1/decisions/{slot_id}, or start the sandbox without --strict.',
  },
  client_id_from_key: {
    meaning: 'The body has no client_id: the project of the key was used.',
    fix: 'Send client_id. Bodies in the form of the API document are refused without it.',
  },
  secret_key_in_browser: {
    meaning: 'A page sent a secret key, which only the setting secret_key_in_browser: warn of this project permits.',
    fix: 'Let the page activate with its publishable key, or call your backend. Replace the key: every visitor could read it.',
  },
  asset_token_removed: {
    meaning: 'An asset token was in a field where none belongs: it was removed.',
    fix: 'Send it in asset_token only.',
  },
  null_as_absent: {
    meaning: 'An optional field of the body is null: it was taken as absent.',
    fix: 'Leave the field out: serialisers have an option for it, such as omitempty in Go.',
  },
  session_id_personal: {
    meaning:
      'session_id looks like an e-mail address or a phone number, or contains other personal data: it was stored as it is.',
    fix: 'Send an identifier that names nobody, such as a random one or a keyed hash of the account.',
  },
  personal_data: {
    meaning: 'The topic, metadata or another text of the request seems to contain personal data: it was used as it is.',
    fix: 'See which field it is: svc observe --since 10m. Remove the data before you send it. The setting personal_data: reject refuses it.',
  },
} as const satisfies Readonly<Record<string, WarningRow>>

export type Warning = keyof typeof warnings

/** Returns a value of `x-sandbox-warning` with its meaning and fix; another service may send values of its own. */
export function describeWarning(code: string): string {
  if (!isTableName(warnings, code)) return code
  const { meaning, fix } = warnings[code]
  return `${code}: ${meaning} ${fix}`
}
