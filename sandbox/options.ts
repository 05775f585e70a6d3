/** The options of a start, checked before anything is opened. */
import { type Overrides, OverridesError, readOverrides } from '#contract/recordings/overrides.ts'
import type { Latency } from '#contract/resources/projects.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { defaultHost } from '#pipeline/listeners.ts'
import { parseRateLimit, type RateLimit } from '#pipeline/rate-limits.ts'
import { type Clock, sandboxClock } from '#platform/clock.ts'
import { realPath } from '#store/sqlite/file/names.ts'
import { type Address, readAddress } from './address.ts'
import { certificateWarnings, type TlsFiles } from './certificate.ts'
import { readScenarios } from './fixtures.ts'
import { SandboxError, unwritable } from './sandbox-error.ts'

export interface SandboxOptions {
  /** 0 picks a free one. Default 0. */
  port?: number
  /** Default 127.0.0.1, and ::1 where it exists. Beyond loopback the control plane demands the admin token. */
  host?: string
  /** A file, or `:memory:`. Default `:memory:`. */
  database?: string
  /** `postgres://USER:PASSWORD@HOST:5432/DATABASE` instead of a file: any number of nodes share it. */
  store?: string
  /**
   * Separates projects, clock, faults and everything else from other namespaces of the same database. Only with
   * `store`.
   */
  namespace?: string
  /**
   * Origin that frame URLs, links and CORS name, such as `http://192.168.1.5:4010` or a tunnel's. Default: the address. It
   * is one of the allowed hosts.
   */
  public_url?: string
  /** Host names and addresses that requests may name in their Host header, in addition to loopback and `host`. */
  allowed_hosts?: readonly string[]
  /** Serves https with this certificate and private key, both PEM. Default: http. */
  tls?: TlsFiles
  /** The same identifiers, tokens and decisions in every run. */
  seed?: number
  /** Default: the system time until it is moved; the database stores it. A manual clock belongs to its owner. */
  clock?: Clock
  /** `5/s`, `1/min` or `off`: wins over every project's own limits. */
  rate_limit?: string
  /**
   * Your own campaigns: the path of a file as `svc demand check` takes it, or of a folder of them, beside the seeded ones.
   * Or a whole catalogue in the shape of `fixtures/demand.json`, whose files are those in `fixtures/creatives`.
   */
  demand?: unknown
  /** With a path of demand: without the seeded campaigns. Default false. */
  only?: boolean
  /** With a path of demand: takes its changes over while the sandbox runs. Default false. */
  watch?: boolean
  /** How long every decision takes, milliseconds or a distribution: wins over every project's own. */
  decision_latency_ms?: Latency
  /** A scenario from `fixtures/scenarios`, in use from the start. */
  scenario?: string
  /** Most exchanges the journal keeps; 0 turns it off. Default 50 000. */
  journal_limit?: number
  /** Most events that a stream can be resumed from. Default 100 000. */
  event_limit?: number
  /**
   * Of the API, serves only what its document has: no aliases of old clients, and nothing that contradicts the document.
   * Control plane and pages stay. Default false.
   */
  strict?: boolean
  /**
   * Answers as a service was seen to: the content of a file that `svc contract compare --write-overrides` wrote, in the
   * shape of `fixtures/svc.overrides.schema.json`. Default: none.
   */
  overrides?: unknown
  /**
   * Whether the keys of the seed, which anyone can read in the documentation, serve clients on other computers too.
   * Default false. Clients on this computer can always use them.
   */
  allow_known_keys?: boolean
  /**
   * Whether the control plane of a shared store demands a token of clients on this computer too. Default true; false is
   * for tests with a database to themselves.
   */
  demands_token?: boolean
  /** How long the upload of an import may send nothing, milliseconds. Default 30 000. */
  import_idle_ms?: number
  /** Plays a recording: the path of a HAR file, or its text. Default: the emulator responds by itself. */
  playback?: string
  /** Whether the emulator responds to what was not recorded. Default false: such a request gets a 404, not_recorded. */
  fallback?: boolean
  /** A recording whose newest exchange is older gives a warning, milliseconds. Default 30 days. */
  max_age_ms?: number
  /** Whether a recording that is too old is refused instead. Default false. */
  strict_age?: boolean
  /**
   * Sends a trace of each turn to this receiver of OTLP over HTTP, such as http://127.0.0.1:4318. Default: none, and the
   * packages for it are not loaded.
   */
  otlp?: string
  /** Called when a client asks the sandbox to stop. Default: such a request is refused. */
  stop?: () => void
  /** Called with failures outside any request. Default: writes to standard error. */
  report?: (error: unknown) => void
}

const defaultJournalLimit = 50_000
const defaultEventLimit = 100_000

/** A file, or `:memory:`; or a database that nodes share. */
export type StoreAddress =
  | { kind: 'file'; path: string }
  | { kind: 'postgres'; url: string; namespace: string | null; isSeeded: boolean }

export interface StartOptions {
  host: string
  address: Address
  database: string
  storeAddress: StoreAddress
  journal_limit: number
  event_limit: number
  seed: number | null
  /** Wins over the limits of every project; null without one. */
  rate: RateLimit | 'off' | null
  overrides: Overrides | null
}

/** @throws SandboxError option_invalid, database_unwritable */
export function readOptions(options: SandboxOptions): StartOptions {
  const host = options.host ?? defaultHost
  const database = options.database ?? ':memory:'
  const journal_limit = checkCount(options.journal_limit ?? defaultJournalLimit, 'journal_limit')
  const event_limit = checkCount(options.event_limit ?? defaultEventLimit, 'event_limit')
  const rate = readRate(options.rate_limit)
  const { public_url, allowed_hosts, tls } = options
  const address = readAddress({ host, public_url, allowed_hosts, tls })
  if (tls !== undefined) address.warnings.push(...certificateWarnings(tls, sandboxClock().now()))
  const seed = options.seed === undefined ? null : checkCount(options.seed, 'seed')
  const storeAddress = readStoreAddress(options, database, seed !== null)
  checkScenario(options.scenario)
  if ((options.only === true || options.watch === true) && typeof options.demand !== 'string')
    throw new SandboxError(
      'option_invalid',
      `${options.only === true ? 'only' : 'watch'} needs demand: a file of your own campaigns, or a folder of them.`,
      'Name it: svc start --demand FILE, or demand in startSandbox.',
    )
  checkOtlp(options.otlp)
  checkPlayback(options)
  const overrides = readOverridesOption(options.overrides)
  if (overrides !== null)
    address.warnings.push(
      `responses are changed by overrides: ${overrides.count} ${overrides.count === 1 ? 'rule' : 'rules'}`,
    )
  return { host, address, database, storeAddress, journal_limit, event_limit, seed, rate, overrides }
}

function readOverridesOption(value: unknown): Overrides | null {
  if (value === undefined) return null
  try {
    return readOverrides(value)
  } catch (error) {
    if (!(error instanceof OverridesError)) throw error
    const hint = 'Correct it there. Or write it again: svc contract compare FILE --write-overrides FILE'
    throw new SandboxError('option_invalid', `The value of overrides ${error.message}.`, hint)
  }
}

function checkCount(value: number, name: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new SandboxError('option_invalid', `${name} must be a whole number, not ${value}.`, `Give ${name} 0 or more.`)
}

function readRate(text: string | undefined) {
  if (text === undefined) return null
  try {
    return parseRateLimit(text)
  } catch (error) {
    throw new SandboxError('option_invalid', (error as Error).message, 'Write it as 5/s, 1/min or off.')
  }
}

function readStoreAddress({ store, namespace }: SandboxOptions, database: string, isSeeded: boolean): StoreAddress {
  if (store !== undefined)
    return { kind: 'postgres', url: store, namespace: namespace === 'default' ? null : (namespace ?? null), isSeeded }
  if (namespace !== undefined) {
    const hint = 'Give it a PostgreSQL database: --store postgres://..., or start it with its own file: --db FILE.'
    throw new SandboxError('option_invalid', 'A namespace is a part of a shared database, and there is none.', hint)
  }
  return { kind: 'file', path: database === ':memory:' ? database : readPath(database) }
}

function readPath(database: string): string {
  try {
    return realPath(database)
  } catch (error) {
    throw unwritable(database, error)
  }
}

/** One process knows how far a recording has been played. */
function checkPlayback({ playback, store, max_age_ms, fallback, strict_age }: SandboxOptions): void {
  if (playback !== undefined && store !== undefined) {
    const hint = 'Play it with a file, or in memory: svc start --playback FILE --ephemeral'
    throw new SandboxError('option_invalid', 'A recording cannot be played on a shared database.', hint)
  }
  if (max_age_ms !== undefined) checkCount(max_age_ms, 'max_age_ms')
  if (playback !== undefined || !(fallback === true || strict_age === true || max_age_ms !== undefined)) return
  const hint = 'Name the recording: svc start --playback FILE'
  throw new SandboxError('option_invalid', 'fallback, max_age and strict_age are options of a playback.', hint)
}

function checkOtlp(url: string | undefined): void {
  const protocol = url === undefined ? 'http:' : URL.parse(url)?.protocol
  if (protocol === 'http:' || protocol === 'https:') return
  const hint = 'Name a receiver of OTLP over HTTP: --otlp http://127.0.0.1:4318'
  throw new SandboxError('option_invalid', `${url} is not the URL of a receiver of traces.`, hint)
}

function checkScenario(wanted: string | undefined): void {
  if (wanted === undefined) return
  const names = readScenarios().map(({ name }) => name)
  if (names.includes(wanted)) return
  const near = nearestName(wanted, names)
  const hint = near === null ? `There are: ${names.join(', ')}.` : `Did you mean ${near}?`
  throw new SandboxError('option_invalid', `There is no scenario named ${wanted}.`, hint)
}
