/**
 * Starts the emulator: everything is built here and in services.ts, with plain calls, and connected nowhere else.
 */
import { inspect } from 'node:util'
import { clockWarnings } from '#contract/resources/sandbox/sandbox.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { isRefusedPort } from '#foundation/refused-ports.ts'
import type { Services } from '#operations/context.ts'
import { checkSpots } from '#operations/evidence/spot-checks.ts'
import { restoreClock } from '#operations/sandbox/clock.ts'
import { createAssets } from '#pipeline/files/assets.ts'
import { createRates } from '#pipeline/rates.ts'
import { createServer, type SandboxServer } from '#pipeline/server.ts'
import { sandboxClock } from '#platform/clock.ts'
import { createPlatform, sha256, sha256Hex } from '#platform/platform.ts'
import type { Faults } from '#runtime/faults.ts'
import { createNodeMetrics, type NodeMetrics } from '#runtime/metrics/node-metrics.ts'
import { followNodes } from '#runtime/node-changes.ts'
import type { PlaybackReport, PlaybackSource } from '#runtime/playback/playback.ts'
import type { Tracing } from '#runtime/traces/tracing.ts'
import { stateFiles } from '#store/sqlite/copies/state-files.ts'
import { explain as explainFile } from '#store/sqlite/file/explain.ts'
import { openFileStore } from '#store/sqlite/index.ts'
import { type OpenedStore, type Seed, StorageError, type StoreOptions } from '#store/store.ts'
import {
  joinDemand,
  listCreativeFiles,
  packageVersion,
  readDemand,
  readFixture,
  root,
  type SeededProject,
} from './fixtures.ts'
import { readOptions, type SandboxOptions, type StoreAddress } from './options.ts'
import type { CheckedCampaign } from './rules/demand/check.ts'
import { listenError } from './sandbox-error.ts'
import { createServices, type Parts } from './services.ts'

export { type Clock, type ManualClock, manualClock } from '#platform/clock.ts'
export type { PlaybackSource } from '#runtime/playback/playback.ts'
export { resetAdminToken } from './admin-token.ts'
export type { SandboxOptions } from './options.ts'
export { SandboxError, type SandboxFailure } from './sandbox-error.ts'

export type PlaybackState = PlaybackSource & PlaybackReport

export interface SandboxProject {
  client_id: string
  secret_key: string
  live_secret_key: string
  publishable_key: string
  allowed_origins: string[]
}

export interface Sandbox {
  readonly url: string
  /** The public URL, else the url. */
  readonly public_url: string
  readonly port: number
  readonly inspector_url: string
  readonly database: string
  readonly pid: number
  readonly version: string
  /** The seeded projects with their permanent keys; `proj_demo` is the first. */
  readonly projects: SandboxProject[]
  /** The keys of `proj_demo`, for the usual case. */
  readonly keys: Omit<SandboxProject, 'allowed_origins'>
  readonly warnings: string[]
  /**
   * The token of this start. The control plane demands a token of browsers that write, and of every client when it listens
   * beyond loopback or shares its store.
   */
  readonly admin_token: string
  /**
   * The first token of a shared store, named admin and accepted by every node. Only the start that created it has it,
   * else null.
   */
  readonly first_token: string | null
  /** Whether clients on other computers can reach it, so the control plane demands the token of all clients. */
  readonly is_public: boolean
  /**
   * Its namespace in a shared store, and how many nodes serve it, including this one; null where one process owns the
   * store.
   */
  readonly shared: { namespace: string; nodes: number } | null
  /** How far the recording has been played; null without one. */
  playback(): PlaybackState | null
  /**
   * Stops accepting, finishes what is under way, closes the database. With `drain_ms`, it keeps serving for that time
   * first, while `readyz` reports that it is stopping.
   * @throws SandboxError when the disk is full: the log next to the database then has the latest writes
   */
  close(options?: CloseOptions): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface CloseOptions {
  /** Default 0. */
  drain_ms?: number
}

/** Between the start and a check of the file: requests that waited for the start come first. */
const checkDelayMs = 200

/**
 * Starts an emulator and resolves when it is ready: migrated, seeded, listening.
 * @throws SandboxError with a code and a hint
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const parts = await openParts(options)
  const { start, store, seeded } = parts
  const lossWarnings = store.warnings()
  const rates = createRates(start.rate, store.shared)
  const services = createServices(parts, rates, () => server)
  const projects = seeded.map(toSandboxProject)
  const { allowed_origins: _, ...keys } = projects[0]!
  const server = createServer({
    services,
    rates,
    guard: {
      hosts: start.address.hosts,
      needsToken: start.address.isPublic || (store.shared !== null && options.demands_token !== false),
    },
    tls: options.tls,
    urlAt: start.address.urlAt,
    import_idle_ms: options.import_idle_ms,
    isJournalOn: start.journal_limit > 0,
    assets: createAssets(root, {
      creatives: listCreativeFiles(parts.demand.data.campaigns),
      media: parts.recording?.player.media ?? null,
      findOwn: services.markets.findFile,
    }),
    seeded_projects: [keys, ...seeded.slice(1).map(({ client_id, keys }) => ({ client_id, ...keys }))],
  })
  const unwatch = await watchDemand(parts, services)
  const endWork = startBackgroundWork(services, server)
  const end = async () => {
    await unwatch()
    await endWork()
  }
  let online: Online
  try {
    online = await goOnline(parts, services, server)
  } catch (error) {
    // The first failure is the one to report.
    await end().catch(() => {})
    throw await findStartError(error, parts)
  }
  const endChecks = startChecks(services)

  let closing: Promise<void> | undefined
  const close = ({ drain_ms = 0 }: CloseOptions = {}) => {
    closing ??= drain(services, drain_ms).then(endChecks).then(end)
    return closing
  }
  const { url, base_url } = services
  return {
    url,
    public_url: base_url,
    port: server.port,
    inspector_url: `${url}/_sandbox/`,
    database: start.storeAddress.kind === 'file' ? start.database : store.location,
    pid: process.pid,
    version: services.version,
    projects,
    keys,
    warnings: [...services.warnings, ...portWarnings(base_url), ...lossWarnings, ...online.warnings],
    admin_token: services.access.start_token,
    first_token: online.first_token,
    is_public: start.address.isPublic,
    shared: store.shared === null ? null : { namespace: store.shared.namespace, nodes: online.nodes },
    playback: () => (services.player === null ? null : { ...services.player.source, ...services.player.report() }),
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

function portWarnings(base_url: string): string[] {
  const { port } = new URL(base_url)
  if (!isRefusedPort(port)) return []
  return [
    `browsers and fetch refuse port ${port} (ERR_UNSAFE_PORT), so no page can use it. Take another: svc start --port 4010`,
  ]
}

/** Starts the checks of the rows that requests do not wait for. Returns a function that ends them. */
function startChecks(services: Services): () => Promise<void> {
  const { store, report, spotWarnings } = services
  let isEnded = false
  let running = Promise.resolve()
  const check = async () => {
    for (const warning of await checkSpots(services, () => isEnded)) {
      spotWarnings.push(warning.message)
      report(warning)
    }
  }
  const timer = setTimeout(() => {
    void store.checkUncleanEnd()
    running = check().catch(report)
  }, checkDelayMs)
  timer.unref()
  return () => {
    isEnded = true
    clearTimeout(timer)
    return running
  }
}

function toSandboxProject({ client_id, keys, settings }: SeededProject): SandboxProject {
  return { client_id, ...keys, allowed_origins: settings.allowed_origins ?? [] }
}

async function openParts(options: SandboxOptions): Promise<Parts> {
  const start = readOptions(options)
  const report = options.report ?? ((error: unknown) => console.error(redactSecrets(inspect(error))))
  const seeded = readFixture<{ projects: SeededProject[] }>('projects.json').projects
  const recording = await loadRecording(options)
  const own = await loadDemand(options)
  const demand = { ...(recording?.extendDemand(own) ?? own), read: own.read }
  const clock = options.clock ?? sandboxClock()
  const metrics = createNodeMetrics()
  const { store, signing_key } = await openStore(start.storeAddress, {
    pid: process.pid,
    now_ms: clock.now(),
    journal_limit: start.journal_limit,
    event_limit: start.event_limit,
    report,
    onTransaction: metrics.countTransaction,
    sha256Hex,
    seed: {
      projects: seeded.map(({ client_id, tenant, settings, keys }) => ({
        client_id,
        tenant,
        settings,
        keys: hashKeys(keys),
      })),
      catalogue: { sha256: sha256Hex(demand.text), demand: demand.text },
    },
  })
  const platform = createPlatform({ clock, seed: start.seed, signingKey: signing_key, node: store.node })
  platform.reserveIdsUpTo(await store.largestId())
  const tracing = await loadTracing(options, metrics, report)
  return { options, start, seeded, demand, recording, store, platform, metrics, tracing, report }
}

/** Loaded only here: a start without a file of demand pays nothing for its readers. */
async function loadDemand({ demand, only = false }: SandboxOptions) {
  if (typeof demand !== 'string') return { ...readDemand(demand), read: new Map() }
  const { openDemand } = await import('./rules/demand/open-demand.ts')
  const { market, read } = await openDemand(demand)
  return { ...joinDemand(market, only), read }
}

/** Loaded only for a start that watches. */
async function watchDemand({ options, demand, report }: Parts, { drainLock, replaceDemand }: Services) {
  const { demand: path, watch = false } = options
  if (!watch || typeof path !== 'string') return async () => {}
  const { followDemand } = await import('./demand-changes.ts')
  return followDemand({
    ...{ path, read: demand.read, report },
    replace: (own) => drainLock.run(() => replaceDemand(own)),
  })
}

/** Loaded only here: a start that plays nothing pays nothing for it. */
async function loadRecording(options: SandboxOptions) {
  if (options.playback === undefined) return null
  const { openRecording } = await import('#runtime/playback/recording-file.ts')
  return openRecording(options, options.playback, sandboxClock().now())
}

/** Loaded only here, like a recording. */
async function loadTracing(
  { otlp, namespace }: SandboxOptions,
  metrics: NodeMetrics,
  report: (error: unknown) => void,
): Promise<Tracing | null> {
  if (otlp === undefined) return null
  const { createTracing } = await import('./server/tracing/tracing.ts')
  return createTracing({ endpoint: otlp, version: packageVersion(), namespace: namespace ?? null, metrics, report })
}

/** Follows the other nodes. Returns a function that ends this and everything else. */
function startBackgroundWork(services: Services, server: SandboxServer): () => Promise<void> {
  const { descriptors, pendingDecisions, callbacks, tracing, store } = services
  const unfollow = followNodes(services)
  return async () => {
    descriptors.stop()
    unfollow()
    pendingDecisions.cancel()
    await server.close()
    // Requests that arrived during the stop have set their own alarms.
    pendingDecisions.cancel()
    await callbacks.close()
    await tracing?.close()
    await store.close()
  }
}

interface Online {
  warnings: string[]
  first_token: string | null
  /** Nodes that serve the store; 0 where one process owns it. */
  nodes: number
}

/** Restores the stored state, listens, and joins the other nodes. */
async function goOnline(
  { options, store, platform }: Parts,
  services: Services,
  server: SandboxServer,
): Promise<Online> {
  const { clock } = platform
  const { faults, access, callbacks, pendingDecisions } = services
  await restoreClock(services)
  await faults.restore()
  if (options.scenario !== undefined) await services.scenarios.use(options.scenario, clock.now())
  const isMoved = options.clock === undefined && (clock.frozen || clock.offset_ms !== 0)
  const warnings = isMoved ? ['the clock was moved: svc sandbox clock show'] : []
  if (options.scenario === undefined) warnings.push(...listFaultWarnings(faults))
  await server.listen(options.host, options.port ?? 0)
  const { base_url, version } = services
  await store.shared?.join({ url: base_url, version }, () => clock.now() - clock.offset_ms)
  await callbacks.restore()
  await pendingDecisions.restore()
  if (store.shared === null) return { warnings, first_token: null, nodes: 0 }
  const first_token = await access.createFirst()
  const nodes = await store.shared.nodes()
  return { warnings: [...warnings, ...clockWarnings(nodes)], first_token, nodes: nodes.length }
}

/** A load balancer that polls `readyz` sends no more requests; those that still arrive are served. */
async function drain(services: Services, drain_ms: number): Promise<void> {
  services.isDraining = true
  if (drain_ms > 0) await new Promise((resolve) => setTimeout(resolve, drain_ms))
}

async function openStore(address: StoreAddress, options: StoreOptions): Promise<OpenedStore> {
  if (address.kind === 'file') return openFileStore({ ...options, path: address.path })
  // Loaded only here: a start with a file pays nothing for it.
  const { openPostgresStore } = await import('#store/postgres/index.ts')
  return openPostgresStore({ ...options, ...address, files: stateFiles(options) })
}

/**
 * Creates or migrates the schema of a PostgreSQL database without serving it.
 * @throws SandboxError
 */
export async function migrateStore(store: string, namespace: string | null) {
  const { migrateDatabase } = await import('#store/postgres/index.ts')
  return migrateDatabase({ url: store, namespace, report: console.error })
}

/** Returns why a start failed after the database was opened: its content cannot be read, or no port was free. */
async function findStartError(error: unknown, { options, start, store }: Parts): Promise<unknown> {
  if (!(error instanceof StorageError)) return listenError(error, start.host, options.port ?? 0)
  if (start.storeAddress.kind === 'file') return explainFile(error, start.storeAddress.path)
  const postgres = await import('#store/postgres/failures.ts')
  return postgres.explain(error, store.location)
}

function hashKeys({ secret_key, live_secret_key, publishable_key }: SeededProject['keys']): SeedKeys {
  return [
    { class: 'secret', mode: 'test', hash: sha256(secret_key) },
    { class: 'secret', mode: 'live', hash: sha256(live_secret_key) },
    { class: 'publishable', mode: 'test', hash: sha256(publishable_key) },
  ]
}

type SeedKeys = Seed['projects'][number]['keys']

/** Returns a warning about fault rules of an earlier run that are still in force. */
function listFaultWarnings({ scenario, list }: Faults): string[] {
  const rules = list().length
  if (scenario !== null) return [`the scenario ${scenario} is still in use: svc sandbox scenario use none`]
  if (rules === 0) return []
  return [`${rules === 1 ? 'a fault rule is' : `${rules} fault rules are`} still in force: svc sandbox faults list`]
}

export type { CheckedCampaign }

/**
 * Reads a file of your own campaigns, or a folder of them, without starting anything.
 * @param now_ms epoch milliseconds, by which a flight is over
 * @throws SandboxError demand_invalid, whose message has everything that is wrong, a line each
 */
export async function checkDemand(path: string, now_ms: number): Promise<CheckedCampaign[]> {
  return (await import('./rules/demand/check.ts')).checkDemand(path, now_ms)
}

/** Resolves to the JSON schema of files of demand, for editors. */
export async function demandSchema(): Promise<object> {
  return (await import('./rules/demand/demand-file.ts')).demandSchema()
}
