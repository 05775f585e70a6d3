/**
 * Settings: one table for flags, environment variables, svc.config.json and profiles.
 *
 * Each setting is resolved by itself: flag, environment, svc.config.json, profile, running sandbox, default. Credentials
 * of a running sandbox are used only when that sandbox is the service that is called, so that a key never reaches
 * another service by accident.
 */
import { z } from 'zod'
import { ClientId } from '../../contract/fields.ts'
import type { Locator } from '../process/locator.ts'
import { CliError } from '../run/errors.ts'
import { StartSection } from './start-options.ts'

export const outputFormats = ['text', 'json', 'jsonl', 'none'] as const

const key = z.string().regex(/^[!-~]+$/, 'must be printable characters without spaces')
const file = z.string().min(1)

/** A setting: its schema, where it may come from, and its words in the help. */
interface SettingRow {
  schema: z.ZodType<string>
  env: string
  flag: string | null
  /** Whether svc.config.json and profiles may hold it. */
  isFileSetting: boolean
  description: string
}

export const settingsTable = {
  base_url: {
    schema: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
    env: 'SVC_BASE_URL',
    flag: '--base-url <url>',
    isFileSetting: true,
    description: 'service to call; default: the running sandbox, else http://127.0.0.1:4010',
  },
  client_id: {
    schema: ClientId,
    env: 'SVC_CLIENT_ID',
    flag: '--client-id <id>',
    isFileSetting: true,
    description: 'project; default: the first project of the sandbox',
  },
  secret_key: {
    schema: key,
    env: 'SVC_SECRET_KEY',
    flag: '--secret-key <key>',
    isFileSetting: true,
    description: "secret key or activation token; default: the sandbox project's test key",
  },
  publishable_key: {
    schema: key,
    env: 'SVC_PUBLISHABLE_KEY',
    flag: '--publishable-key <key>',
    isFileSetting: true,
    description: "publishable key; default: the sandbox project's",
  },
  origin: {
    schema: z.string().regex(/^https?:\/\/[^/\s]+$/, 'must be an origin, such as http://localhost:3000'),
    env: 'SVC_ORIGIN',
    flag: '--origin <origin>',
    isFileSetting: true,
    description: "Origin header of browser requests; default: the project's first allowed origin",
  },
  output: {
    schema: z.enum(outputFormats),
    env: 'SVC_OUTPUT',
    flag: '-o, --output <format>',
    isFileSetting: true,
    description: 'text, json, jsonl or none; default: text',
  },
  profile: {
    schema: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ -'),
    env: 'SVC_PROFILE',
    flag: '--profile <name>',
    isFileSetting: false,
    description: 'profile of profiles.json in the state directory',
  },
  config: {
    schema: file,
    env: 'SVC_CONFIG',
    flag: '--config <file>',
    isFileSetting: false,
    description: 'config file; default: svc.config.json here or in a directory above',
  },
  home: {
    schema: file,
    env: 'SVC_HOME',
    flag: null,
    isFileSetting: false,
    description: "state directory; default: the platform's, such as $XDG_STATE_HOME/svc",
  },
} as const satisfies Record<string, SettingRow>

export type SettingName = keyof typeof settingsTable
export const settingNames = Object.keys(settingsTable) as SettingName[]

type FileSettingName = {
  [Name in SettingName]: (typeof settingsTable)[Name]['isFileSetting'] extends true ? Name : never
}[SettingName]
export const fileSettingNames = settingNames.filter((name) => settingsTable[name].isFileSetting) as FileSettingName[]
const fileShape = Object.fromEntries(
  settingNames
    .filter((name) => settingsTable[name].isFileSetting)
    .map((name) => [name, settingsTable[name].schema.optional().describe(settingsTable[name].description)]),
) as { [Name in FileSettingName]: z.ZodOptional<(typeof settingsTable)[Name]['schema']> }

/** One profile of profiles.json. */
export const Profile = z.strictObject(fileShape)
export type Profile = z.infer<typeof Profile>
/** svc.config.json. */
export const ConfigFile = z.strictObject({
  $schema: z.string().optional(),
  profile: z.string().optional(),
  ...fileShape,
  sandbox: StartSection.optional().describe('options of svc start; its flags win'),
})
export type ConfigFile = z.infer<typeof ConfigFile>
/** profiles.json in the state directory. */
export const ProfilesFile = z.strictObject({ current: z.string().optional(), profiles: z.record(z.string(), Profile) })
export type ProfilesFile = z.infer<typeof ProfilesFile>

/** The JSON schema of svc.config.json. */
export const configFileSchema = z.toJSONSchema(ConfigFile, { io: 'input' })
/** A file that is about to be mended: its members, whatever they hold. */
export const AnyMembers = z.record(z.string(), z.unknown())
/** profiles.json, whatever its profiles hold. */
export const AnyProfiles = z.looseObject({
  current: z.string().optional(),
  profiles: z.record(z.string(), AnyMembers),
})

export type Source = 'flag' | 'environment' | 'config file' | 'profile' | 'sandbox' | 'default'

/** Values by setting, raw: a flag or a variable may hold anything. */
export type Values = Partial<Record<SettingName, string | undefined>>

export interface Layers {
  flags: Values
  environment: Values
  config: Values
  profile: Values
  /** Sandboxes that run now, newest first. */
  sandboxes: readonly Locator[]
}

export interface Settings {
  base_url: string
  output: (typeof outputFormats)[number]
  client_id: string | null
  secret_key: string | null
  publishable_key: string | null
  origin: string | null
  /** The running sandbox that base_url names, with all its keys. */
  sandbox: Locator | null
  /** How many sandboxes run. */
  running: number
  source: Record<'base_url' | 'output' | 'client_id' | 'secret_key' | 'publishable_key' | 'origin', Source>
}

const defaultBaseUrl = 'http://127.0.0.1:4010'

/** Settles every setting from its layers. Throws CliError for a value that its schema refuses. */
export function resolveSettings(layers: Layers): Settings {
  const base_url = pick('base_url', layers, layers.sandboxes[0]?.url, defaultBaseUrl)
  const sandbox = layers.sandboxes.find((locator) => sameService(locator.url, base_url.value)) ?? null
  const client_id = pick('client_id', layers, sandbox?.projects[0]?.client_id)
  const project = sandbox?.projects.find((project) => project.client_id === client_id.value)
  const secret_key = pick('secret_key', layers, project?.secret_key)
  const publishable_key = pick('publishable_key', layers, project?.publishable_key)
  const origin = pick('origin', layers, project && pageOrigin(project))
  const output = pick('output', layers, undefined, 'text')
  return {
    base_url: base_url.value,
    output: output.value as Settings['output'],
    client_id: client_id.value ?? null,
    secret_key: secret_key.value ?? null,
    publishable_key: publishable_key.value ?? null,
    origin: origin.value ?? null,
    sandbox,
    running: layers.sandboxes.length,
    source: {
      base_url: base_url.source,
      output: output.source,
      client_id: client_id.source,
      secret_key: secret_key.source,
      publishable_key: publishable_key.source,
      origin: origin.source,
    },
  }
}

/** An origin that a project allows its pages: where it allows any port, the usual one. */
export function pageOrigin({ allowed_origins }: Pick<Locator['projects'][number], 'allowed_origins'>) {
  return allowed_origins[0]?.replace(/:\*$/, ':3000')
}

/** The values of the environment variables; an empty variable counts as unset. */
export function environmentValues(env: Readonly<Record<string, string | undefined>>): Values {
  return Object.fromEntries(settingNames.map((name) => [name, env[settingsTable[name].env] || undefined]))
}

function pick<T extends string | undefined>(
  name: SettingName,
  layers: Layers,
  fromSandbox: string | undefined,
  fallback?: T,
): { value: string | T; source: Source } {
  const { flag, env } = settingsTable[name]
  const candidates: [string | undefined, Source, string][] = [
    [layers.flags[name], 'flag', flag?.replace(/^-\w, | <.*$/g, '') ?? name],
    [layers.environment[name], 'environment', env],
    [layers.config[name], 'config file', `${name} in the config file`],
    [layers.profile[name], 'profile', `${name} in the profile`],
  ]
  for (const [value, source, label] of candidates) {
    if (value !== undefined) return { value: checkSetting(name, value, label), source }
  }
  if (fromSandbox !== undefined) return { value: fromSandbox, source: 'sandbox' }
  return { value: fallback as T, source: 'default' }
}

/** Parses one value. `label` says where it came from: `SVC_BASE_URL`. */
export function checkSetting(name: SettingName, value: string, label: string): string {
  const parsed = settingsTable[name].schema.safeParse(value)
  if (parsed.success) return parsed.data
  const problem = parsed.error.issues[0]?.message ?? 'is not valid'
  throw new CliError('usage', 'setting_invalid', `${label}: ${problem}.`, 'See svc help settings.')
}

function sameService(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin
}

const exported = ['base_url', 'client_id', 'secret_key', 'publishable_key', 'origin'] as const

/**
 * Returns the SVC_* variables by which another program finds the service, without those that are not set: what `svc exec`
 * sets and `svc env` prints.
 */
export function environmentOf(values: Pick<Settings, (typeof exported)[number]>): Record<string, string> {
  return Object.fromEntries(
    exported.flatMap((name) => {
      const value = values[name]
      return value === null ? [] : [[settingsTable[name].env, value]]
    }),
  )
}
