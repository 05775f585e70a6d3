/**
 * The sandbox itself: health, info, the integrity of its database, its contract and its clock; the tokens of its
 * control plane with the audit list of their use, and the namespaces that they are for (A97).
 */

import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import { contractListing } from '#contract/listing.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { clockWarnings, latest_ms, type SandboxClock } from '#contract/resources/sandbox.ts'
import type { Clock } from '#platform/clock.ts'
import { startName } from '#runtime/access.ts'
import { type Context, cursorOf, type Operation, pageOf, type Services } from './context.ts'
import { verifyChains } from './evidence.ts'

export const getLiveness: Operation<Contract['health.live']> = async () => ({ ok: true })

/** Readiness, for balancers: whether a request sent here now is served. */
export const getReadiness: Operation<Contract['health.ready']> = async ({ store, isDraining, descriptors }) => {
  if (isDraining) throw new ApiError('draining', { retry_after_s: 1 })
  if (store.shared?.isConnected() === false) {
    throw new ApiError('storage_unavailable', {
      message: 'This node has lost its database.',
      hint: 'Nothing has to be repaired here: the node is ready again when the database is back.',
      retry_after_s: 1,
    })
  }
  const problem = descriptors.problem()
  if (problem !== null) {
    throw new ApiError('storage_unavailable', {
      message: `The sandbox cannot accept connections: ${problem}.`,
      hint: 'Close connections that are not used, or start it with a higher limit: ulimit -n 4096.',
      retry_after_s: 1,
    })
  }
  return { ok: true }
}

export const getInfo: Operation<Contract['sandbox.info']> = async (services, { now_ms }) => {
  const { store, platform } = services
  const projects = await store.listProjects()
  const nodes = await nodesOf(store)
  const problem = services.descriptors.problem()
  const refused = problem === null ? [] : [`connections are closed without a response: ${problem}`]
  return {
    version: services.version,
    pid: services.pid,
    url: services.url,
    public_url: services.base_url,
    inspector_url: `${services.url}/_sandbox/`,
    database: store.location,
    schema_version: store.schema_version,
    nodes,
    seed: platform.seed,
    clock: { now_ms, offset_ms: platform.clock.offset_ms, frozen: platform.clock.frozen },
    journal: store.journal(),
    events: store.eventLog(),
    projects: projects.map(({ client_id, config_revision, settings: { allowed_origins } }) => ({
      client_id,
      allowed_origins,
      config_revision,
    })),
    warnings: [...services.warnings, ...store.warnings(), ...refused, ...clockWarnings(nodes ?? [])],
  }
}

export const stopSandbox: Operation<Contract['sandbox.stop']> = async ({ stop }) => {
  if (stop === null) throw new ApiError('not_found', { message: 'This sandbox ends with the program that started it.' })
  stop()
  return { ok: true }
}

/** The nodes of this namespace; null for a database that one process owns. */
async function nodesOf({ shared }: Services['store']) {
  if (shared === null) return null
  const nodes = await shared.nodes()
  return nodes.map(({ number, url, host, pid, version, started_at_ms, clock_ahead_ms }) => ({
    number,
    url,
    host,
    pid,
    version,
    started_at_ms,
    clock_ahead_ms,
  }))
}

/** GET /_sandbox/integrity: first the database, then whether its rows match the evidence. */
export const checkIntegrity: Operation<Contract['sandbox.integrity']> = async (services) => {
  const problems = await services.store.integrityProblems()
  const database = { ok: problems.length === 0, problems }
  const evidence = await verifyChains(services)
  return { ok: database.ok && evidence.ok, database, evidence }
}

export const getContract: Operation<Contract['contract.show']> = async () => {
  const { endpoints, reason_codes, no_fill_reasons } = contractListing()
  return JSON.parse(JSON.stringify({ endpoints, reason_codes, no_fill_reasons }))
}

export const getOpenapi: Operation<Contract['contract.openapi']> = async (services) =>
  openapiDocument({ server_url: services.base_url }) as Record<string, never>

/* The sandbox clock. Each move is stored and emits an event. */

export const showClock: Operation<Contract['clock.show']> = async (services, { now_ms }) =>
  reading(services.platform.clock, now_ms)

export const advanceClock: Operation<Contract['clock.advance']> = async (services, context, { body }) => {
  const { clock } = services.platform
  return move(services, context, () => {
    if (clock.now() + body.by_ms > latest_ms) {
      throw new ApiError('schema_invalid', {
        fields: [{ path: 'by_ms', message: 'reaches beyond the year 9000', expected: 'a shorter time' }],
      })
    }
    clock.advance(body.by_ms)
  })
}

export const setClock: Operation<Contract['clock.set']> = async (services, context, { body }) => {
  return move(services, context, () => services.platform.clock.set(body.to_ms))
}

export const freezeClock: Operation<Contract['clock.freeze']> = async (services, context) => {
  return move(services, context, () => services.platform.clock.freeze())
}

export const resumeClock: Operation<Contract['clock.resume']> = async (services, context) => {
  return move(services, context, () => services.platform.clock.resume())
}

/** Sets the clock from the database, or from the host if the database has none. */
export async function restoreClock({ store, platform }: Pick<Services, 'store' | 'platform'>): Promise<void> {
  platform.clock.restore(await store.findClock())
}

/**
 * Moves the clock and stores it, and resolves when every decision that became due is made. A move that cannot be stored
 * is undone, so an error means that nothing moved. If two nodes move it at the same moment, the second starts again
 * from the first one's time. The time of this request becomes the time of the move, so that its Date header is right.
 */
async function move(services: Services, context: Context, change: () => void): Promise<SandboxClock> {
  const { store, platform, pendingDecisions } = services
  const isShared = store.shared !== null
  for (;;) {
    // Another node may have moved it a moment ago.
    const from = isShared ? await store.findClock() : null
    if (isShared) platform.clock.restore(from)
    const before = platform.clock.state()
    change()
    const clock = reading(platform.clock, platform.clock.now())
    try {
      if (!(await store.saveClock(platform.clock.state(), from, clock.now_ms))) continue
    } catch (error) {
      platform.clock.restore(before)
      // Alarms of the undone time were called.
      await pendingDecisions.restore()
      throw error
    }
    context.now_ms = clock.now_ms
    if (isShared) {
      // The notification of an older move may have arrived in the meantime.
      await restoreClock(services)
      await pendingDecisions.adopt()
    }
    await pendingDecisions.drain()
    return clock
  }
}

function reading(clock: Clock, now_ms: number): SandboxClock {
  return { now_ms, offset_ms: clock.offset_ms, frozen: clock.frozen }
}

/* Tokens of the control plane */

export const listTokens: Operation<Contract['tokens.list']> = async ({ access }) => ({ items: await access.list() })

export const createToken: Operation<Contract['tokens.create']> = async ({ access }, _context, { body }) => {
  const created = await access.create(body.name, body.role ?? 'read')
  if (created !== null) return { ...created.row, token: created.text }
  const isOwn = body.name === startName
  throw new ApiError('token_exists', {
    message: isOwn
      ? `The name ${startName} belongs to the token of svc start.`
      : `There is a token named ${body.name}, or there was one.`,
  })
}

export const revokeToken: Operation<Contract['tokens.revoke']> = async ({ access }, _context, { params }) => {
  const row = await access.revoke(params.name)
  if (row !== null) return row
  throw new ApiError('not_found', {
    message: `There is no token named ${params.name}.`,
    hint: 'List them: svc tokens list.',
  })
}

export const listAudit: Operation<Contract['audit.list']> = async ({ store }, _context, { query }) => {
  const page = pageOf(query)
  const rows = await store.access.listAudit({ ...page, token: query.token })
  const items = rows.slice(0, page.limit).map(({ id, ...entry }) => ({ audit_id: id, ...entry }))
  return { items, next_cursor: cursorOf(rows.length > page.limit ? items.at(-1)!.audit_id : null) }
}

export const listNamespaces: Operation<Contract['namespaces.list']> = async ({ store: { shared } }) => {
  if (shared === null) return { items: [] }
  const namespaces = await shared.namespaces()
  return { items: namespaces.map((namespace) => ({ ...namespace, is_own: namespace.name === shared.namespace })) }
}

export const deleteNamespace: Operation<Contract['namespaces.delete']> = async ({ store }, _context, { params }) => {
  const outcome = (await store.shared?.deleteNamespace(params.name)) ?? 'missing'
  if (outcome === 'deleted') return { ok: true }
  if (outcome === 'in_use') throw new ApiError('namespace_in_use')
  throw new ApiError('not_found', {
    message: `There is no namespace named ${params.name}.`,
    hint:
      store.shared === null
        ? 'Namespaces need a shared store: svc start --store URL --namespace NAME.'
        : 'List them: svc namespaces list.',
  })
}
