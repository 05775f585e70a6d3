/** POST /_sandbox/requests/{request_id}/replay: makes a journalled request whole, and has it sent like any other. */
import type { NotRestored } from '../../src/contract/control/requests.ts'
import { ApiError, type FieldError } from '../../src/contract/errors.ts'
import { decodeId, decodeInteger, encodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import { type KeptRequest, restore, slotsNamed } from '../domain/replay.ts'
import { assetTokenOf } from '../runtime/deciding.ts'
import type { ExchangeRow } from '../store/store.ts'
import type { Identity, Operation, RestoredRequest, Services } from './context.ts'
import { findExchange, getRequest } from './requests.ts'

/** Headers that belong to the old connection, or were never kept. */
const ownHeaders = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-sandbox-token',
])

export const replayRequest: Operation<Contract['requests.replay']> = async (services, context, { params, body }) => {
  const row = await findExchange(services, params.request_id)
  const kept = { path: row.path, body: row.request_body }
  const slots = slotsNamed(kept)
  const tokens = await tokensOf(services, row, slots)
  const restored = restore(kept, body.set ?? {}, (letters) => tokens.get(letters) ?? null)
  const credential = await credentialOf(services, row, body.key_id, slots)
  const missing = [...restored.missing, ...credential.missing]
  if (missing.length > 0) throw new ApiError('replay_incomplete', { fields: missing })
  const request: RestoredRequest = {
    replayed: params.request_id,
    method: row.method,
    path: restored.path,
    headers: headersOf(row, restored, credential.authorization),
    body: restored.body,
    identity: credential.identity,
  }
  // It passes the gate itself: inside, a reset that waits for this one would wait for the other too.
  const request_id = await services.drainLock.runOutside(() => services.resend(request, context.signal))
  return {
    replayed: params.request_id,
    status_before: row.status,
    not_restored: [...restored.left_out, ...credential.not_restored],
    exchange: await getRequest(services, context, { params: { request_id }, query: {}, body: undefined }),
  }
}

/**
 * Asset tokens by the letters of their slot. One that was refused may have been forged, and redacted it looks like the
 * true one: it is not put back. Nor is one of a database that came from elsewhere, whose secret this install cannot make.
 */
async function tokensOf(
  services: Services,
  row: ExchangeRow,
  slots: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const tokens = new Map<string, string>()
  const isRefusedFrame = row.path.startsWith('/v1/render/') && row.status === 404
  if (row.reason_code === 'asset_token_invalid' || isRefusedFrame) return tokens
  const { platform, store } = services
  for (const letters of new Set(slots)) {
    const id = decodeInteger(letters)
    const slot = id === null ? null : await store.findSlot(id)
    if (slot?.decision?.outcome.status !== 'filled') continue
    const token = assetTokenOf(services, slot.id)
    const secret = token.slice(token.indexOf(letters) + letters.length + 1)
    if (platform.equals(platform.sha256(secret), slot.decision.outcome.asset_token_hash)) tokens.set(letters, token)
  }
  return tokens
}

interface RestoredCredential {
  identity: Identity | null
  /** As the journal would have it: its beginning tells the kind. */
  authorization: string | null
  not_restored: NotRestored[]
  missing: FieldError[]
}

async function credentialOf(
  services: Services,
  row: ExchangeRow,
  key_id: string | undefined,
  slots: readonly string[],
): Promise<RestoredCredential> {
  if (key_id !== undefined) return otherCredential(services, key_id)
  const authorization = (JSON.parse(row.request_headers) as Record<string, string>).authorization ?? null
  const none = { identity: null, authorization, not_restored: [], missing: [] }
  if (authorization === null) return none
  const kind = row.key_kind
  const slot_id = kind !== 'bt' ? null : (row.slot_id ?? decodeInteger(slots[0] ?? ''))
  if (kind === null || row.key_id === null || (kind === 'bt' && slot_id === null)) {
    return { ...none, missing: [{ path: 'authorization', message: 'is not kept', expected: expectedKey }] }
  }
  return {
    ...none,
    identity: { kind, key_id: row.key_id, slot_id },
    not_restored: kind === 'at' || kind === 'bt' ? [tokenNote(kind, encodeId('key', row.key_id))] : [],
  }
}

const expectedKey = 'the id of a key to act for, in key_id (svc keys list)'

async function otherCredential(services: Services, key_id: string): Promise<RestoredCredential> {
  const id = decodeId('key', key_id)
  const key = id === null ? null : await services.store.keyById(id)
  if (key === null) {
    const missing = [{ path: 'key_id', message: `is ${key_id}, which this sandbox has not`, expected: expectedKey }]
    return { identity: null, authorization: null, not_restored: [], missing }
  }
  const isSecret = key.class === 'secret'
  const kind = isSecret ? (`sk_${key.mode}` as const) : 'at'
  return {
    identity: { kind, key_id: key.id, slot_id: null },
    authorization: `Bearer ${isSecret ? `${kind}_` : 'at_'}redacted`,
    not_restored: isSecret ? [] : [tokenNote('at', key_id)],
    missing: [],
  }
}

function tokenNote(kind: 'at' | 'bt', key_id: string): NotRestored {
  const name = kind === 'at' ? 'activation' : 'beacon'
  return {
    path: 'authorization',
    message: `The ${name} token is not kept: sent as with a fresh one of ${key_id}, whose age is not checked.`,
  }
}

function headersOf(row: ExchangeRow, { body }: KeptRequest, authorization: string | null): Record<string, string> {
  const kept = Object.entries(JSON.parse(row.request_headers) as Record<string, string>)
  return {
    ...Object.fromEntries(kept.filter(([name]) => !ownHeaders.has(name))),
    ...(authorization === null ? {} : { authorization }),
    ...(body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  }
}
