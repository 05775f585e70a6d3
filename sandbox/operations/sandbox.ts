/** The sandbox itself: health, info, the integrity of its database, and its contract. */
import { ApiError } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import { contractListing } from '../../src/contract/listing.ts'
import { openapiDocument } from '../../src/contract/openapi.ts'
import type { Operation, Services } from './context.ts'
import { verifyChains } from './evidence.ts'

export const getLiveness: Operation<Contract['health.live']> = async () => ({ ok: true })

/** What a balancer needs to know: whether a request that it sends here now is served. */
export const getReadiness: Operation<Contract['health.ready']> = async ({ store, isDraining }) => {
  if (isDraining) throw new ApiError('draining', { retry_after_s: 1 })
  if (store.shared?.isConnected() === false) {
    throw new ApiError('storage_unavailable', {
      message: 'This node has lost its database.',
      hint: 'Nothing has to be repaired here: it is ready again when the database is back.',
      retry_after_s: 1,
    })
  }
  return { ok: true }
}

export const getInfo: Operation<Contract['sandbox.info']> = async (services, { now_ms }) => {
  const { store, platform } = services
  const projects = await store.listProjects()
  return {
    version: services.version,
    pid: services.pid,
    url: services.url,
    public_url: services.base_url,
    inspector_url: `${services.url}/_sandbox/`,
    database: store.location,
    schema_version: store.schema_version,
    nodes: await nodesOf(store),
    seed: platform.seed,
    clock: { now_ms, offset_ms: platform.clock.offset_ms, frozen: platform.clock.frozen },
    journal: store.journal(),
    events: store.eventLog(),
    projects: projects.map(({ client_id, config_revision, settings: { allowed_origins } }) => ({
      client_id,
      allowed_origins,
      config_revision,
    })),
    warnings: [...services.warnings, ...store.warnings()],
  }
}

/** The nodes of this namespace; null for a database that one process owns. */
async function nodesOf({ shared }: Services['store']) {
  if (shared === null) return null
  const nodes = await shared.nodes()
  return nodes.map(({ number, url, host, pid, version, started_at_ms }) => ({
    number,
    url,
    host,
    pid,
    version,
    started_at_ms,
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
