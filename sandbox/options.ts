/**
 * The options of a start: checked before anything is opened, the fixtures that they select, and where the sandbox can
 * be reached: the address it prints, the public URL, the hosts that requests may name, and TLS.
 */
import type { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Scenario } from '#contract/resources/faults.ts'
import type { Latency, ProjectSettings } from '#contract/resources/projects.ts'
import { MarketData } from '#domain/catalogue.ts'
import { isLoopback } from '#foundation/http.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { shownCommand } from '#foundation/redaction.ts'
import { parseRateLimit, type RateLimit } from '#pipeline/rates.ts'
import { defaultHost } from '#pipeline/server.ts'
import { type Clock, sandboxClock } from '#platform/platform.ts'
import { realPath } from '#store/sqlite/open.ts'
import { certificateWarnings, readCertificate, type TlsFiles } from './certificate.ts'
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
  /** Your own catalogue in the shape of `fixtures/demand.json`; its files are those in `fixtures/creatives`. */
  demand?: unknown
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
  /** Called when a client asks the sandbox to stop. Default: such a request is refused. */
  stop?: () => void
  /** Called with failures outside any request. Default: writes to standard error. */
  report?: (error: unknown) => void
}

declare const __SVC_VERSION__: string | undefined

/** The package: fixtures and built files are below it. */
export const root = packageRoot()
const defaultJournalLimit = 50_000
const defaultEventLimit = 100_000

interface AddressOptions {
  host: string
  public_url?: string | undefined
  allowed_hosts?: readonly string[] | undefined
  tls?: TlsFiles | undefined
}

interface Address {
  /** Names and addresses other than loopback that a Host header may have, in lower case; IPv6 in brackets. */
  hosts: ReadonlySet<string>
  /** Whether clients on other computers can connect: the control plane then needs the admin token. */
  isPublic: boolean
  public_url: string | null
  warnings: string[]
  /** Returns the origin that is printed, for the port that was bound. */
  urlAt(port: number): string
}

/** A file, or `:memory:`; or a database that nodes share. */
export type StoreAddress =
  | { kind: 'file'; path: string }
  | { kind: 'postgres'; url: string; namespace: string | null; isSeeded: boolean }

/** The options of a start with their defaults, checked. */
interface StartOptions {
  host: string
  address: Address
  database: string
  storeAddress: StoreAddress
  journal_limit: number
  event_limit: number
  seed: number | null
  /** Wins over the limits of every project; null without one. */
  rate: RateLimit | 'off' | null
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
  return { host, address, database, storeAddress, journal_limit, event_limit, seed, rate }
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

function checkScenario(wanted: string | undefined): void {
  if (wanted === undefined) return
  const names = readScenarios().map(({ name }) => name)
  if (names.includes(wanted)) return
  const near = nearestName(wanted, names)
  const hint = near === null ? `There are: ${names.join(', ')}.` : `Did you mean ${near}?`
  throw new SandboxError('option_invalid', `There is no scenario named ${wanted}.`, hint)
}

/** Returns every scenario of the fixtures. */
export function readScenarios(): Scenario[] {
  const folder = join(root, 'fixtures/scenarios')
  const names = readdirSync(folder).toSorted()
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Scenario)
}

/** Returns a file of the fixtures, parsed. */
export function fixture<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, 'fixtures', name), 'utf8')) as T
}

/** A project of `fixtures/projects.json`. */
export interface SeededProject {
  client_id: string
  tenant: number
  keys: { secret_key: string; live_secret_key: string; publishable_key: string }
  settings: Partial<ProjectSettings>
}

/** The catalogue of a start, and its text as stored. */
interface Demand {
  text: string
  data: { campaigns: { creatives: Record<string, unknown>[] }[] }
}

/** Returns the catalogue of the options, or of the fixtures. @throws SandboxError option_invalid */
export function readDemand(demand: unknown): Demand {
  const text =
    demand === undefined
      ? readFileSync(join(root, 'fixtures/demand.json'), 'utf8')
      : JSON.stringify(checkDemand(demand))
  return { text, data: JSON.parse(text) as Demand['data'] }
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

/** Returns the files that the creatives of a catalogue name. */
export function creativeFiles(campaigns: readonly { creatives: Record<string, unknown>[] }[]): Set<string> {
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

/** Returns the version of the package. */
export function version(): string {
  if (typeof __SVC_VERSION__ === 'string') return __SVC_VERSION__
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version
}

/** The folder above this file that holds the fixtures: the same for the source and for the bundle. */
function packageRoot(): string {
  return fileURLToPath(new URL('../', import.meta.url))
}

/** @throws SandboxError option_invalid */
function readAddress({ host, public_url, allowed_hosts = [], tls }: AddressOptions): Address {
  const origin = public_url === undefined ? null : readPublicUrl(public_url, tls !== undefined)
  const certificate = tls === undefined ? null : readCertificate(tls)
  const named = allowed_hosts.map(readHost)
  const own = bracketed(host.toLowerCase())
  const hosts = new Set([own, ...named, ...(origin === null ? [] : [new URL(origin).hostname])])
  const printed = printedHost(own)
  const covered = certificate === null ? printed : coveredHost(certificate, printed)
  const isPublic = [...hosts].some((name) => !isLoopback(name))
  const warnings = isPublic ? ['reachable beyond loopback: the control plane needs the admin token'] : []
  if (covered === null) {
    warnings.push(`the certificate does not name ${printed}: clients that check it need a name of it as --public-url`)
  }
  return {
    hosts,
    isPublic,
    public_url: origin,
    warnings,
    urlAt: (port) => new URL(`${certificate === null ? 'http' : 'https'}://${covered ?? printed}:${port}`).origin,
  }
}

function readPublicUrl(text: string, isTls: boolean): string {
  const url = URL.parse(text)
  // A host of other characters means something else where origins are listed: `*` is every host in a policy.
  const isHost = url !== null && /^([a-z0-9._-]+|\[[\da-f:.]+\])$/.test(url.hostname)
  const isOrigin = isHost && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (!isOrigin) {
    throw new SandboxError(
      'option_invalid',
      `The public URL ${shownCommand([text])} is not an origin.`,
      'Give only scheme, host and port, such as http://192.168.1.5:4010.',
    )
  }
  if (isTls && url.protocol === 'http:') {
    throw new SandboxError(
      'option_invalid',
      `The public URL ${url.origin} is http, and the sandbox serves https.`,
      `Give https://${url.host}, or start without TLS.`,
    )
  }
  return url.origin
}

function readHost(text: string): string {
  const name = bracketed(text.toLowerCase())
  if (/^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(name) || name.startsWith('[')) return name
  throw new SandboxError(
    'option_invalid',
    `The allowed host ${text} is not a host name.`,
    'Give only the name or address, without scheme, port and path, such as devbox.local.',
  )
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

function printedHost(host: string): string {
  return host === '0.0.0.0' || host === '[::]' ? 'localhost' : host
}

/**
 * Returns the host to print: one that the certificate names, which may be any name of loopback; null when it names
 * none.
 */
function coveredHost(certificate: X509Certificate, printed: string): string | null {
  const names = isLoopback(printed) ? [printed, 'localhost', '127.0.0.1'] : [printed]
  const isNamed = (name: string) => {
    const bare = name.replace(/^\[|\]$/g, '')
    return (isIP(bare) === 0 ? certificate.checkHost(bare) : certificate.checkIP(bare)) !== undefined
  }
  return names.find(isNamed) ?? null
}
