/**
 * The first step of faults, before credentials and rates, as a broken network would be: it counts the request and waits.
 * Skipped while there are no rules.
 */
import { type Format, formats } from '#contract/fields.ts'
import { decodeId, parseToken } from '#contract/ids.ts'
import { contract } from '#contract/index.ts'
import type { FaultRequest } from '#domain/faults.ts'
import { withoutQuery } from '#foundation/http.ts'
import { isObject, parseJsonObject } from '#foundation/json.ts'
import type { Services } from '#operations/context.ts'
import type { SlotRow } from '#store/store.ts'
import type { Request } from '../exchange.ts'

/** Counts the request for the rule that matches it, notes the rule in the request, and waits its latency. */
export async function injectFault(services: Services, request: Request): Promise<void> {
  const { faults, drainLock, platform } = services
  // Inside the drain lock: the count belongs to the same state as the rules.
  request.fault = await drainLock.run(async () =>
    faults.inject(await describeRequest(services, request), platform.clock.now()),
  )
  const { latency_ms } = request.fault ?? { latency_ms: 0 }
  if (latency_ms > 0) await wait(latency_ms, request.signal())
}

const decisionPaths: ReadonlySet<string> = new Set(
  (['placements.create', 'jobs.create', 'wrapper.job'] as const).map((id) => contract[id].path),
)

/** Returns the request as fault rules see it. Body and store are read only when a rule needs them. */
async function describeRequest({ faults, store }: Services, request: Request): Promise<FaultRequest> {
  const path = withoutQuery(request.url)
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
  const isActivation = path === contract['browser.activate'].path
  const body = faults.needsDetails || isActivation ? (parseJsonObject(request.body.toString('utf8')) ?? {}) : {}
  const key = bearer ?? (isActivation ? toText(body.publishable_key) : null)
  const description = { method: request.method, path, key, session_id: null, formats: [] }
  if (!faults.needsDetails) return description
  const slot_id = findSlotId(request.params, body)
  const slot = slot_id === null ? null : await store.findSlot(slot_id)
  if (slot !== null) return { ...description, session_id: slot.job.session_id, formats: listSlotFormats(slot) }
  return {
    ...description,
    session_id:
      toText(body.session_id) ?? toText(body.chat_session_id) ?? toText(toObject(body.context).chat_session_id),
    formats: decisionPaths.has(request.path) ? listRequestedFormats(body) : [],
  }
}

/** The slot that a decision, a frame or a beacon is about. */
function findSlotId(params: Request['params'], body: Record<string, unknown>): number | null {
  if (params.slot_id !== undefined) return decodeId('slot', params.slot_id)
  const token = params.asset_token ?? toText(body.asset_token)
  return token === null ? null : (parseToken(token)?.id ?? null)
}

function listSlotFormats({ decision, job, project }: SlotRow): readonly Format[] {
  if (decision?.outcome.status === 'filled') return [decision.outcome.format]
  return job.facts.allowed_formats ?? project.settings.defaults.allowed_formats
}

function listRequestedFormats(body: Record<string, unknown>): readonly Format[] {
  const named = toObject(body.overrides).allowed_formats ?? toObject(body.slot_config).allowed_formats
  return Array.isArray(named) ? formats.filter((format) => named.includes(format)) : formats
}

/** Resolves after some time, or as soon as the client has gone. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

function toObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
