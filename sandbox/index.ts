/**
 * Starts the emulator: everything is built here, with plain calls. Over 300 lines because options are checked and parts
 * are connected in this one place.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import type { Latency, ProjectSettings } from '../src/contract/control/projects.ts'
import type { Scenario } from '../src/contract/control/scenarios.ts'
import { createFolder } from '../src/foundation/folder.ts'
import { nearestName } from '../src/foundation/nearest-name.ts'
import { redactSecrets } from '../src/foundation/redaction.ts'
import { readAddress, type TlsFiles } from './address.ts'
import { decisionText } from './compat/push.ts'
import { MarketData } from './domain/catalogue.ts'
import { parseRateLimit } from './domain/rate.ts'
import { restoreClock } from './operations/clock.ts'
import type { Services } from './operations/context.ts'
import { createRates } from './pipeline/credentials.ts'
import { createAssets } from './pipeline/media.ts'
import { createServer, defaultHost } from './pipeline/server.ts'
import { type Clock, sandboxClock } from './platform/clock.ts'
import { createPlatform, sha256, sha256Hex } from './platform/platform.ts'
import { createCallbacks } from './runtime/callbacks.ts'
import { createDrainLock } from './runtime/drain-lock.ts'
import { createFaults, type Faults } from './runtime/faults.ts'
import { createMarkets } from './runtime/markets.ts'
import { createPendingDecisions } from './runtime/pending-decisions.ts'
import { createScenarios } from './runtime/scenarios.ts'
import { createTickets } from './runtime/tickets.ts'
import { createWaiters } from './runtime/waiters.ts'
import { listenError, SandboxError, unwritable } from './sandbox-error.ts'
import { installKey } from './store/install-key.ts'
import { realPath } from './store/private-file.ts'
import { openSqliteStore } from './store/sqlite/index.ts'
import { explain, OpenError } from './store/sqlite/open.ts'
import type { Seed } from './store/sqlite/state.ts'
import { StorageError } from './store/store.ts'

export { type Clock, type ManualClock, manualClock } from './platform/clock.ts'
export { SandboxError, type SandboxFailure } from './sandbox-error.ts'

export interface SandboxOptions {
  /** 0 picks a free one. Default 0. */
  port?: number
  /** Default 127.0.0.1, and ::1 where there is one. Beyond loopback the control plane demands the admin token. */
  host?: string
  /** A file, or `:memory:`. Default `:memory:`. */
  database?: string
  /**
   * Origin that frame URLs, links and CORS name, such as `http://192.168.1.5:4010` or a tunnel's. Default: the address. It
   * is one of the allowed hosts.
   */
  public_url?: string
  /** Host names and addresses that requests may name in their Host header, beside loopback and `host`. */
  allowed_hosts?: readonly string[]
  /** Serves https with this certificate and private key, both PEM. Default: http. */
  tls?: TlsFiles
  /** The same identifiers, tokens and decisions in every run. */
  seed?: number
  /** Default: the system time until it is moved; the database stores it. A manual clock belongs to its owner. */
  clock?: Clock
  /** `5/s`, `1/min` or `off`: wins over every project's own limits. */
  rate_limit?: string
  /** Your own catalogue in the shape of `fixtures/demand.json`; its files are those in `fixtures/creatives`. */
  demand?: unknown
  /** How long every decision takes, milliseconds or a distribution: wins over every project's own. */
  decision_latency_ms?: Latency
  /** A scenario of `fixtures/scenarios`, in use from the start. */
  scenario?: string
  /** Most exchanges the journal keeps; 0 turns it off. Default 50 000. */
  journal_limit?: number
  /** Most events that a stream can be resumed from. Default 100 000. */
  event_limit?: number
  /** Serves the API document alone: no aliases of old clients, and nothing that contradicts the document. Default false. */
  strict?: boolean
  /** How long the upload of an import may send nothing, milliseconds. Default 30 000. */
  import_idle_ms?: number
  /** Called with failures that belong to no request. Default: writes to standard error. */
  report?: (error: unknown) => void
}

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
  /** The control plane demands it of browsers that write, and of every client when it listens beyond loopback. */
  readonly admin_token: string
  /** Whether clients beyond this computer may reach it, so that the control plane demands the token of all. */
  readonly is_public: boolean
  /**
   * Stops accepting, finishes what is under way, closes the database.
   * @throws SandboxError when the disk is full: the log beside the database then has what was written last
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

interface SeededProject {
  client_id: string
  tenant: number
  keys: { secret_key: string; live_secret_key: string; publishable_key: string }
  settings: Partial<ProjectSettings>
}

declare const __SVC_VERSION__: string | undefined

const root = packageRoot()
const defaultJournalLimit = 50_000
const defaultEventLimit = 100_000
/** Between the start and a check of the file: requests that waited for the start come first. */
const checkDelay_ms = 200

/**
 * Starts an emulator and resolves when it is ready: migrated, seeded, listening.
 * @throws SandboxError with a code and a hint
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? defaultHost
  const database = options.database ?? ':memory:'
  const path = database === ':memory:' ? database : readPath(database)
  const journal_limit = checkCount(options.journal_limit ?? defaultJournalLimit, 'journal_limit')
  const event_limit = checkCount(options.event_limit ?? defaultEventLimit, 'event_limit')
  const rate = readRate(options.rate_limit)
  const report = options.report ?? ((error: unknown) => console.error(redactSecrets(inspect(error))))
  const { public_url, allowed_hosts, tls } = options
  const address = readAddress({ host, public_url, allowed_hosts, tls })
  const seed = options.seed === undefined ? null : checkCount(options.seed, 'seed')

  const fixture = <T>(name: string) => JSON.parse(readFileSync(join(root, 'fixtures', name), 'utf8')) as T
  const seeded = fixture<{ projects: SeededProject[] }>('projects.json').projects
  const demandText =
    options.demand === undefined
      ? readFileSync(join(root, 'fixtures/demand.json'), 'utf8')
      : JSON.stringify(checkDemand(options.demand))
  const demand = JSON.parse(demandText) as { campaigns: { creatives: Record<string, unknown>[] }[] }

  const clock = options.clock ?? sandboxClock()
  checkScenario(options.scenario)
  const store = openStore({
    path,
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
      catalogue: { sha256: sha256Hex(demandText), demand: demandText },
    },
  })
  const platform = createPlatform({ clock, seed, signingKey: await keyOf(path, store) })
  platform.seenId(store.largestId())

  const admin_token = `sbx_${randomBytes(24).toString('base64url')}`
  const warnings = [...address.warnings]
  if (store.backup !== null) warnings.push(`the database was migrated; a copy of it as it was is at ${store.backup}`)
  const lossWarnings = store.warnings()

  const rates = createRates(rate)
  const faults = createFaults({ store, hash: sha256Hex, report })
  const decisions = {
    store,
    platform,
    markets: createMarkets({
      store,
      catalogueId: () => store.catalogue_id,
      demand,
      topics: () => fixture('topics.json'),
      safety: () => fixture('content-safety.json'),
    }),
    scenarios: createScenarios(readScenarios, faults),
    decision_latency_ms: options.decision_latency_ms ?? null,
  }
  const waiters = createWaiters()
  const network = lazily(async () => {
    const { createCallbackNetwork } = await import('./pipeline/callback-network.ts')
    return createCallbackNetwork(() => port)
  })
  const callbacks = createCallbacks({
    store,
    platform,
    messageOf: async (slot_id) => (await services.drainLock.run(() => decisionText(services, slot_id))) ?? null,
    network: {
      problemOf: async (url) => (await network()).problemOf(url),
      post: async (...request) => (await network()).post(...request),
    },
    report,
  })
  const pendingDecisions = createPendingDecisions({ ...decisions, waiters, callbacks, report })
  const services: Services = {
    ...decisions,
    waiters,
    pendingDecisions,
    callbacks,
    tickets: createTickets(platform.newSecret),
    faults,
    drainLock: createDrainLock(),
    url: '',
    base_url: '',
    version: version(),
    pid: process.pid,
    warnings,
    strict: options.strict ?? false,
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
    guard: { hosts: address.hosts, isPublic: address.isPublic, admin_token },
    tls,
    import_idle_ms: options.import_idle_ms,
    isJournalOn: journal_limit > 0,
    assets: createAssets(root, creativeFiles(demand.campaigns)),
    demo_project: keys,
  })

  const end = async () => {
    pendingDecisions.cancel()
    await server.close()
    // Requests that came in with the stop have set alarms of their own.
    pendingDecisions.cancel()
    await callbacks.close()
    await closeStore(store)
  }

  let port = 0
  let isMoved = false
  let faultWarnings: string[] = []
  try {
    await restoreClock(services)
    await faults.restore()
    if (options.scenario !== undefined) await services.scenarios.use(options.scenario, clock.now())
    isMoved = options.clock === undefined && (clock.frozen || clock.offset_ms !== 0)
    if (options.scenario === undefined) faultWarnings = faultWarningsOf(faults)
    port = await server.listen(options.host, options.port ?? 0)
    services.url = address.urlAt(port)
    services.base_url = address.public_url ?? services.url
    await callbacks.restore()
    await pendingDecisions.restore()
  } catch (error) {
    // What fails first is what to tell.
    await end().catch(() => {})
    throw startError(error, path, host, options.port ?? 0)
  }
  const { url } = services
  const check = setTimeout(() => void store.checkUncleanEnd(), checkDelay_ms)
  check.unref()

  let closing: Promise<void> | undefined
  const close = () => {
    clearTimeout(check)
    closing ??= end()
    return closing
  }
  return {
    url,
    public_url: services.base_url,
    port,
    inspector_url: `${url}/_sandbox/`,
    database,
    pid: process.pid,
    version: services.version,
    projects,
    keys,
    warnings: [
      ...warnings,
      ...lossWarnings,
      ...(isMoved ? ['the clock was moved: svc sandbox clock show'] : []),
      ...faultWarnings,
    ],
    admin_token,
    is_public: address.isPublic,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function readPath(database: string): string {
  try {
    return realPath(database)
  } catch (error) {
    throw unwritable(database, error)
  }
}

/** Calls `load` once, when its value is first needed. */
function lazily<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined
  return () => (value ??= load())
}

function openStore(options: Parameters<typeof openSqliteStore>[0]) {
  const folder = dirname(options.path)
  try {
    if (options.path !== ':memory:') createFolder(folder, 0o700)
  } catch (error) {
    throw unwritable(folder, error)
  }
  try {
    return openSqliteStore(options)
  } catch (error) {
    throw asSandboxError(error)
  }
}

async function closeStore(store: { close(): Promise<void> }): Promise<void> {
  try {
    await store.close()
  } catch (error) {
    throw asSandboxError(error)
  }
}

function asSandboxError(error: unknown): unknown {
  if (!(error instanceof OpenError)) return error
  return new SandboxError(error.code, error.message, error.hint, { cause: error })
}

/** Returns why a start has failed after the database was opened: what it holds cannot be read, or no port was free. */
function startError(error: unknown, path: string, host: string, port: number): unknown {
  if (error instanceof StorageError) return asSandboxError(explain(error, path))
  return listenError(error, host, port)
}

/** Creates the key once the database has been accepted: a refused start leaves no key beside it. */
async function keyOf(path: string, store: { close(): Promise<void> }): Promise<Uint8Array> {
  try {
    return installKey(path)
  } catch (error) {
    await store.close()
    throw unwritable(`${path}.key`, error)
  }
}

function seededKeys(project: SeededProject): Seed['projects'][number]['keys'] {
  const { secret_key, live_secret_key, publishable_key } = project.keys
  return [
    { class: 'secret', mode: 'test', hash: sha256(secret_key) },
    { class: 'secret', mode: 'live', hash: sha256(live_secret_key) },
    { class: 'publishable', mode: 'test', hash: sha256(publishable_key) },
  ]
}

function creativeFiles(campaigns: readonly { creatives: Record<string, unknown>[] }[]): Set<string> {
  const files = new Set<string>()
  for (const { creatives } of campaigns) {
    for (const creative of creatives) {
      for (const name of ['file', 'poster_file', 'image_file', 'icon_file']) {
        if (typeof creative[name] === 'string') files.add(creative[name])
      }
    }
  }
  return files
}

function readRate(text: string | undefined) {
  if (text === undefined) return null
  try {
    return parseRateLimit(text)
  } catch (error) {
    throw new SandboxError('option_invalid', (error as Error).message, 'Write it as 5/s, 1/min or off.')
  }
}

function readScenarios(): Scenario[] {
  const folder = join(root, 'fixtures/scenarios')
  const names = readdirSync(folder).toSorted()
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Scenario)
}

/** Returns a warning about fault rules of an earlier run that are still in force. */
function faultWarningsOf({ scenario, list }: Faults): string[] {
  const rules = list().length
  if (scenario !== null) return [`the scenario ${scenario} is still in use: svc sandbox scenario clear`]
  if (rules === 0) return []
  return [`${rules === 1 ? 'a fault rule is' : `${rules} fault rules are`} still in force: svc sandbox faults list`]
}

function checkScenario(wanted: string | undefined): void {
  if (wanted === undefined) return
  const names = readScenarios().map(({ name }) => name)
  if (names.includes(wanted)) return
  const near = nearestName(wanted, names)
  const hint = near === null ? `There are: ${names.join(', ')}.` : `Did you mean ${near}?`
  throw new SandboxError('option_invalid', `There is no scenario named ${wanted}.`, hint)
}

function checkDemand(demand: unknown): MarketData {
  const read = MarketData.safeParse(demand)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new SandboxError(
    'option_invalid',
    `demand.${issue?.path.join('.')}: ${issue?.message}.`,
    'Give demand the shape of fixtures/demand.json.',
    { cause: read.error },
  )
}

function checkCount(value: number, name: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new SandboxError('option_invalid', `${name} must be a whole number, not ${value}.`, `Give ${name} 0 or more.`)
}

function version(): string {
  if (typeof __SVC_VERSION__ === 'string') return __SVC_VERSION__
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version
}

/** The folder above this file that holds the fixtures: the same for the source and for the bundle. */
function packageRoot(): string {
  return fileURLToPath(new URL('../', import.meta.url))
}
