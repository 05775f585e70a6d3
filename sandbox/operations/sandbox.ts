/** The sandbox itself: health, info, the integrity of its database, and its contract. */
import type { Contract } from '../../src/contract/index.ts'
import { contractListing } from '../../src/contract/listing.ts'
import { openapiDocument } from '../../src/contract/openapi.ts'
import type { Operation } from './context.ts'
import { verifyChains } from './evidence.ts'

export const getLiveness: Operation<Contract['health.live']> = async () => ({ ok: true })
export const getReadiness: Operation<Contract['health.ready']> = async () => ({ ok: true })

export const getInfo: Operation<Contract['sandbox.info']> = async (services, { now_ms }) => {
  const { store, platform } = services
  const projects = await store.listProjects()
  return {
    version: services.version,
    pid: services.pid,
    url: services.url,
    public_url: services.base_url,
    inspector_url: `${services.url}/_sandbox/`,
    database: store.path,
    schema_version: store.schema_version,
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
