/**
 * Restores a journaled request, so that the sandbox can send it to itself again: path, headers, body and identity.
 * Asset tokens are identified by their slot and put back, values are set, and prompt text is left out. Values that are
 * still redacted after that are missing: they cannot be guessed.
 */

import { ApiError, type FieldError } from '#contract/errors.ts'
import { decodeId, decodeInteger, encodeId } from '#contract/ids.ts'
import { replayHeader } from '#contract/own-requests.ts'
import type { KeyKind, NotRestored } from '#contract/resources/requests.ts'
import { redacted, redactedFields } from '#foundation/http.ts'
import { parseExactly } from '#foundation/json/exact-numbers.ts'
import { isObject, setValue } from '#foundation/json.ts'
import type { ExchangeRow } from '#store/store.ts'
import { type DecisionServices, deriveAssetToken } from './decisions.ts'

/** A journaled request that is complete again. */
export interface RestoredRequest {
  /** The request_id of the journaled request. */
  replayed: string
  method: string
  path: string
  headers: Record<string, string>
  body: string | null
  /** The identity that replaces its credential; null when it had none. */
  identity: Identity | null
}

/** The identity behind a credential: a key, or the key that its token was created with. */
export interface Identity {
  kind: KeyKind
  key_id: number
  /** The slot that a beacon token is bound to. */
  slot_id: number | null
}

type ReplayServices = Pick<DecisionServices, 'store' | 'platform'>

/** Headers that belong to the old connection, or were never stored. */
const droppedHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'keep-alive',
  'proxy-authorization',
  replayHeader,
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-sandbox-token',
])

/**
 * Restores the request of a journal entry with the values of `set` written into its body, as the key `key_id` when given.
 * @throws ApiError 400 that names what cannot be restored
 */
export async function restoreRequest(
  services: ReplayServices,
  row: ExchangeRow,
  { set, key_id }: { set?: Readonly<Record<string, unknown>> | undefined; key_id?: string | undefined },
): Promise<{ request: RestoredRequest; not_restored: NotRestored[] }> {
  const stored = { path: row.path, body: row.request_body }
  const slots = listSlots(stored)
  const tokens = await deriveAssetTokens(services, row, slots)
  const restored = restoreBody(stored, set ?? {}, (slot) => tokens.get(slot) ?? null)
  const credential = await restoreCredential(services, row, key_id, slots)
  const missing = [...restored.missing, ...credential.missing]
  if (missing.length > 0) throw new ApiError('replay_incomplete', { fields: missing })
  return {
    request: {
      replayed: encodeId('req', row.id),
      method: row.method,
      path: restored.path,
      headers: restoreHeaders(row, restored, credential.authorization),
      body: restored.body,
      identity: credential.identity,
    },
    not_restored: [...restored.left_out, ...credential.not_restored],
  }
}

/**
 * Asset tokens by the encoded integer of their slot. A token that was refused is not restored: it may have been forged,
 * and its redacted form looks like the genuine one. Nor is a token whose secret this install cannot derive.
 */
async function deriveAssetTokens(
  services: ReplayServices,
  row: ExchangeRow,
  slots: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const tokens = new Map<string, string>()
  const isRefusedFrame = row.path.startsWith('/v1/render/') && row.status === 404
  if (row.reason_code === 'asset_token_invalid' || isRefusedFrame) return tokens
  const { platform, store } = services
  for (const encoded of new Set(slots)) {
    const id = decodeInteger(encoded)
    const slot = id === null ? null : await store.findSlot(id)
    if (slot?.decision?.outcome.status !== 'filled') continue
    const { token, hash } = deriveAssetToken(services, slot.id)
    if (platform.equals(hash, slot.decision.outcome.asset_token_hash)) tokens.set(encoded, token)
  }
  return tokens
}

interface RestoredCredential {
  identity: Identity | null
  /** In the journal's form, where the prefix shows the kind. */
  authorization: string | null
  not_restored: NotRestored[]
  missing: FieldError[]
}

async function restoreCredential(
  services: ReplayServices,
  row: ExchangeRow,
  key_id: string | undefined,
  slots: readonly string[],
): Promise<RestoredCredential> {
  if (key_id !== undefined) return findKeyCredential(services, key_id)
  const { authorization = null }: Record<string, string | null> = JSON.parse(row.request_headers)
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

const expectedKey = 'the id of a key to act as, in key_id (svc sandbox keys list)'

async function findKeyCredential({ store }: ReplayServices, key_id: string): Promise<RestoredCredential> {
  const id = decodeId('key', key_id)
  const key = id === null ? null : await store.findKeyById(id)
  if (key === null) {
    const missing = [
      { path: 'key_id', message: `is ${key_id}, which this sandbox does not have`, expected: expectedKey },
    ]
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
    message: `The ${name} token is not kept: sent as with a new one of ${key_id}, whose age is not checked.`,
  }
}

function restoreHeaders(
  row: ExchangeRow,
  { body }: StoredRequest,
  authorization: string | null,
): Record<string, string> {
  const stored = Object.entries<string>(JSON.parse(row.request_headers))
  return {
    ...Object.fromEntries(stored.filter(([name, value]) => !droppedHeaders.has(name) && !isIncomplete(name, value))),
    [replayHeader]: encodeId('req', row.id),
    ...(authorization === null ? {} : { authorization }),
    ...(body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  }
}

/** Whether the journal has kept less of a header than was sent. */
function isIncomplete(name: string, value: string): boolean {
  return name === '[name]' || value.startsWith('[removed')
}

interface StoredRequest {
  /** Path and query. */
  path: string
  body: string | null
}

interface RestoredBody extends StoredRequest {
  left_out: NotRestored[]
  missing: FieldError[]
}

const assetToken = /\bast_([0-9a-z]{11})_redacted/g
const removedText = /^\[removed: \d+ characters\]$/

/** Returns the slots whose asset tokens a request contains, as their encoded integers. */
function listSlots({ path, body }: StoredRequest): string[] {
  return [...`${path} ${body ?? ''}`.matchAll(assetToken)].map(([, slot]) => slot!)
}

/**
 * Returns the request with its asset tokens, the values of `set` by dotted path, and the list of what could not be
 * restored. `tokenOf` returns the asset token of a slot; null leaves it redacted.
 */
function restoreBody(
  stored: StoredRequest,
  set: Readonly<Record<string, unknown>>,
  findToken: (slot: string) => string | null,
): RestoredBody {
  const withTokens = (text: string) => text.replace(assetToken, (found, slot: string) => findToken(slot) ?? found)
  const path = withTokens(stored.path)
  const missing = redacted.test(path) ? [missingAt('path', 'a new request: the path cannot be set')] : []
  const text = stored.body ?? ''
  if (text === '' && Object.keys(set).length === 0) return { path, body: null, left_out: [], missing }
  const restored = withTokens(text)
  const body = parseExactly(restored === '' ? '{}' : restored)
  if (!isObject(body)) return { path, body: restored, left_out: [], missing: [...missing, ...missingBody(body, set)] }
  const unset = Object.entries(set).filter(([name, value]) => !setValue(body, name.split('.'), value))
  const left_out = leaveOutPrompt(body)
  return {
    path,
    body: JSON.stringify(body),
    left_out,
    missing: [
      ...missing,
      ...unset.map(([name]) => ({
        path: name,
        message: 'cannot be set',
        expected: 'a dotted path of fields; in an array an index, or the next one',
      })),
      ...redactedFields(body).map((name) => missingAt(name, `a value in set: --set ${name}=...`)),
    ],
  }
}

function missingAt(path: string, expected: string): FieldError {
  return { path, message: 'is not kept', expected }
}

/** For a body that is not an object: JSON can be sent as it is, but nothing can be set in it. */
function missingBody(body: unknown, set: Readonly<Record<string, unknown>>): FieldError[] {
  if (body === undefined) return [missingAt('body', 'a new request: the body was not JSON')]
  const unset = Object.keys(set).map((path) => ({
    path,
    message: 'cannot be set',
    expected: 'a request whose body is a JSON object',
  }))
  return [...unset, ...redactedFields(body).map((path) => missingAt(path, 'a new request'))]
}

/** Removes prompts whose text the journal does not store. */
function leaveOutPrompt(body: Record<string, unknown>): NotRestored[] {
  const { prompt, context } = body
  const left_out: NotRestored[] = []
  if (isRemoved(prompt) || (isObject(prompt) && isRemoved(prompt.text))) {
    delete body.prompt
    left_out.push({ path: 'prompt', message: 'Left out: prompt text is never kept.' })
  }
  if (isObject(context) && isRemoved(context.prompt_text)) {
    delete context.prompt_text
    left_out.push({ path: 'context.prompt_text', message: 'Left out: prompt text is never kept.' })
  }
  return left_out
}

function isRemoved(value: unknown): boolean {
  return typeof value === 'string' && removedText.test(value)
}
