/** The options of `svc start`: one table for its flags, the `sandbox` section of svc.config.json and the help. */
import { InvalidArgumentError, Option } from 'commander'
import { z } from 'zod'
import { RateText } from '../../contract/control/projects.ts'
import { requirementOf } from '../../contract/field-errors.ts'
import { CliError } from '../run/errors.ts'

const count = z.int('must be a whole number').min(0, 'must be 0 or more')

interface StartRow {
  schema: z.ZodType
  flag: string
  description: string
}

/** The first port to try when none is given. */
export const defaultPort = 4010
export const defaultHost = '127.0.0.1'

/** Sets --strict without a flag: `1` or `true`; `0` or `false` takes the strict of a config file back. */
export const strictVariable = 'SVC_STRICT'

const table = {
  port: {
    schema: z.int('must be a whole number').min(0, 'must be 0 to 65535').max(65_535, 'must be 0 to 65535'),
    flag: '--port <n>',
    description: `port; 0 picks a free one; default: ${defaultPort}, or the next free one`,
  },
  host: {
    schema: z.string().min(1),
    flag: '--host <address>',
    description: `address to listen on; default: ${defaultHost} and ::1`,
  },
  db: {
    schema: z.string().min(1),
    flag: '--db <file>',
    description: 'database file; default: sandbox.db in the state directory',
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
    description: 'a case of the catalogue: svc sandbox scenario list',
  },
  strict: {
    schema: z.boolean(),
    flag: '--strict',
    description: `the API document alone, without what old clients need; also ${strictVariable}=1`,
  },
  journal_limit: {
    schema: count,
    flag: '--journal-limit <n>',
    description: 'most exchanges kept in the request journal; 0: none',
  },
} as const satisfies Record<string, StartRow>

export type StartOptionName = keyof typeof table
const names = Object.keys(table) as StartOptionName[]

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
    error: 'cannot be together with db',
  })

export type StartOptions = z.infer<typeof StartSection>

/** Returns the flags, by the name of their option. */
export function startFlags(): Map<StartOptionName, Option> {
  const flags = new Map(names.map((name) => [name, flagOf(table[name])]))
  flags.get('ephemeral')?.conflicts('db')
  return flags
}

/** Merges flags with the section of the file. Flags win, and a flag about the database replaces both of its fields. */
export function mergeStartOptions(flags: StartOptions, section: StartOptions): StartOptions {
  const { db, ephemeral, ...others } = section
  const isDatabaseGiven = flags.db !== undefined || flags.ephemeral !== undefined
  const database = isDatabaseGiven ? {} : { ...(db === undefined ? {} : { db }), ...(ephemeral ? { ephemeral } : {}) }
  return { ...others, ...database, ...flags }
}

/** Returns the options that environment variables set. Throws CliError for one that is neither on nor off. */
export function startEnvironment(env: Readonly<Record<string, string | undefined>>): StartOptions {
  const text = env[strictVariable] ?? ''
  if (text === '') return {}
  const strict = switches[text.toLowerCase()]
  if (strict !== undefined) return { strict }
  throw new CliError('usage', 'setting_invalid', `${strictVariable} must be 1 or 0.`, `Unset it, or set it to 1.`)
}

const switches: Readonly<Record<string, boolean | undefined>> = { 1: true, true: true, 0: false, false: false }

/** Returns the options as words of a command line. */
export function startWords(options: StartOptions): string[] {
  return names.flatMap((name) => {
    const value = options[name]
    if (value === undefined || value === false) return []
    const [flag = ''] = table[name].flag.split(' ')
    return [value === true ? flag : `${flag}=${value}`]
  })
}

function flagOf({ schema, flag, description }: StartRow): Option {
  const option = new Option(flag, description)
  if (option.isBoolean()) return option
  return option.argParser((text) => {
    const isNumber = schema instanceof z.ZodNumber
    const parsed = schema.safeParse(isNumber && /^\d{1,15}$/.test(text) ? Number(text) : text)
    if (!parsed.success) throw new InvalidArgumentError(`It ${requirementOf(parsed.error.issues[0])}.`)
    return parsed.data
  })
}
