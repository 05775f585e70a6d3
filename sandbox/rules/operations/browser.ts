/** POST /v1/browser/activate: a page exchanges a publishable key for an activation token (A04, A08). */
import { ApiError } from '#contract/errors.ts'
import { encodeId, formatToken } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { serializeOrigin } from '#contract/origins.ts'
import type { KeyRow } from '#store/store.ts'
import { allowsOrigin, type Context, type Operation, type Services } from './context.ts'

export const activateBrowser: Operation<Contract['browser.activate']> = async (services, context, { body }) => {
  const { key, origin } = await activationKey(services, context, body.publishable_key)
  const { platform, store } = services
  const id = platform.newId()
  const secret = platform.newSecret()
  const expires_at_ms = context.now_ms + key.project.settings.activation_ttl_ms
  const activation = {
    id,
    hash: platform.sha256(secret),
    project_id: key.project.id,
    key_id: key.id,
    mode: key.mode,
    origin,
    slot_id: null,
    expires_at_ms,
  }
  await store.insertActivation(activation, context.now_ms)
  return {
    ok: true,
    activation_token: formatToken('at', id, secret),
    expires_at_ms,
    key_id: encodeId('key', key.id),
    wrapper_tenant_id: encodeId('ten', key.project.tenant_id),
    project_id: key.project.client_id,
  }
}

/**
 * Resolves to the publishable key of an activation request and its origin, which the key must allow. The pipeline needs
 * both before it takes from the rate limit of the key: pages of other sites must not use it up.
 * @throws ApiError as `publishableKey`; 400 without an origin, 403 for one that is not allowed
 */
export async function activationKey(
  services: Services,
  context: Context,
  text: unknown,
): Promise<{ key: KeyRow; origin: string }> {
  const key = await publishableKey(services, text)
  context.subject.project_id = key.project.id
  if (context.origin === null) throw new ApiError('origin_missing')
  const origin = serializeOrigin(context.origin)
  if (origin === null || !allowsOrigin(services, key.project, origin, key.mode)) {
    throw new ApiError('origin_not_allowed', {
      message: `The origin ${context.origin.slice(0, 256)} is not allowed for this project.`,
    })
  }
  return { key, origin }
}

/** @throws ApiError 400 for a malformed key, 401 for an empty, unknown or revoked one, 403 for a secret key (A08) */
async function publishableKey(services: Services, text: unknown): Promise<KeyRow> {
  if (text === '') {
    throw new ApiError('credential_missing', {
      message: 'publishable_key is empty.',
      hint: 'Send the key that begins with pk_test_ or pk_live_: the variable that it is read from may be unset.',
    })
  }
  if (typeof text === 'string' && text.startsWith('sk_')) {
    throw new ApiError('key_class', {
      message: 'A secret key was sent as publishable_key.',
      hint: 'Send the key that begins with pk_. A secret key never belongs in a page: if this was one, revoke the key.',
    })
  }
  if (typeof text !== 'string' || !/^pk_(test|live)_/.test(text)) {
    const expected = 'a key that begins with pk_test_ or pk_live_'
    throw new ApiError('publishable_key_malformed', {
      fields: [{ path: 'publishable_key', message: 'is not a publishable key', expected }],
    })
  }
  const key = await services.store.findKey(services.platform.sha256(text))
  if (key === null) throw new ApiError('key_unknown')
  if (key.revoked_at_ms !== null) throw new ApiError('key_revoked')
  return key
}
