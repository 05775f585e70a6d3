import { z } from 'zod'
import { declareEndpoints, publicApi } from '../endpoint.ts'
import { EpochMs, KeyId } from '../fields.ts'
import { documented, strictObject, withKeywords } from '../objects.ts'

export const ActivationRequest = strictObject(() => ({
  publishable_key: documented(
    withKeywords(z.string(), { pattern: '^pk_(test|live)_' }),
    'Publishable key. The Origin header must match one of its allowed origins.',
    'A08',
  ),
}))

export const ActivationResult = strictObject(() => ({
  ok: documented(z.literal(true), 'true on success.'),
  activation_token: documented(
    withKeywords(z.string(), { pattern: '^at_' }),
    'Short-lived, bound to project and origin. Sent as Authorization: Bearer.',
    'A04',
  ),
  expires_at_ms: documented(EpochMs, 'Expiry, Unix epoch milliseconds.'),
  key_id: documented(KeyId, 'Activated publishable key identifier.'),
  wrapper_tenant_id: documented(z.string(), 'Wrapper tenant bound to the token.'),
  project_id: documented(z.string(), 'Project bound to the token.'),
}))
export type ActivationResult = z.infer<typeof ActivationResult>

export const v1 = declareEndpoints({
  'browser.activate': {
    ...publicApi,
    method: 'POST',
    path: '/v1/browser/activate',
    summary: 'Exchange a publishable key for an activation token',
    description:
      'Exchanges a publishable key and its origin for a short-lived browser activation token. No Authorization header.',
    credentials: [],
    rate: 'activate',
    body: ActivationRequest,
    credential_fields: ['publishable_key'],
    request_headers: {
      Origin: {
        type: 'string',
        provenance: 'documented',
        decision: 'A07',
        required: true,
        description: 'Must match an allowed origin of the key. Browsers send it automatically.',
      },
    },
    response: ActivationResult,
    response_headers: ['date'],
    errors: [
      'publishable_key_malformed',
      'origin_missing',
      'credential_missing',
      'key_unknown',
      'key_revoked',
      'key_class',
      'origin_not_allowed',
      'secret_key_in_browser',
    ],
  },
})
