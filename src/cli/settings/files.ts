/** Where settings are read from: flags, environment, svc.config.json, profiles.json and the locators. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { runningSandboxes } from '../process/locator.ts'
import { CliError } from '../run/errors.ts'
import type { Host } from '../run/host.ts'
import {
  ConfigFile,
  environmentValues,
  type Profile,
  ProfilesFile,
  resolveSettings,
  type Settings,
  type Values,
} from './settings.ts'

export const configFileName = 'svc.config.json'

/** What the files hold, as far as it counts here. */
export interface SettingFiles {
  config: { path: string; values: ConfigFile } | null
  profiles: { path: string; values: ProfilesFile }
  /** The profile that is used: named by a flag, the environment or the config file, else the current one. */
  profile: string | undefined
}

/** Reads all layers and settles them. */
export async function loadSettings(host: Host, flags: Values): Promise<Settings> {
  const files = await readSettingFiles(host, flags)
  const { profile: _profile, $schema: _schema, sandbox: _sandbox, ...config } = files.config?.values ?? {}
  const sandboxes = await runningSandboxes(stateDirectory(host), host)
  return resolveSettings({
    flags,
    environment: environmentValues(host.env),
    config,
    profile: files.profile === undefined ? {} : profileNamed(files.profile, files.profiles),
    sandboxes,
  })
}

/** Throws CliError for a file that is not as its schema says. */
export async function readSettingFiles(host: Host, flags: Values): Promise<SettingFiles> {
  const environment = environmentValues(host.env)
  const path = await findConfig(host, flags)
  const config = path === null ? null : await readJson(path, ConfigFile)
  if (config === null && path !== null)
    throw new CliError('usage', 'config_missing', `There is no config file ${path}.`)
  const profiles = (await readJson(profilesPath(host), ProfilesFile)) ?? { profiles: {} }
  return {
    config: path === null || config === null ? null : { path, values: config },
    profiles: { path: profilesPath(host), values: profiles },
    profile: flags.profile ?? environment.profile ?? config?.profile ?? profiles.current,
  }
}

/** The config file that is named, whether or not it is there, or the nearest one; null when there is none. */
export async function findConfig(host: Host, flags: Values): Promise<string | null> {
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

/** Throws CliError when there is no such profile. */
export function profileNamed(name: string, { path, values: { profiles } }: SettingFiles['profiles']): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile !== undefined) return profile
  const known = Object.keys(profiles)
  throw new CliError(
    'usage',
    'profile_unknown',
    `There is no profile ${name} in ${path}.`,
    known.length === 0 ? 'It holds no profile.' : `It holds: ${known.join(', ')}.`,
  )
}

/** Writes a JSON file aside and renames it. Readable by its owner only, unless told otherwise: it may hold keys. */
export async function writeJson(path: string, value: unknown, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(`${path}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode })
  await rename(`${path}.new`, path)
}

/** Everything that is wrong with a file, as `member: what`; null when there is no such file. */
export async function problemsIn(path: string, schema: z.ZodType): Promise<string[] | null> {
  try {
    const value = await readJson(path, z.unknown())
    return value === null ? null : (schema.safeParse(value).error?.issues ?? []).map(describeIssue)
  } catch (error) {
    if (error instanceof CliError) return [error.message]
    throw error
  }
}

/** A JSON file parsed with its schema; null when there is none. */
export async function readJson<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S> | null> {
  const text = await readText(path)
  return text === null ? null : checkFile(path, parseJson(text, path), schema)
}

/** Parses what a file holds, or will hold. Throws CliError with the first thing that is wrong. */
export function checkFile<S extends z.ZodType>(path: string, value: unknown, schema: S): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where = issue === undefined || issue.path.length === 0 ? path : `${path}, ${issue.path.join('.')}`
  const what = issue?.message ?? 'is not valid'
  throw new CliError('usage', 'file_invalid', `${where}: ${what}.`, 'See svc help settings.')
}

function describeIssue({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

function readText(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw new CliError('usage', 'file_unreadable', `${path} cannot be read: ${error.message}.`)
  })
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CliError('usage', 'file_invalid', `${path} is not JSON: ${(error as Error).message}.`)
  }
}

/** Returns the state directory: `$SVC_HOME`, else the platform's own place. Nothing is kept in the current directory. */
export function stateDirectory({ env, home, platform }: Pick<Host, 'env' | 'home' | 'platform'>): string {
  if (env.SVC_HOME) return env.SVC_HOME
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'svc')
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'svc')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'svc')
  return join(home, '.local', 'state', 'svc')
}
