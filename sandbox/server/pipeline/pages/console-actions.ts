/**
 * The actions of the console on a page (A114). Each is a call of the control plane or the API, sent through the pipeline:
 * it is validated, journalled and audited as any other, and the audit list has it under the origin of the page. All of
 * them are about test traffic.
 */
import type { Output } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { type Format, formats } from '#contract/fields.ts'
import { decodeId, encodeId } from '#contract/ids.ts'
import { type Contract, contract } from '#contract/index.ts'
import { ownAgents } from '#contract/own-requests.ts'
import {
  type ConsoleAction,
  type ConsoleActResult,
  type ConsoleGrant,
  type ConsoleState,
  defaultSlowFrameMs,
  maxConsoleCampaigns,
} from '#contract/resources/sandbox/console.ts'
import type { FaultRule } from '#contract/resources/sandbox/faults.ts'
import { formatDuration } from '#foundation/duration.ts'
import { fillPath } from '#foundation/http.ts'
import { allowsOrigin, beaconsEndMs } from '#operations/context.ts'
import { listOwnFirst } from '#operations/creative-sheet.ts'
import type { JsonEndpointId } from '#operations/index.ts'
import type { Identity } from '#runtime/replay.ts'
import type { SlotRow } from '#store/store.ts'
import { internalRequest } from '../exchange.ts'
import { type Pipeline, respondTo } from '../pipeline.ts'

/** A page with a confirmed grant. */
interface GrantedPage {
  pipeline: Pipeline
  grant: ConsoleGrant
  signal: () => AbortSignal
}

type Done = Pick<ConsoleActResult, 'done'> & Partial<ConsoleActResult>
type ActionNamed<Name extends ConsoleAction['action']> = Extract<ConsoleAction, { action: Name }>
type Actions = { [Name in ConsoleAction['action']]: (page: GrantedPage, action: ActionNamed<Name>) => Promise<Done> }

/** Runs the action that a page requested. @throws ApiError 404 for a slot that is not the page's, and the errors of the call */
export async function act(page: GrantedPage, action: ConsoleAction): Promise<ConsoleActResult> {
  const perform = actions[action.action] as (page: GrantedPage, action: ConsoleAction) => Promise<Done>
  const { done, replayed = null } = await perform(page, action)
  return { done, state: readState(page), replayed }
}

const framePath = '/v1/render/'

const actions: Actions = {
  async no_fill(page, { on }) {
    if (on) {
      await callAsPage(page, 'scenario.use', { params: { name: 'no_fill' }, body: {} })
      return { done: 'Test traffic gets no fill until you turn this off.' }
    }
    if (readState(page).is_no_fill) await callAsPage(page, 'scenario.clear')
    return { done: 'No no-fill is forced.' }
  },

  async format(page, { format }) {
    if (format !== null) {
      await callAsPage(page, 'scenario.use', { params: { name: formatScenarios[format] }, body: {} })
      return { done: `Test traffic fills only as ${format} until you choose another format.` }
    }
    if (readState(page).format !== null) await callAsPage(page, 'scenario.clear')
    return { done: 'No format is forced.' }
  },

  async campaign(page, { campaign_id }) {
    if (campaign_id !== null) {
      await callAsPage(page, 'scenario.use', { params: { name: campaign_id }, body: {} })
      return { done: `Test traffic gets ${campaign_id}, or the rule that forbids it, until you choose another.` }
    }
    if (readState(page).campaign_id !== null) await callAsPage(page, 'scenario.clear')
    return { done: 'No campaign is forced.' }
  },

  async withdraw_consent(page, { slot_id }) {
    const { project, job } = await findOwnSlot(page, slot_id)
    const { session_id } = job
    if (session_id === null)
      throw refused('The request of this slot named no session, so there is no consent to withdraw.')
    const body = { client_id: project.client_id, session_id, decision: 'withdrawn' }
    await callAsPage(page, 'consent.set', { body }, await findIdentity(page, job.key_id))
    return { done: 'The consent of the session is withdrawn.' }
  },

  async expire(page, { slot_id }) {
    const slot = await findOwnSlot(page, slot_id)
    if (slot.decision?.outcome.status !== 'filled') throw refused('This slot has no fill, so no asset token expires.')
    const end_ms = beaconsEndMs(slot, slot.decision, 'render')
    const by_ms = end_ms + 1 - page.pipeline.services.platform.clock.now()
    if (by_ms <= 0) return { done: 'The asset token has expired already.' }
    await callAsPage(page, 'clock.advance', { body: { by_ms } })
    return { done: `The sandbox clock is ${formatDuration(by_ms)} further, and the asset token has expired.` }
  },

  async slow_frame(page, { latency_ms = defaultSlowFrameMs, slot_id }) {
    const { session_id } = (await findOwnSlot(page, slot_id)).job
    if (session_id === null) throw refused('The request of this slot named no session, whose next frame could be slow.')
    const rule = { method: 'GET', path: framePath, effect: 'delay', latency_ms, times: 1, session_id }
    await callAsPage(page, 'faults.add', { body: rule })
    return { done: `The next frame of this session loads ${latency_ms} ms later.` }
  },

  async replay(page, { slot_id }) {
    const request_id = await findPlacementRequest(page, await findOwnSlot(page, slot_id))
    const { exchange } = await callAsPage(page, 'requests.replay', { params: { request_id }, body: {} })
    const { status, request_id: replayed_id, slot_id: new_slot_id } = exchange
    return {
      done: `The request was sent again and got a ${status}.`,
      replayed: { request_id: replayed_id, status, slot_id: new_slot_id },
    }
  },

  state: async () => ({ done: 'Nothing was changed.' }),
}

/** The scenario in which every fill has the format. */
const formatScenarios: Readonly<Record<Format, string>> = { banner: 'banner_ok', clip: 'clip_ok', native: 'native_ok' }

function readState({ pipeline, grant }: GrantedPage): ConsoleState {
  const { faults, scenarios, platform } = pipeline.services
  const { format, no_fill_reason, force_campaign_id } = scenarios.changesFor('test')
  return {
    scenario: faults.scenario,
    is_no_fill: no_fill_reason !== undefined,
    format: formats.find((name) => name === format) ?? null,
    campaign_id: force_campaign_id ?? null,
    campaigns: listOwnFirst(pipeline.services).slice(0, maxConsoleCampaigns),
    slow_frame_ms: faults.list().find(delaysNextFrame)?.latency_ms ?? null,
    clock_offset_ms: platform.clock.offset_ms,
    grant_expires_at_ms: grant.expires_at_ms,
  }
}

function delaysNextFrame({ effect, path, times, injected }: FaultRule): boolean {
  return effect === 'delay' && path === framePath && (times === undefined || injected < times)
}

/** Resolves to a slot in test mode of a project that allows the origin of the page. @throws ApiError 404 for any other */
async function findOwnSlot({ pipeline, grant }: GrantedPage, slot_id: string): Promise<SlotRow> {
  const { services } = pipeline
  const id = decodeId('slot', slot_id)
  const slot = id === null ? null : await services.drainLock.run(async () => services.store.findSlot(id))
  if (slot?.job.mode === 'test' && allowsOrigin(services, slot.project, grant.origin, 'test')) return slot
  throw new ApiError('not_found', {
    message: 'No such slot in test mode of a project that allows this origin.',
    hint: 'Send the slot_id of an ad on this page.',
  })
}

function refused(message: string): ApiError {
  return new ApiError('schema_invalid', {
    fields: [{ path: 'slot_id', message, expected: 'another slot of this page' }],
  })
}

/** Resolves to the request_id of the request that created a slot. @throws ApiError 404 when the journal has it no more */
async function findPlacementRequest(page: GrantedPage, { id, job, project }: SlotRow): Promise<string> {
  const at = String(job.created_at_ms)
  const query = { client_id: project.client_id, method: 'POST', path: '/v1/', since: at, until: at, limit: 1000 }
  // Each response covers a limited part of the journal.
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asked = cursor === undefined ? query : { ...query, cursor }
    const { items, next_cursor } = await callAsPage(page, 'requests.list', { query: asked })
    const found = items.findLast(({ slot_id }) => slot_id === encodeId('slot', id))
    if (found !== undefined) return found.request_id
    cursor = next_cursor
  }
  throw new ApiError('not_found', {
    message: 'The journal no longer has the request of this slot.',
    hint: 'Replay a newer turn.',
  })
}

/** Resolves to the identity that acts as a key does, in place of its text. */
async function findIdentity({ pipeline }: GrantedPage, key_id: number): Promise<Identity> {
  const key = await pipeline.services.drainLock.run(async () => pipeline.services.store.findKeyById(key_id))
  return { kind: key?.class === 'publishable' ? 'at' : 'sk_test', key_id, slot_id: null }
}

type OutputOf<Id extends JsonEndpointId> = Output<Contract[Id]>

interface CallInput {
  params?: object
  query?: Readonly<Record<string, string | number>>
  body?: object
}

/**
 * Calls an endpoint as the page, and resolves to its response. `identity` is that of a call of the API, which the
 * pipeline does not audit.
 * @throws ApiError the error of the response
 */
async function callAsPage<Id extends JsonEndpointId>(
  { pipeline, grant: { origin }, signal }: GrantedPage,
  id: Id,
  { params, query = {}, body }: CallInput = {},
  identity: Identity | null = null,
): Promise<OutputOf<Id>> {
  const { services } = pipeline
  const { method, path } = contract[id]
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  const url = fillPath(path, params) + (search && `?${search}`)
  const headers = {
    host: new URL(services.url).host,
    'user-agent': ownAgents.console,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(identity === null ? {} : { authorization: `Bearer ${identity.kind}_redacted` }),
    ...(identity?.kind === 'at' ? { origin } : {}),
  }
  const sent = body === undefined ? '' : JSON.stringify(body)
  const holder = { name: origin, role: 'write', text: '' } as const
  const { response } = await respondTo(
    pipeline,
    internalRequest({ method, url, headers, body: sent, identity, holder, signal }),
  )
  const { status, error } = response
  if (identity !== null) {
    await services.access.note({
      token: origin,
      action: id,
      path: url,
      status,
      reason_code: error?.reason_code ?? null,
    })
  }
  if (error !== undefined) throw error
  return JSON.parse(String(response.body))
}
