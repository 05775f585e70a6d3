/** Authentication: the caller of a request, by its Authorization header in the fixed order of A13. */
import type { Endpoint } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { parseToken } from '#contract/ids.ts'
import { serializeOrigin } from '#contract/origins.ts'
import { isLoopback } from '#foundation/http.ts'
import { andThen, type MaybePromise } from '#foundation/maybe-promise.ts'
import { allowsOrigin, type Caller, isBeaconOpen, type Services } from '#operations/context.ts'
import type { Identity } from '#runtime/replay.ts'
import type { ActivationRow, KeyRow } from '#store/store.ts'
import { type OpenExchange, type Request, readHeader } from './exchange.ts'

/**
 * Returns the caller of an endpoint that needs a credential; for a replayed request, the caller that it acts for.
 * @throws ApiError 401 for a missing, unknown or expired credential, 403 for one of the wrong kind or origin
 */
export function findCaller(services: Services, exchange: OpenExchange, endpoint: Endpoint): MaybePromise<Caller> {
  const { request } = exchange
  if (request.identity !== null) return restoreCaller(services, exchange, endpoint, request.identity)
  const text = readBearer(request)
  if (text.startsWith('pk_'))
    throw new ApiError('key_class', { message: 'A publishable key is not a bearer credential.' })
  if (text.startsWith('ast_')) {
    throw new ApiError('key_class', {
      message: 'An asset token is not a bearer credential.',
      hint: 'Send it in the body or the path. The Authorization header carries a secret key or an activation token.',
    })
  }
  const kind = bearerKinds.find(({ prefix }) => text.startsWith(prefix))
  if (kind === undefined) {
    throw new ApiError('key_unknown', {
      message: 'The Authorization header contains neither a key nor a token: secret keys begin with sk_.',
      hint: 'Check the variable that it is read from: it may be unset (Bearer undefined), quoted, or not expanded.',
    })
  }
  const { credential, elsewhere } = kind
  if (!endpoint.credentials.includes(credential)) throw new ApiError('key_class', { message: elsewhere })
  if (credential !== 'secret_key') return findTokenCaller(services, exchange, credential, text)
  return andThen(findSecretKey(services, exchange.request, text), (key) => toKeyCaller(exchange, key))
}

/** The prefix tells the class of a credential, so one of the wrong class needs no lookup (A02). */
const bearerKinds = [
  { prefix: 'sk_', credential: 'secret_key', elsewhere: 'This path is for browsers: it takes an activation token.' },
  { prefix: 'at_', credential: 'activation_token', elsewhere: 'This path is for servers: it takes a secret key.' },
  { prefix: 'bt_', credential: 'beacon_token', elsewhere: 'A beacon token is only good for beacons.' },
] as const

/**
 * Returns the caller whose request is replayed: by identity, since its secret is not kept. A page acts as if it had
 * just activated, a frame as if it had just loaded. Whatever the key, its kind or the origin no longer permits is
 * refused.
 */
async function restoreCaller(
  services: Services,
  exchange: OpenExchange,
  endpoint: Endpoint,
  { kind, key_id, slot_id }: Identity,
): Promise<Caller> {
  const { request } = exchange
  const key = await services.store.findKeyById(key_id)
  if (key === null) throw new ApiError('key_unknown')
  if (kind === 'sk_test' || kind === 'sk_live') return toKeyCaller(exchange, key)
  if (kind === 'at' && key.revoked_at_ms !== null) throw new ApiError('key_revoked')
  const credential = kind === 'at' ? 'activation_token' : 'beacon_token'
  if (!endpoint.credentials.includes(credential)) throw new ApiError('key_class')
  const origin = request.headers.origin === undefined ? null : serializeOrigin(request.headers.origin)
  const isOwnPage = kind === 'at' && origin === null && isSameOriginRead(request)
  if (!isOwnPage && (origin === null || !allowsOrigin(services, key.project, origin, key.mode))) {
    throw new ApiError('origin_not_allowed', { message: 'The origin of the replayed request is no longer allowed.' })
  }
  return { credential, project: key.project, mode: key.mode, key_id, slot_id, only_event: null }
}

function readBearer(request: Request): string {
  const { authorization } = request.headers
  if (authorization === undefined || authorization.trim() === '') {
    throw new ApiError(hasActivationToken(request) ? 'token_in_wrong_place' : 'credential_missing')
  }
  const match = /^Bearer +(\S+) *$/i.exec(authorization)
  if (match === null) {
    throw new ApiError('credential_missing', {
      message: 'The Authorization header does not have the form Bearer <key>.',
    })
  }
  return match[1]!
}

/** Whether an activation token is in the query, the body or another header, instead of where it belongs. */
function hasActivationToken({ url, headers, body }: Request): boolean {
  const values = Object.values(headers).map(String)
  return [url, ...values, body.toString('utf8')].some((text) => /\bat_[0-7][0-9a-z]{10}_/.test(text))
}

/**
 * Refuses Authorization headers that do not belong in an activation, which has its key in the body: a scheme other than
 * Bearer (A08), and a secret key from a page (A92). Another bearer credential changes nothing: a client may add its
 * token to every request.
 * @throws ApiError 401 for another scheme or an unknown secret key, 403 for a secret key with an Origin
 */
export async function checkActivationHeader(services: Services, exchange: OpenExchange): Promise<void> {
  const { authorization = '', origin } = exchange.request.headers
  const [scheme = '', credential = ''] = authorization.trim().split(/\s+/)
  if (scheme === '') return
  if (scheme.toLowerCase() !== 'bearer') {
    throw new ApiError('credential_missing', {
      message: 'The Authorization header does not have the form Bearer <key>.',
      hint: 'Leave the header out: an activation has its publishable key in the body.',
    })
  }
  if (origin === undefined || !credential.startsWith('sk_')) return
  toKeyCaller(exchange, await findSecretKey(services, exchange.request, credential))
}

/** A client sends the same key with every request: the digests of a few are cached. */
const digests = new Map<string, Uint8Array>()
const maxDigests = 256

function digestKey({ sha256 }: Services['platform'], text: string): Uint8Array {
  const known = digests.get(text)
  if (known !== undefined) return known
  if (digests.size >= maxDigests) digests.clear()
  const digest = sha256(text)
  digests.set(text, digest)
  return digest
}

/**
 * @throws ApiError 401 for a key of the seed that another computer sends, unless the sandbox allows it. A request over a
 * tunnel or a proxy comes from this computer, but names another host or the client it is forwarded for.
 */
export function checkLocalKey({ localKeys }: Services, request: Request, text: string): void {
  const { incoming, headers } = request
  if (localKeys.size === 0 || !localKeys.has(text) || incoming === null) return
  const host = URL.parse(`http://${headers.host}`)?.hostname ?? ''
  if (isLoopback(readClientAddress(request)) && isLoopback(host)) return
  throw new ApiError('key_unknown', {
    message: 'This well-known key works only from the computer of the sandbox, which other computers can reach.',
    hint: 'Create a key: svc sandbox keys create. Or let anyone use the well-known keys: svc start --allow-known-keys.',
  })
}

/** Returns the address that a request comes from; `proxy` for one that a proxy on this computer or elsewhere has passed on. */
export function readClientAddress({ incoming, headers }: Request): string {
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined)
  return isForwarded ? 'proxy' : (incoming?.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '')
}

function findSecretKey(services: Services, request: Request, text: string): MaybePromise<KeyRow> {
  checkLocalKey(services, request, text)
  const { store, platform } = services
  return andThen(store.findKey(digestKey(platform, text)), (key) => {
    if (key === null || key.class !== 'secret') throw new ApiError('key_unknown')
    return key
  })
}

function toKeyCaller({ context, request }: OpenExchange, key: KeyRow): Caller {
  if (key.revoked_at_ms !== null) throw new ApiError('key_revoked')
  if (request.headers.origin !== undefined) {
    if (key.project.settings.secret_key_in_browser === 'reject') throw new ApiError('secret_key_in_browser')
    context.warnings.push('secret_key_in_browser')
  }
  const { project, mode, id: key_id } = key
  return { credential: 'secret_key', project, mode, key_id, slot_id: null, only_event: null }
}

async function findTokenCaller(
  services: Services,
  { context, request }: OpenExchange,
  credential: 'activation_token' | 'beacon_token',
  text: string,
): Promise<Caller> {
  const { store, platform } = services
  const parsed = parseToken(text)
  const row = parsed === null ? null : await store.findActivation(parsed.id)
  const isOfKind = (row?.slot_id ?? null) === null ? credential === 'activation_token' : credential === 'beacon_token'
  if (parsed === null || row === null || !isOfKind || !platform.equals(platform.sha256(parsed.secret), row.hash)) {
    throw new ApiError('activation_token_invalid')
  }
  const isExpired = context.now_ms >= row.expires_at_ms
  if (isExpired && !(await mayStillClick(services, row, context.now_ms))) throw new ApiError('activation_token_expired')
  if (credential === 'beacon_token') await pinOrigin(services, row, request.headers.origin)
  else {
    if (row.is_key_revoked)
      throw new ApiError('key_revoked', { message: 'The key of this activation token was revoked.' })
    checkOrigin(services, row, request)
  }
  const { project, mode, key_id, slot_id } = row
  return { credential, project, mode, key_id, slot_id, only_event: isExpired ? 'click' : null }
}

/** Whether a beacon token outlives its time: for a click, it is good for as long as its asset token accepts one (A05). */
async function mayStillClick({ store }: Services, { slot_id }: ActivationRow, now_ms: number): Promise<boolean> {
  const slot = slot_id === null ? null : await store.findSlot(slot_id)
  return slot?.decision != null && isBeaconOpen(slot, slot.decision, 'click', now_ms)
}

/**
 * Requires the bound origin, which the project must still allow (A08). A same-origin GET has Sec-Fetch-Site instead of
 * an Origin (A04).
 */
function checkOrigin(services: Services, row: ActivationRow, request: Request): void {
  const { origin } = request.headers
  if (row.origin === null || !allowsOrigin(services, row.project, row.origin, row.mode)) {
    throw new ApiError('origin_not_allowed', { message: 'The origin of this activation token is no longer allowed.' })
  }
  if (isSameOriginRead(request)) return
  if (origin !== undefined && serializeOrigin(origin) === row.origin) return
  throw new ApiError('origin_mismatch', {
    message:
      origin === undefined
        ? 'A request with an activation token must carry the Origin it is bound to.'
        : 'The token was issued to another origin.',
  })
}

function isSameOriginRead(request: Request): boolean {
  if (request.headers.origin !== undefined || request.method !== 'GET') return false
  return readHeader(request, 'sec-fetch-site') === 'same-origin'
}

/** Pins the origin of a beacon token with its first beacon; the project must allow it (A06). */
async function pinOrigin(services: Services, row: ActivationRow, origin: string | undefined): Promise<void> {
  const { store } = services
  const serialized = origin === undefined ? null : serializeOrigin(origin)
  if (serialized === null || !allowsOrigin(services, row.project, serialized, row.mode)) {
    throw new ApiError(
      'origin_not_allowed',
      origin === undefined
        ? {
            message: 'A beacon token needs an allowed Origin, and the request had no Origin header.',
            hint: 'Send it from a page, whose browser adds the header, or with the secret key from a server.',
          }
        : { message: 'A beacon token needs an allowed Origin.' },
    )
  }
  if (row.origin === serialized) return
  if (row.origin !== null || !(await store.pinOrigin(row.id, serialized))) throw new ApiError('origin_mismatch')
}
