/** The files that settings are read from: svc.config.json, and profiles.json in the state directory. */

import { existsSync, lstatSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { replaceFile } from '#foundation/file-system.ts'
import { parseJsonObject } from '#foundation/json.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { CliError, didYouMean } from '#text/cli-error.ts'
import { unwritable } from '../run/file-errors.ts'
import type { System } from '../run/system.ts'
import { findRoot } from './sandbox-folder.ts'
import type { ConfigFile, ProfilesFile } from './schemas.ts'
import { resolveSettings, type Settings } from './settings.ts'
import {
  isLocatorProject,
  type LocatorProject,
  runningSandboxes,
  stateDirectory,
  stateFailure,
} from './state-directory.ts'
import { configFileName, type Flags, type SettingValues, settingNames, settingsTable } from './table.ts'

interface SettingFiles {
  config: { path: string; values: ConfigFile } | null
  profiles: { path: string; values: ProfilesFile }
  /** The profile in use: named by a flag, the environment or the config file, else the current one. */
  profile: string | undefined
}

/** Reads every layer and resolves the settings. Throws CliError for an invalid file or value. */
export async function loadSettings(system: System, flags: Flags): Promise<Settings> {
  const files = await readSettingFiles(system, flags)
  const { profile: _profile, $schema: _schema, sandbox: _sandbox, ...config } = files.config?.values ?? {}
  const sandboxes = await runningSandboxes(stateDirectory(system), system)
  if (sandboxes.some(({ certificate }) => certificate !== undefined)) {
    const { trustCertificates } = await import('../process/certificate.ts')
    await trustCertificates(sandboxes)
  }
  const layers = {
    flags,
    environment: environmentValues(system.env),
    config,
    profile: files.profile === undefined ? {} : profileNamed(files.profile, files.profiles),
    sandboxes,
    root: findRoot(system.cwd),
    config_path: files.config?.path,
    profile_name: files.profile,
    allow_http: flags.allow_http === true,
  }
  const settings = resolveSettings(layers)
  // The file is needed for a project whose keys are not in the locator.
  if (settings.source.client_id === 'default' || settings.source.client_id === 'sandbox') return settings
  if (settings.secret_key !== null && settings.publishable_key !== null) return settings
  return resolveSettings({ ...layers, created: await createdProjects(system, settings) })
}

/** Saves a project of the service in the settings with its keys, so that --client-id finds them. */
export async function saveProject(system: System, settings: Settings, project: LocatorProject): Promise<void> {
  const others = (await createdProjects(system, settings)).filter(({ client_id }) => client_id !== project.client_id)
  await writeJson(createdPath(system), { ...(await readCreated(system)), [serviceKey(settings)]: [...others, project] })
}

async function createdProjects(system: System, settings: Settings): Promise<LocatorProject[]> {
  const created = (await readCreated(system))[serviceKey(settings)]
  return Array.isArray(created) ? created.filter(isLocatorProject) : []
}

/**
 * Returns the projects created by `svc sandbox projects create`, by service. The file contains keys: only its owner can read
 * it.
 */
async function readCreated(system: System): Promise<Record<string, unknown>> {
  return parseJsonObject(await readFile(createdPath(system), 'utf8').catch(() => '')) ?? {}
}

/** A database file outlives its sandbox; a sandbox in memory starts without the projects of an earlier one. */
function serviceKey({ sandbox, base_url }: Settings): string {
  if (sandbox === null) return new URL(base_url).origin
  return sandbox.database === ':memory:' ? `${sandbox.url} ${sandbox.started_at_ms}` : sandbox.database
}

function createdPath(system: System): string {
  return join(stateDirectory(system), 'projects.json')
}

/** Reads the config file and the profiles. Throws CliError for a file that its schema rejects. */
export async function readSettingFiles(system: System, flags: SettingValues): Promise<SettingFiles> {
  const path = await findConfig(system, flags)
  const config = path === null ? null : await readSettingFile<ConfigFile>(path, 'ConfigFile')
  if (config === null && path !== null) {
    const problem = isPresent(path)
      ? `${path} is a link to a file that is missing.`
      : `There is no config file ${path}.`
    throw new CliError('usage', 'config_missing', problem)
  }
  const profiles = (await readSettingFile<ProfilesFile>(profilesPath(system), 'ProfilesFile')) ?? { profiles: {} }
  return {
    config: path === null || config === null ? null : { path, values: config },
    profiles: { path: profilesPath(system), values: profiles },
    profile: flags.profile ?? environmentValues(system.env).profile ?? config?.profile ?? profiles.current,
  }
}

/** Loads the schemas only if the file exists. */
async function readSettingFile<Value>(path: string, name: 'ConfigFile' | 'ProfilesFile'): Promise<Value | null> {
  if (!existsSync(path)) return null
  const schemas = await import('./schemas.ts')
  return schemas.readJson(path, schemas[name]) as Promise<Value | null>
}

/** Returns the values of the environment variables. An empty variable counts as unset. */
export function environmentValues(env: Readonly<Record<string, string | undefined>>): SettingValues {
  return Object.fromEntries(settingNames.map((name) => [name, env[settingsTable[name].env] || undefined]))
}

/** Returns the config file in use when it lies above the working directory and nothing names it; null otherwise. */
export async function configAbove(system: System, flags: SettingValues): Promise<string | null> {
  if ((flags.config ?? environmentValues(system.env).config) !== undefined) return null
  const path = await findConfig(system, flags)
  return path === null || dirname(path) === resolve(system.cwd) ? null : path
}

/** Returns the config file that is named, whether or not it exists, or the nearest one; null when there is none. */
export async function findConfig(system: System, flags: SettingValues): Promise<string | null> {
  const named = flags.config ?? environmentValues(system.env).config
  return named === undefined ? findProjectFile(system, configFileName) : resolve(system.cwd, named)
}

/** Returns the path of the nearest file with a name, in the working directory or above it; null when there is none. */
export function findProjectFile(system: Pick<System, 'cwd'>, name: string): string | null {
  for (let directory = system.cwd; ; directory = dirname(directory)) {
    const path = join(directory, name)
    if (isPresent(path)) return path
    if (directory === dirname(directory)) return null
  }
}

/**
 * Whether the name exists, even as a link to nothing or a circle of links: an intended file is not silently ignored.
 */
function isPresent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // This user has no access to the folder, which can happen above the working directory.
    return false
  }
}

export function profilesPath(system: System): string {
  return join(stateDirectory(system), 'profiles.json')
}

interface NamedProfiles<P> {
  path: string
  values: { profiles: Readonly<Record<string, P>> }
}

/** Returns a profile by its name. Throws CliError when there is none. */
export function profileNamed<P>(name: string, { path, values: { profiles } }: NamedProfiles<P>): P {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile !== undefined) return profile
  const names = Object.keys(profiles)
  throw new CliError(
    'usage',
    'profile_unknown',
    `There is no profile ${name} in ${path}.`,
    didYouMean(name, names) ?? (names.length === 0 ? 'It has no profiles.' : `It has: ${names.join(', ')}.`),
  )
}

/**
 * Writes a JSON file of the state directory, complete or not at all. It can contain keys: only its owner can read it.
 */
export async function writeJson(path: string, value: unknown): Promise<void> {
  try {
    replaceFile(path, jsonFile(value), ownerOnly)
  } catch (error) {
    throw stateFailure(path, error, '')
  }
}

/** Writes a config file, which belongs to a project, complete or not at all. */
export function writeConfig(path: string, value: ConfigFile): void {
  try {
    replaceFile(path, jsonFile(value), { file: 0o644 })
  } catch (error) {
    throw unwritable(path, error, 'Check the directory, its permissions and the free space.')
  }
}

function jsonFile(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
