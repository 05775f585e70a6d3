/**
 * The requests of a check. All are harmless: test traffic of a session of its own, which is not billed; reading; and
 * requests that must be refused. With a production key only the latter two are sent.
 */

import { formatTime } from '../../cli/output/text.ts'
import type { HttpRequest } from '../../client/request.ts'
import { isProductionKey } from '../../client/request.ts'
import { type Format, formats } from '../../contract/fields.ts'
import { limits } from '../../contract/limits.ts'
import type { PlacementResponse } from '../../contract/v1/placements.ts'
import type { V1Id } from './difference.ts'
import { checkFill } from './fill-facts.ts'
import type { ExpectedError, Recorder } from './recorder.ts'

export interface Subject {
  client_id: string
  secret_key: string
  publishable_key: string | null
  origin: string | null
  /** Of this check alone. */
  session_id: string
}

const wait_ms = limits.wait_ms.placements_default
const why = {
  production: 'a production key makes no traffic here',
  no_fill: 'no fill came in test mode',
  no_slot: 'there was no slot to poll',
  no_publishable: 'no publishable key is set: --publishable-key',
  no_origin: 'no origin is set: --origin',
  limit: 'meeting a rate limit would disturb others',
} as const

/** Drives every endpoint of v1 once or more. */
export async function probeService(recorder: Recorder, subject: Subject): Promise<void> {
  const isLive = isProductionKey(subject.secret_key)
  const slot = await probePlacements(recorder, subject, isLive)
  await probeJobs(recorder, subject, isLive)
  await probeDecisions(recorder, subject, slot?.slot_id ?? null, isLive)
  await probeActivation(recorder, subject)
  await probeBeacons(recorder, subject, slot, isLive)
  await probeConsent(recorder, subject, isLive)
  await probeConfig(recorder, subject)
  await probeRender(recorder, slot, isLive)
}

interface FilledSlot {
  slot_id: string
  asset_token: string
}

async function probePlacements(recorder: Recorder, subject: Subject, isLive: boolean): Promise<FilledSlot | null> {
  const id = 'placements.create'
  const { client_id, session_id, secret_key: credential } = subject
  const body = {
    client_id,
    session_id,
    job_type: 'chat',
    prompt: { topic: 'coffee' },
    consent: { semantic_targeting: true, prompt_shared: false, gdpr_applies: false },
  }
  const request = (more: object) =>
    recorder.request(id, { query: { wait_ms }, body: { ...body, ...more } }, { credential })
  let slot: FilledSlot | null = null
  if (isLive) recorder.skip(id, 'fills and no-fills', why.production)
  else {
    for (const format of formats) slot = (await probeFormat(recorder, request, format)) ?? slot
    const check = 'test_outcome no_fill'
    const forced = await recorder.succeeds(id, check, request({ test_outcome: 'no_fill' }))
    const answer = forced?.json as PlacementResponse | undefined
    if (answer !== undefined) {
      recorder.fact(id, check, 'documented', 'response decision.fill', false, answer.decision?.fill)
      recorder.fact(id, check, 'documented', 'response placement', null, answer.placement)
    }
  }
  const refused = (check: string, more: object, expected: ExpectedError) =>
    recorder.refuses(id, check, request(more), expected)
  await refused('empty allowed_formats', { overrides: { allowed_formats: [] } }, invalid('formats_empty'))
  await refused('an unknown format', { overrides: { allowed_formats: ['cube'] } }, invalid('format_unsupported'))
  await refused('an unknown job_type', { job_type: 'dance' }, invalid('schema_invalid'))
  if (!isLive) await refused('another test_outcome', { test_outcome: 'fill' }, invalid('schema_invalid'))
  await refused('no session_id', { session_id: undefined }, invalid('schema_invalid'))
  await probeDoor(recorder, id, request({}), subject)
  recorder.skip(id, '429 rate_limited', why.limit)
  return slot
}

async function probeFormat(recorder: Recorder, request: (more: object) => HttpRequest, format: Format) {
  const id = 'placements.create'
  const check = `a ${format}`
  const answer = await recorder.succeeds(id, check, request({ overrides: { allowed_formats: [format] } }))
  if (answer === null) return null
  const { slot_id, placement, decision } = answer.json as PlacementResponse
  if (!placement || !decision || decision.fill !== true) {
    recorder.skip(id, `${check}: its fields`, why.no_fill)
    return null
  }
  checkFill(recorder, check, format, placement, decision)
  return { slot_id, asset_token: String(decision.asset_token) }
}

async function probeJobs(
  recorder: Recorder,
  { client_id, session_id, secret_key: credential, ...subject }: Subject,
  isLive: boolean,
) {
  const id = 'jobs.create'
  const request = (more: object) => recorder.request(id, { body: { client_id, session_id, ...more } }, { credential })
  if (isLive) recorder.skip(id, 'a job', why.production)
  else {
    const check = 'a job of two slots, without job_type'
    const answer = await recorder.succeeds(id, check, request({ slots_requested: 2 }))
    const { slot_ids, poll_path_template } = (answer?.json ?? {}) as {
      slot_ids?: unknown
      poll_path_template?: unknown
    }
    if (answer !== null) {
      recorder.fact(
        id,
        check,
        'documented',
        'number of slot_ids',
        2,
        Array.isArray(slot_ids) ? slot_ids.length : 'no list',
      )
      recorder.fact(
        id,
        check,
        'documented',
        'response poll_path_template',
        '/v1/decisions/{slot_id}',
        poll_path_template,
      )
    }
  }
  await recorder.refuses(id, 'an unknown job_type', request({ job_type: 'dance' }), invalid('schema_invalid'))
  await probeDoor(recorder, id, request({}), { ...subject, client_id, session_id, secret_key: credential })
}

async function probeDecisions(recorder: Recorder, { secret_key }: Subject, slot_id: string | null, isLive: boolean) {
  const id = 'decisions.get'
  const request = (slot_id: string, credential?: string) =>
    recorder.request(id, { params: { slot_id } }, { credential })
  if (slot_id === null) recorder.skip(id, 'a slot', isLive ? why.production : why.no_slot)
  else await recorder.succeeds(id, 'a slot', request(slot_id, secret_key))
  const unknown = 'slot_zzzzzzzzzzz'
  await recorder.refuses(id, 'an unknown slot', request(unknown, secret_key), assumed('not_found', 'not_found'))
  await recorder.refuses(id, 'no credential', request(slot_id ?? unknown), missing)
}

async function probeActivation(recorder: Recorder, { publishable_key, origin }: Subject): Promise<void> {
  const id = 'browser.activate'
  const from = (origin: string | null) => (origin === null ? {} : { origin })
  const request = (key: string, origin: string | null) =>
    recorder.request(id, { body: { publishable_key: key } }, from(origin))
  const page = origin ?? 'http://localhost:3000'
  if (publishable_key === null) recorder.skip(id, 'an activation', why.no_publishable)
  else {
    if (origin === null) recorder.skip(id, 'an activation', why.no_origin)
    else {
      const answer = await recorder.succeeds(id, 'an activation', request(publishable_key, origin))
      const { expires_at_ms } = (answer?.json ?? {}) as { expires_at_ms?: number }
      const life = Number(expires_at_ms) > recorder.now_ms() ? 'in the future' : 'past'
      if (answer !== null)
        recorder.fact(id, 'an activation', 'documented', 'response expires_at_ms', 'in the future', life)
    }
    await recorder.refuses(id, 'no Origin', request(publishable_key, null), invalid('origin_missing'))
    const foreign = documented('forbidden', 'origin_not_allowed')
    await recorder.refuses(id, 'a foreign origin', request(publishable_key, 'https://contract-check.invalid'), foreign)
  }
  const unknown = documented('unauthorized', 'key_unknown')
  await recorder.refuses(id, 'an unknown key', request('pk_test_contract_check_unknown', page), unknown)
  await recorder.refuses(id, 'a malformed key', request('x', page), invalid('publishable_key_malformed'))
}

async function probeBeacons(recorder: Recorder, subject: Subject, slot: FilledSlot | null, isLive: boolean) {
  const id = 'beacons.send'
  const { secret_key: credential, session_id } = subject
  const beacon = (more: object) => ({
    beacon_id: `${session_id}:${Object.keys(more).join('-') || 'render'}`,
    asset_token: slot?.asset_token ?? 'ast_contract_check_unknown',
    event: 'render',
    occurred_at: formatTime(recorder.now_ms()),
    ...more,
  })
  const request = (more: object) => recorder.request(id, { body: beacon(more) }, { credential })
  if (slot === null) recorder.skip(id, 'a render beacon', isLive ? why.production : why.no_fill)
  else {
    const check = 'a render beacon of test traffic'
    const answer = await recorder.succeeds(id, check, request({}))
    const { billable } = (answer?.json ?? {}) as { billable?: unknown }
    if (answer !== null) recorder.fact(id, check, 'documented', 'response billable', false, billable)
    const old = formatTime(recorder.now_ms() - 86_400_000)
    await recorder.refuses(
      id,
      'a stale beacon',
      request({ occurred_at: old }),
      documented('validation_error', 'beacon_stale'),
    )
  }
  const invalidToken = documented('validation_error', 'asset_token_invalid')
  await recorder.refuses(
    id,
    'an unknown asset_token',
    request({ asset_token: 'ast_contract_check_unknown' }),
    invalidToken,
  )
  await recorder.refuses(id, 'an unknown event', request({ event: 'dance' }), invalid('schema_invalid'))
  await probeDoor(recorder, id, request({ asset_token: 'ast_contract_check_unknown' }), subject)
}

async function probeConsent(recorder: Recorder, subject: Subject, isLive: boolean): Promise<void> {
  const id = 'consent.set'
  const { client_id, secret_key: credential } = subject
  const session_id = `${subject.session_id}_consent`
  const purposes = { semantic_targeting: true, prompt_shared: false }
  const request = recorder.request(id, { body: { client_id, session_id, purposes } }, { credential })
  if (isLive) recorder.skip(id, 'a grant', why.production)
  else await recorder.succeeds(id, 'a grant', request)
  await recorder.refuses(
    id,
    'no credential',
    without(request, 'authorization'),
    assumed('unauthorized', 'credential_missing'),
  )
}

async function probeConfig(recorder: Recorder, { client_id, secret_key }: Subject): Promise<void> {
  const id = 'projects.config'
  const request = recorder.request(id, { params: { client_id } }, { credential: secret_key })
  const answer = await recorder.succeeds(id, 'the config', request)
  if (answer !== null) {
    const secret = /\bsk_(?:test|live)_/.test(answer.text) ? 'a secret key' : 'no secret key'
    recorder.fact(id, 'the config', 'documented', 'body', 'no secret key', secret)
  }
  await recorder.refuses(id, 'no credential', without(request, 'authorization'), missing)
}

async function probeRender(recorder: Recorder, slot: FilledSlot | null, isLive: boolean): Promise<void> {
  await recorder.succeeds('render.script', 'the script, without a credential', recorder.request('render.script', {}))
  if (slot === null) recorder.skip('render.frame', 'a frame', isLive ? why.production : why.no_fill)
  else {
    const { asset_token } = slot
    const request = recorder.request('render.frame', { params: { asset_token } })
    await recorder.succeeds('render.frame', 'a frame, without a credential', request)
  }
}

/** What any endpoint with a JSON body and a credential answers at its door. */
async function probeDoor(
  recorder: Recorder,
  id: V1Id,
  request: HttpRequest,
  { publishable_key }: Subject,
): Promise<void> {
  await recorder.refuses(id, 'no credential', without(request, 'authorization'), missing)
  const text = { ...request, headers: { ...request.headers, 'content-type': 'text/plain' } }
  await recorder.refuses(id, 'text/plain', text, documented('unsupported_media_type', 'content_type_unsupported'))
  await recorder.refuses(id, 'a body cut off', { ...request, body: '{"client_id":' }, invalid('json_malformed'))
  if (publishable_key === null) recorder.skip(id, 'a publishable key as bearer', why.no_publishable)
  else {
    const headers = { ...request.headers, authorization: `Bearer ${publishable_key}` }
    const wrong = documented('forbidden', 'key_class')
    await recorder.refuses(id, 'a publishable key as bearer', { ...request, headers }, wrong)
  }
}

function without(request: HttpRequest, name: string): HttpRequest {
  const { [name]: _, ...headers } = request.headers
  return { ...request, headers }
}

function documented(error: ExpectedError['error'], reason_code: ExpectedError['reason_code']): ExpectedError {
  return { error, reason_code, provenance: 'documented' }
}

function assumed(error: ExpectedError['error'], reason_code: ExpectedError['reason_code']): ExpectedError {
  return { error, reason_code, provenance: 'assumed' }
}

function invalid(reason_code: ExpectedError['reason_code']): ExpectedError {
  return documented('validation_error', reason_code)
}

const missing = documented('unauthorized', 'credential_missing')
