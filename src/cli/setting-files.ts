/** Where settings are read from: flags, environment, svc.config.json, profiles.json and the locators. */
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { z } from 'zod'
import { CliError } from './cli-error.ts'
import type { Host } from './host.ts'
import { runningSandboxes } from './locator.ts'
import { ConfigFile, environmentValues, ProfilesFile, resolveSettings, type Settings, type Values } from './settings.ts'
import { stateDirectory } from './state.ts'

const configFileName = 'svc.config.json'

/** Reads all layers and settles them. */
export async function loadSettings(host: Host, flags: Values): Promise<Settings> {
  const home = stateDirectory(host)
  const environment = environmentValues(host.env)
  const config = await readConfig(host, flags.config ?? environment.config)
  const { profile: profileOfFile, $schema: _, ...configValues } = config
  const profile = await readProfile(home, flags.profile ?? environment.profile ?? profileOfFile)
  const sandboxes = await runningSandboxes(home, host)
  return resolveSettings({ flags, environment, config: configValues, profile, sandboxes })
}

/** The config file that is named, which must be there, or the nearest one, which need not. */
async function readConfig(host: Host, named: string | undefined): Promise<ConfigFile> {
  if (named !== undefined) {
    const path = resolve(host.cwd, named)
    const config = await readJson(path, ConfigFile)
    if (config === null) throw new CliError('usage', 'config_missing', `There is no config file ${path}.`)
    return config
  }
  for (let directory = host.cwd; ; directory = dirname(directory)) {
    const config = await readJson(join(directory, configFileName), ConfigFile)
    if (config !== null) return config
    if (directory === dirname(directory)) return {}
  }
}

/** The profile that is named, which must be there, or the current one, which need not. */
async function readProfile(home: string, named: string | undefined): Promise<Values> {
  const path = join(home, 'profiles.json')
  const { current, profiles } = (await readJson(path, ProfilesFile)) ?? { current: undefined, profiles: {} }
  const name = named ?? current
  if (name === undefined) return {}
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

/** A JSON file parsed with its schema; null when there is none. */
async function readJson<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S> | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw new CliError('usage', 'file_unreadable', `${path} cannot be read: ${error.message}.`)
  })
  if (text === null) return null
  const parsed = schema.safeParse(parseJson(text, path))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where = issue === undefined || issue.path.length === 0 ? path : `${path}, ${issue.path.join('.')}`
  throw new CliError(
    'usage',
    'file_invalid',
    `${where}: ${issue?.message ?? 'is not valid'}.`,
    'See svc help settings.',
  )
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CliError('usage', 'file_invalid', `${path} is not JSON: ${(error as Error).message}.`)
  }
}
