/** The options of `svc start`: one table for its flags, the `sandbox` section of svc.config.json and the help. */

import { InvalidArgumentError, Option } from 'commander'
import { z } from 'zod'
import { describeRequirement } from '#contract/errors.ts'
import { RateText } from '#contract/resources/projects.ts'
import { durationPattern, parseSpan } from '#foundation/duration.ts'
import { findEntry, isListed, tableNames } from '#foundation/table-entry.ts'
import { CliError } from '#text/cli-error.ts'

const count = z.int('must be a whole number').min(0, 'must be 0 or more')

interface StartRow {
  schema: z.ZodType
  flag: string
  description: string
  /**
   * The variable for containers and services, whose command line is fixed. A flag overrides it, and it overrides the
   * file.
   */
  env?: string
}

/** The first port to try when none is given. */
export const defaultPort = 4010
export const maxPort = 65_535
export const defaultHost = '127.0.0.1'

/** Of a namespace, and of a second sandbox. */
const NameText = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$/,
    'must be 1 to 40 lower-case letters and digits, with - and _ in between',
  )

const table = {
  port: {
    schema: z.int('must be a whole number').min(0, 'must be 0 to 65535').max(maxPort, 'must be 0 to 65535'),
    flag: '--port <n>',
    description: `port; 0 picks a free one; default: ${defaultPort}, or the next free one when another folder has it`,
  },
  host: {
    schema: z.string().min(1),
    flag: '--host <address>',
    description: `address to listen on; default: ${defaultHost} and ::1`,
  },
  public_url: {
    schema: z.string().min(1),
    flag: '--public-url <url>',
    description: 'origin in frame URLs, links and CORS, for phones and tunnels; default: the address',
    env: 'SVC_PUBLIC_URL',
  },
  allowed_host: {
    schema: z.array(z.string().min(1)),
    flag: '--allowed-host <name>',
    description: 'another name or address, besides loopback, that requests may be sent to; repeatable',
    env: 'SVC_ALLOWED_HOST',
  },
  tls: {
    schema: z.boolean(),
    flag: '--tls',
    description: 'serve https, with a certificate made for it and kept in the state directory',
    env: 'SVC_TLS',
  },
  tls_cert: {
    schema: z.string().min(1),
    flag: '--tls-cert <file>',
    description: 'serve https with this certificate, PEM; needs --tls-key',
    env: 'SVC_TLS_CERT',
  },
  tls_key: {
    schema: z.string().min(1),
    flag: '--tls-key <file>',
    description: 'private key of --tls-cert, PEM without passphrase',
    env: 'SVC_TLS_KEY',
  },
  name: {
    schema: NameText,
    flag: '--name <name>',
    description: 'a second sandbox of this folder, with data and a port of its own; with --store, its namespace',
  },
  db: {
    schema: z.string().min(1),
    flag: '--db <file>',
    description: 'database file; default: one of this folder, in the state directory',
  },
  store: {
    schema: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://, as in postgres://USER:PASSWORD@HOST:5432/DATABASE'),
    flag: '--store <url>',
    description: 'PostgreSQL database that any number of nodes share, postgres://USER:PASSWORD@HOST:5432/DATABASE',
    env: 'SVC_STORE',
  },
  namespace: {
    schema: NameText,
    flag: '--namespace <name>',
    description: 'with --store: your own projects, clock, faults and reset on the same database',
    env: 'SVC_NAMESPACE',
  },
  drain: {
    schema: count,
    flag: '--drain <ms>',
    description: 'with --store: how long to keep serving after SIGTERM, with readyz at 503; default: 3000',
    env: 'SVC_DRAIN',
  },
  ephemeral: { schema: z.boolean(), flag: '--ephemeral', description: 'keep everything in memory' },
  seed: { schema: count, flag: '--seed <n>', description: 'same identifiers and decisions in every run' },
  rate_limit: {
    schema: RateText,
    flag: '--rate-limit <rate>',
    description: 'per key: 5/s, 1/min or off',
  },
  decision_latency: { schema: count, flag: '--decision-latency <ms>', description: 'how long a decision takes' },
  scenario: {
    schema: z.string().min(1),
    flag: '--scenario <name>',
    description: 'a scenario of the catalogue: svc sandbox scenario list',
  },
  demand: {
    schema: z.string().min(1),
    flag: '--demand <file>',
    description: 'your own campaigns: a YAML file, or a folder of them; svc demand check FILE',
    env: 'SVC_DEMAND',
  },
  only: {
    schema: z.boolean(),
    flag: '--only',
    description: 'with --demand: without the seeded campaigns',
    env: 'SVC_ONLY',
  },
  watch: {
    schema: z.boolean(),
    flag: '--watch',
    description: 'with --demand: take changes of the file over',
    env: 'SVC_WATCH',
  },
  playback: {
    schema: z.string().min(1),
    flag: '--playback <file>',
    description: 'respond as a recording does, a HAR file; never by the config file alone',
    env: 'SVC_PLAYBACK',
  },
  fallback: {
    schema: z.boolean(),
    flag: '--fallback',
    description: 'with --playback: let the emulator respond to what was not recorded',
    env: 'SVC_FALLBACK',
  },
  max_age: {
    schema: z.string().regex(durationPattern, 'must be a time such as 30d or 12h'),
    flag: '--max-age <time>',
    description: 'with --playback: warn when the recording is older; default: 30d',
    env: 'SVC_MAX_AGE',
  },
  strict_age: {
    schema: z.boolean(),
    flag: '--strict-age',
    description: 'with --playback: refuse a recording that is too old',
    env: 'SVC_STRICT_AGE',
  },
  overrides: {
    schema: z.string().min(1),
    flag: '--overrides <file>',
    description: 'answer as a service was seen to: a file of svc contract compare --write-overrides',
    env: 'SVC_OVERRIDES',
  },
  allow_known_keys: {
    schema: z.boolean(),
    flag: '--allow-known-keys',
    description: 'let other computers use the well-known keys, which protect nothing',
    env: 'SVC_ALLOW_KNOWN_KEYS',
  },
  strict: {
    schema: z.boolean(),
    flag: '--strict',
    description: 'of the API only what its document has, without the routes of old clients',
    env: 'SVC_STRICT',
  },
  otlp: {
    schema: z.string().regex(/^https?:\/\/./, 'must be the URL of a receiver, such as http://127.0.0.1:4318'),
    flag: '--otlp <url>',
    description: 'send a trace of each turn to a receiver of OTLP over HTTP, http://127.0.0.1:4318',
    env: 'SVC_OTLP',
  },
  journal_limit: {
    schema: count,
    flag: '--journal-limit <n>',
    description: 'maximum number of exchanges in the request journal; 0: none',
  },
} as const satisfies Record<string, StartRow>

export type StartOptionName = keyof typeof table
const names = tableNames(table)

/** The `sandbox` section of svc.config.json. */
export const StartSection = z
  .strictObject(
    Object.fromEntries(
      names.map((name) => [name, table[name].schema.optional().describe(table[name].description)]),
    ) as {
      [Name in StartOptionName]: z.ZodOptional<(typeof table)[Name]['schema']>
    },
  )
  .refine(({ db, ephemeral }) => db === undefined || ephemeral !== true, {
    path: ['ephemeral'],
    error: 'cannot be combined with db',
  })
  .refine(({ db, ephemeral, store }) => store === undefined || (db === undefined && ephemeral !== true), {
    path: ['store'],
    error: 'cannot be combined with db and ephemeral',
  })
  .refine(({ playback, store }) => playback === undefined || store === undefined, {
    path: ['playback'],
    error: 'cannot be combined with store',
  })
  .refine(({ tls, tls_cert, tls_key }) => tls !== true || (tls_cert ?? tls_key) === undefined, {
    path: ['tls'],
    error: 'cannot be combined with tls_cert and tls_key',
  })

export type StartOptions = z.infer<typeof StartSection>

/** Returns the flags, by the name of their option. */
export function startFlags(): Map<StartOptionName, Option> {
  const flags = new Map(names.map((name) => [name, toOption(table[name])]))
  flags.get('ephemeral')?.conflicts(['db', 'store'])
  flags.get('store')?.conflicts('db')
  flags.get('playback')?.conflicts('store')
  flags.get('tls')?.conflicts(['tlsCert', 'tlsKey'])
  return flags
}

/** Options that only make sense together: giving one replaces all of them in the layer below. */
const groups: readonly (readonly StartOptionName[])[] = [
  ['db', 'ephemeral', 'store'],
  ['tls', 'tls_cert', 'tls_key'],
]

/** Merges options with the layer below: the environment or the file. */
export function mergeStartOptions(given: StartOptions, below: StartOptions): StartOptions {
  const replaced = groups.filter((group) => group.some((name) => given[name] !== undefined)).flat()
  const kept = Object.entries(below).filter(([name]) => !isListed(replaced, name))
  return { ...Object.fromEntries(kept), ...given }
}

/** Returns the options set by variables. Throws CliError for a value that an option does not take. */
export function startEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  wanted: ReadonlySet<StartOptionName> = new Set(names),
): StartOptions {
  const values: Record<string, unknown> = {}
  for (const name of wanted) {
    const { schema, flag, env: variable }: StartRow = table[name]
    const text = variable === undefined ? '' : (env[variable]?.trim() ?? '')
    if (variable === undefined || text === '') continue
    if (schema instanceof z.ZodArray) values[name] = text.split(/[\s,]+/)
    else if (schema instanceof z.ZodNumber) values[name] = parseCount(variable, text, flag.endsWith('<ms>'))
    else values[name] = schema instanceof z.ZodBoolean ? isOn(variable, text) : text
  }
  return values
}

function parseCount(variable: string, text: string, isSpan: boolean): number {
  const span_ms = isSpan ? parseSpan(text) : null
  if (span_ms !== null) return span_ms
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new CliError('usage', 'setting_invalid', `${variable} must be a whole number, not ${text}.`)
}

function isOn(variable: string, text: string): boolean {
  const value = findEntry(switches, text.toLowerCase())
  if (value !== undefined) return value
  throw new CliError('usage', 'setting_invalid', `${variable} must be 1 or 0.`, `Unset it, or set it to 1.`)
}

const switches: Readonly<Record<string, boolean | undefined>> = { 1: true, true: true, 0: false, false: false }

/**
 * Returns the options as words of a command line, and the store as a variable, because anyone can read a command line.
 */
export function startWords(options: StartOptions): { words: string[]; variables: Record<string, string> } {
  const variables: Record<string, string> = options.store === undefined ? {} : { SVC_STORE: options.store }
  const words = names.flatMap((name) => {
    if (name === 'store') return []
    const value = options[name]
    if (value === undefined || value === false) return []
    const [flag = ''] = table[name].flag.split(' ')
    if (value === true) return [flag]
    return (Array.isArray(value) ? value : [value]).map((each) => `${flag}=${each}`)
  })
  return { words, variables }
}

function toOption({ schema, flag, description, env }: StartRow): Option {
  const option = new Option(flag, env === undefined ? description : `${description}; ${env}`)
  if (option.isBoolean()) return option
  if (schema instanceof z.ZodArray) {
    return option.argParser((text, previous: readonly string[] | undefined) => [...(previous ?? []), text])
  }
  return option.argParser((text) => {
    const isNumber = schema instanceof z.ZodNumber
    const value = flag.endsWith('<ms>') ? parseSpan(text) : /^\d{1,15}$/.test(text) ? Number(text) : null
    const parsed = schema.safeParse(isNumber ? (value ?? text) : text)
    if (!parsed.success) throw new InvalidArgumentError(`It ${describeRequirement(parsed.error.issues[0])}.`)
    return parsed.data
  })
}
