/** The files that settings are read from: svc.config.json, and profiles.json in the state directory. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { requirementOf } from '../../contract/field-errors.ts'
import { LocatorProject, runningSandboxes } from '../process/locator.ts'
import { CliError, didYouMean } from '../run/errors.ts'
import type { Host } from '../run/host.ts'
import { resolveSettings, type Settings, settingSchemas } from './settings.ts'
import { StartSection } from './start-options.ts'
import {
  environmentValues,
  type FileSettingName,
  fileSettingNames,
  type SettingValues,
  settingsTable,
} from './table.ts'

export const configFileName = 'svc.config.json'

const fileShape = Object.fromEntries(
  fileSettingNames.map((name) => [name, settingSchemas[name].optional().describe(settingsTable[name].description)]),
) as { [Name in FileSettingName]: z.ZodOptional<(typeof settingSchemas)[Name]> }

/** One profile of profiles.json. */
const Profile = z.strictObject(fileShape)
type Profile = z.infer<typeof Profile>

export const ConfigFile = z.strictObject({
  $schema: z.string().optional(),
  profile: z.string().optional(),
  ...fileShape,
  sandbox: StartSection.optional().describe('options of svc start; its flags win'),
})
export type ConfigFile = z.infer<typeof ConfigFile>

export const ProfilesFile = z.strictObject({ current: z.string().optional(), profiles: z.record(z.string(), Profile) })
export type ProfilesFile = z.infer<typeof ProfilesFile>

/** A config file that is about to be changed: its fields may hold anything. */
export const AnyFields = z.record(z.string(), z.unknown())
/** A profiles.json that is about to be changed: its profiles may hold anything. */
export const AnyProfiles = z.looseObject({
  current: z.string().optional(),
  profiles: z.record(z.string(), AnyFields),
})

/** Returns the JSON schema of svc.config.json. */
export function configFileSchema() {
  return z.toJSONSchema(ConfigFile, { io: 'input' })
}

export interface SettingFiles {
  config: { path: string; values: ConfigFile } | null
  profiles: { path: string; values: ProfilesFile }
  /** The profile in use: named by a flag, the environment or the config file, else the current one. */
  profile: string | undefined
}

/** Reads every layer and resolves the settings. Throws CliError for an invalid file or value. */
export async function loadSettings(host: Host, flags: SettingValues): Promise<Settings> {
  const files = await readSettingFiles(host, flags)
  const { profile: _profile, $schema: _schema, sandbox: _sandbox, ...config } = files.config?.values ?? {}
  const layers = {
    flags,
    environment: environmentValues(host.env),
    config,
    profile: files.profile === undefined ? {} : profileNamed(files.profile, files.profiles),
    sandboxes: await runningSandboxes(stateDirectory(host), host),
  }
  const settings = resolveSettings(layers)
  // The file is read for a project whose keys are not in the locator.
  if (settings.source.client_id === 'default' || settings.source.client_id === 'sandbox') return settings
  if (settings.secret_key !== null && settings.publishable_key !== null) return settings
  return resolveSettings({ ...layers, created: await createdProjects(host, settings) })
}

/** Projects that `svc projects create` made, by service. It holds keys: only its owner can read it. */
const CreatedProjects = z.record(z.string(), z.array(LocatorProject))

/** Saves a project of the service in the settings with its keys, so that --client-id finds them. */
export async function saveProject(host: Host, settings: Settings, project: LocatorProject): Promise<void> {
  const path = createdPath(host)
  const others = (await createdProjects(host, settings)).filter(({ client_id }) => client_id !== project.client_id)
  const all = (await readJson(path, CreatedProjects)) ?? {}
  await writeJson(path, { ...all, [serviceKey(settings)]: [...others, project] })
}

async function createdProjects(host: Host, settings: Settings): Promise<LocatorProject[]> {
  return (await readJson(createdPath(host), CreatedProjects))?.[serviceKey(settings)] ?? []
}

/** A database file outlives its sandbox; a sandbox in memory starts without the projects of an earlier one. */
function serviceKey({ sandbox, base_url }: Settings): string {
  if (sandbox === null) return new URL(base_url).origin
  return sandbox.database === ':memory:' ? `${sandbox.url} ${sandbox.started_at_ms}` : sandbox.database
}

function createdPath(host: Host): string {
  return join(stateDirectory(host), 'projects.json')
}

/** Reads the config file and the profiles. Throws CliError for a file that its schema rejects. */
export async function readSettingFiles(host: Host, flags: SettingValues): Promise<SettingFiles> {
  const path = await findConfig(host, flags)
  const config = path === null ? null : await readJson(path, ConfigFile)
  if (config === null && path !== null)
    throw new CliError('usage', 'config_missing', `There is no config file ${path}.`)
  const profiles = (await readJson(profilesPath(host), ProfilesFile)) ?? { profiles: {} }
  return {
    config: path === null || config === null ? null : { path, values: config },
    profiles: { path: profilesPath(host), values: profiles },
    profile: flags.profile ?? environmentValues(host.env).profile ?? config?.profile ?? profiles.current,
  }
}

/** Returns the config file that is named, whether or not it exists, or the nearest one; null when there is none. */
export async function findConfig(host: Host, flags: SettingValues): Promise<string | null> {
  const named = flags.config ?? environmentValues(host.env).config
  if (named !== undefined) return resolve(host.cwd, named)
  for (let directory = host.cwd; ; directory = dirname(directory)) {
    const path = join(directory, configFileName)
    if ((await readText(path)) !== null) return path
    if (directory === dirname(directory)) return null
  }
}

export function profilesPath(host: Host): string {
  return join(stateDirectory(host), 'profiles.json')
}

/** Returns a profile by its name. Throws CliError when there is none. */
export function profileNamed(name: string, { path, values: { profiles } }: SettingFiles['profiles']): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile !== undefined) return profile
  const names = Object.keys(profiles)
  throw new CliError(
    'usage',
    'profile_unknown',
    `There is no profile ${name} in ${path}.`,
    didYouMean(name, names) ?? (names.length === 0 ? 'It holds no profile.' : `It holds: ${names.join(', ')}.`),
  )
}

/** Writes a JSON file beside the old one, then renames it. It may hold keys: only its owner can read it by default. */
export async function writeJson(path: string, value: unknown, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(`${path}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode })
  await rename(`${path}.new`, path)
}

/** Returns everything that is wrong with a file, as `field: problem`; null when there is no such file. */
export async function problemsIn(path: string, schema: z.ZodType): Promise<string[] | null> {
  try {
    const value = await readJson(path, z.unknown())
    return value === null ? null : (schema.safeParse(value).error?.issues ?? []).map(describeIssue)
  } catch (error) {
    if (error instanceof CliError) return [error.message]
    throw error
  }
}

/** Returns a JSON file parsed with its schema, or null when there is none. Throws CliError for what the schema rejects. */
export async function readJson<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S> | null> {
  const text = await readText(path)
  return text === null ? null : checkFile(path, parseText(text, path), schema)
}

/** Parses the content of a file. Throws CliError with the first problem. */
export function checkFile<S extends z.ZodType>(path: string, value: unknown, schema: S): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = [path, ...(issue?.path.length ? [issue.path.join('.')] : [])].join(', ')
  throw new CliError('usage', 'file_invalid', `${where}: ${requirementOf(issue)}.`, 'See svc help settings.')
}

/** Returns the state directory: `$SVC_HOME`, else the platform's own place. Nothing is kept in the current directory. */
export function stateDirectory({ env, home, platform }: Pick<Host, 'env' | 'home' | 'platform'>): string {
  if (env.SVC_HOME) return env.SVC_HOME
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'svc')
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'svc')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'svc')
  return join(home, '.local', 'state', 'svc')
}

function describeIssue(issue: z.core.$ZodIssue): string {
  return [issue.path.join('.'), requirementOf(issue)].filter((part) => part !== '').join(': ')
}

function readText(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw new CliError('usage', 'file_unreadable', `${path} cannot be read: ${error.message}.`)
  })
}

function parseText(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CliError('usage', 'file_invalid', `${path} is not JSON: ${(error as Error).message}.`)
  }
}
