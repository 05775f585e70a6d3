/** The sandbox itself: its state, the integrity of its database, and its end. */
import { ApiError } from '#contract/errors.ts'
import type { Contract } from '#contract/index.ts'
import { clockWarnings } from '#contract/resources/sandbox/sandbox.ts'
import type { Operation, Services } from '../context.ts'
import { verifyChains } from '../evidence/verification.ts'

export const getInfo: Operation<Contract['sandbox.info']> = async (services, { now_ms }) => {
  const { store, platform } = services
  const projects = await store.listProjects()
  const nodes = await listNodes(store)
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
    playback: services.player === null ? null : { ...services.player.source, ...services.player.report() },
    warnings: [
      ...services.warnings,
      ...store.warnings(),
      ...services.spotWarnings,
      ...refused,
      ...clockWarnings(nodes ?? []),
    ],
  }
}

export const stopSandbox: Operation<Contract['sandbox.stop']> = async ({ stop }) => {
  if (stop === null) throw new ApiError('not_found', { message: 'This sandbox ends with the program that started it.' })
  stop()
  return { ok: true }
}

/** The nodes of this namespace; null for a database that one process owns. */
async function listNodes({ shared }: Services['store']) {
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
