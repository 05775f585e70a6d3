/**
 * Starts the emulator: everything is built here, with plain calls, and the parts are connected here and nowhere else.
 */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { decisionText } from '#compat/decisions.ts'
import { clockWarnings } from '#contract/resources/sandbox/sandbox.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { Caller, Services } from '#operations/context.ts'
import { restoreClock } from '#operations/sandbox/clock.ts'
import { createAssets } from '#pipeline/assets.ts'
import { createRates } from '#pipeline/rates.ts'
import { createServer } from '#pipeline/server.ts'
import { sandboxClock } from '#platform/clock.ts'
import { watchDescriptors } from '#platform/descriptors.ts'
import { createPlatform, sha256, sha256Hex } from '#platform/platform.ts'
import { createAccess } from '#runtime/access.ts'
import { type CallbackNetwork, createCallbacks } from '#runtime/callbacks.ts'
import { createDrainLock } from '#runtime/drain-lock.ts'
import { createFaults, type Faults } from '#runtime/faults.ts'
import { createMarkets } from '#runtime/markets.ts'
import { followNodes } from '#runtime/node-changes.ts'
import { createPendingDecisions } from '#runtime/pending-decisions.ts'
import { createScenarios } from '#runtime/scenarios.ts'
import { createSharedTickets, createTickets, type Tickets } from '#runtime/tickets.ts'
import { createWaiters } from '#runtime/waiters.ts'
import type { SharedStore } from '#store/nodes.ts'
import { openFileStore } from '#store/sqlite/index.ts'
import { explain as explainFile } from '#store/sqlite/open.ts'
import { type OpenedStore, type Seed, StorageError, type Store, type StoreOptions } from '#store/store.ts'
import {
  listCreativeFiles,
  packageVersion,
  readDemand,
  readFixture,
  readScenarios,
  root,
  type SeededProject,
} from './fixtures.ts'
import { readOptions, type SandboxOptions, type StoreAddress } from './options.ts'
import { listenError } from './sandbox-error.ts'

export { type Clock, type ManualClock, manualClock } from '#platform/clock.ts'
export type { SandboxOptions } from './options.ts'
export { SandboxError, type SandboxFailure } from './sandbox-error.ts'

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
  const { host, address, database, storeAddress, journal_limit, event_limit, seed, rate } = readOptions(options)
  const report = options.report ?? ((error: unknown) => console.error(redactSecrets(inspect(error))))
  const seeded = readFixture<{ projects: SeededProject[] }>('projects.json').projects
  const demand = readDemand(options.demand)

  const clock = options.clock ?? sandboxClock()
  const { store, signing_key } = await openStore(storeAddress, {
    pid: process.pid,
    now_ms: clock.now(),
    journal_limit,
    event_limit,
    report,
    sha256Hex,
    seed: {
      projects: seeded.map((project) => ({
        client_id: project.client_id,
        tenant: project.tenant,
        settings: project.settings,
        keys: seededKeys(project),
      })),
      catalogue: { sha256: sha256Hex(demand.text), demand: demand.text },
    },
  })
  const platform = createPlatform({ clock, seed, signingKey: signing_key, node: store.node })
  platform.reserveIdsUpTo(await store.largestId())

  const access = createAccess({
    store,
    platform,
    newToken: newTokenText,
    report,
  })
  const warnings = [...address.warnings, ...store.notes]
  const needsToken = address.isPublic || (store.shared !== null && options.demands_token !== false)
  const lossWarnings = store.warnings()

  const rates = createRates(rate, store.shared)
  const faults = createFaults({ store, hash: sha256Hex, report })
  const decisions = {
    store,
    platform,
    markets: createMarkets({
      store,
      demand: demand.data,
      topics: () => readFixture('topics.json'),
      safety: () => readFixture('content-safety.json'),
    }),
    scenarios: createScenarios(readScenarios, faults),
    decision_latency_ms: options.decision_latency_ms ?? null,
  }
  const waiters = createWaiters()
  let loading: Promise<CallbackNetwork> | undefined
  const network = () => {
    loading ??= import('#runtime/callback-network.ts').then(({ createCallbackNetwork }) => {
      return createCallbackNetwork({ own_port: () => port, isPublic: address.isPublic })
    })
    return loading
  }
  const callbacks = createCallbacks({
    store,
    platform,
    readMessage: async (slot_id) => (await services.drainLock.run(() => decisionText(services, slot_id))) ?? null,
    network: {
      findProblem: async (url) => (await network()).findProblem(url),
      post: async (...request) => (await network()).post(...request),
    },
    report,
  })
  const pendingDecisions = createPendingDecisions({ ...decisions, waiters, callbacks, report })
  const descriptors = watchDescriptors(report)
  const services: Services = {
    ...decisions,
    descriptors,
    waiters,
    pendingDecisions,
    callbacks,
    tickets:
      store.shared === null ? createTickets(platform.newSecret) : createNodeTickets(store.shared, { store, platform }),
    faults,
    drainLock: createDrainLock(),
    access,
    url: '',
    base_url: '',
    version: packageVersion(),
    pid: process.pid,
    warnings,
    strict: options.strict ?? false,
    isDraining: false,
    stop: options.stop ?? null,
    localKeys: new Set(
      address.isPublic && options.allow_known_keys !== true ? seeded.flatMap(({ keys }) => Object.values(keys)) : [],
    ),
    resend: (request, signal) => server.replay(request, signal),
    clearRates: rates.clear,
    report,
  }
  const projects = seeded.map(({ client_id, keys, settings }) => ({
    client_id,
    ...keys,
    allowed_origins: settings.allowed_origins ?? [],
  }))
  const { allowed_origins: _, ...keys } = projects[0]!
  const server = createServer({
    services,
    rates,
    guard: { hosts: address.hosts, needsToken },
    tls: options.tls,
    import_idle_ms: options.import_idle_ms,
    isJournalOn: journal_limit > 0,
    assets: createAssets(root, listCreativeFiles(demand.data.campaigns)),
    seeded_projects: [keys, ...seeded.slice(1).map(({ client_id, keys }) => ({ client_id, ...keys }))],
  })

  const unfollow = followNodes(services)

  const end = async () => {
    descriptors.stop()
    unfollow()
    pendingDecisions.cancel()
    await server.close()
    // Requests that arrived during the stop have set their own alarms.
    pendingDecisions.cancel()
    await callbacks.close()
    await store.close()
  }

  let port = 0
  let isMoved = false
  let first_token: string | null = null
  let nodes = 0
  let differingClocks: string[] = []
  let faultWarnings: string[] = []
  try {
    await restoreClock(services)
    await faults.restore()
    if (options.scenario !== undefined) await services.scenarios.use(options.scenario, clock.now())
    isMoved = options.clock === undefined && (clock.frozen || clock.offset_ms !== 0)
    if (options.scenario === undefined) faultWarnings = listFaultWarnings(faults)
    port = await server.listen(options.host, options.port ?? 0)
    services.url = address.urlAt(port)
    services.base_url = address.public_url ?? services.url
    const { base_url, version } = services
    await store.shared?.join({ url: base_url, version }, () => clock.now() - clock.offset_ms)
    await callbacks.restore()
    await pendingDecisions.restore()
    if (store.shared !== null) {
      first_token = await access.createFirst()
      const present = await store.shared.nodes()
      nodes = present.length
      differingClocks = clockWarnings(present)
    }
  } catch (error) {
    // The first failure is the one to report.
    await end().catch(() => {})
    throw await startError(error, storeAddress, store, host, options.port ?? 0)
  }
  const { url } = services
  const check = setTimeout(() => void store.checkUncleanEnd(), checkDelayMs)
  check.unref()

  let closing: Promise<void> | undefined
  const close = ({ drain_ms = 0 }: CloseOptions = {}) => {
    clearTimeout(check)
    closing ??= drain(drain_ms).then(end)
    return closing
  }
  /** A load balancer that polls `readyz` sends no more requests; those that still arrive are served. */
  const drain = async (drain_ms: number) => {
    services.isDraining = true
    if (drain_ms > 0) await new Promise((resolve) => setTimeout(resolve, drain_ms))
  }
  return {
    url,
    public_url: services.base_url,
    port,
    inspector_url: `${url}/_sandbox/`,
    database: storeAddress.kind === 'file' ? database : store.location,
    pid: process.pid,
    version: services.version,
    projects,
    keys,
    warnings: [
      ...warnings,
      ...lossWarnings,
      ...(isMoved ? ['the clock was moved: svc sandbox clock show'] : []),
      ...faultWarnings,
      ...differingClocks,
    ],
    admin_token: access.start_token,
    first_token,
    is_public: address.isPublic,
    shared: store.shared === null ? null : { namespace: store.shared.namespace, nodes },
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

async function openStore(address: StoreAddress, options: StoreOptions): Promise<OpenedStore> {
  if (address.kind === 'file') return openFileStore({ ...options, path: address.path })
  // Loaded only here: a start with a file pays nothing for it.
  const { openPostgresStore } = await import('#store/postgres/index.ts')
  return openPostgresStore({ ...options, ...address })
}

/**
 * Creates or migrates the schema of a PostgreSQL database without serving it.
 * @throws SandboxError
 */
export async function migrateStore(store: string, namespace: string | null) {
  const { migrateDatabase } = await import('#store/postgres/index.ts')
  return migrateDatabase({ url: store, namespace, report: console.error })
}

/** Replaces the admin token of a shared store, for the holder of its URL. @throws SandboxError when it cannot be opened */
export async function resetAdminToken(store: string): Promise<{ name: string; token: string }> {
  const [{ connectDatabase, explain }, { replaceAdmin }] = await Promise.all([
    import('#store/postgres/open.ts'),
    import('#store/postgres/sharing.ts'),
  ])
  const database = await connectDatabase({ url: store, namespace: null, report: () => {} })
  const createToken = () => {
    const text = newTokenText()
    return { text, hash: sha256(text) }
  }
  try {
    return await replaceAdmin(database, sandboxClock().now(), createToken)
  } catch (error) {
    throw explain(error, database.location)
  } finally {
    await database.close()
  }
}

function newTokenText(): string {
  return `sbx_${randomBytes(24).toString('base64url')}`
}

/** Tickets that every node redeems: the store has only identifiers of their holders. */
function createNodeTickets(
  shared: SharedStore,
  { store, platform }: Pick<Services, 'store' | 'platform'>,
): Tickets<Caller> {
  return createSharedTickets<Caller>({
    shared,
    newSecret: platform.newSecret,
    sha256: platform.sha256,
    write: ({ project, ...holder }) => JSON.stringify({ ...holder, project: project.client_id }),
    async read(text) {
      const { project, ...holder } = JSON.parse(text) as Omit<Caller, 'project'> & { project: string }
      const found = await store.findProject(project)
      return found === null ? null : { ...holder, project: found }
    },
  })
}

/** Returns why a start failed after the database was opened: its content cannot be read, or no port was free. */
async function startError(
  error: unknown,
  address: StoreAddress,
  store: Store,
  host: string,
  port: number,
): Promise<unknown> {
  if (!(error instanceof StorageError)) return listenError(error, host, port)
  if (address.kind === 'file') return explainFile(error, address.path)
  const postgres = await import('#store/postgres/open.ts')
  return postgres.explain(error, store.location)
}

function seededKeys(project: SeededProject): Seed['projects'][number]['keys'] {
  const { secret_key, live_secret_key, publishable_key } = project.keys
  return [
    { class: 'secret', mode: 'test', hash: sha256(secret_key) },
    { class: 'secret', mode: 'live', hash: sha256(live_secret_key) },
    { class: 'publishable', mode: 'test', hash: sha256(publishable_key) },
  ]
}

/** Returns a warning about fault rules of an earlier run that are still in force. */
function listFaultWarnings({ scenario, list }: Faults): string[] {
  const rules = list().length
  if (scenario !== null) return [`the scenario ${scenario} is still in use: svc sandbox scenario clear`]
  if (rules === 0) return []
  return [`${rules === 1 ? 'a fault rule is' : `${rules} fault rules are`} still in force: svc sandbox faults list`]
}
