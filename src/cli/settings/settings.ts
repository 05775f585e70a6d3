/**
 * Resolves each setting separately: flag, environment, svc.config.json, profile, running sandbox, default. Credentials
 * of a running sandbox are used only when that sandbox is the service that is called, so that a key never reaches
 * another service by accident.
 *
 * A file in a repository can name a base URL. So a key is sent only to a service that came from the same source as the
 * key, that you named on the command line, or whose sandbox created the key; and without TLS only on this computer.
 * Clients take a PermittedKey, which only this file makes: every key that is sent was checked here.
 */

import { networkInterfaces } from 'node:os'
import type { PermittedKey } from '#client/permitted-key.ts'
import { pageOrigin, serializeOrigin } from '#contract/origins.ts'
import { isLoopback, isSameService, usualAddress } from '#foundation/http.ts'
import { CliError, didYouMean } from '#text/cli-error.ts'
import { endpoints } from '../endpoint/facts.ts'
import { noSandboxFor } from '../run/errors.ts'
import { chooseSandbox } from './sandbox-folder.ts'
import type { Locator, LocatorProject } from './state-directory.ts'
import {
  type FileSettingName,
  fileSettingNames,
  outputFormats,
  type SettingName,
  type SettingValues,
  settingsTable,
} from './table.ts'

interface Rule {
  pattern: RegExp
  /** The rule of a value. */
  problem: string
}

const client_id = endpoints['placements.create'].body?.properties?.client_id
const key: Rule = { pattern: /^[!-~]+$/, problem: 'must be printable characters without spaces' }
const file: Rule = { pattern: /./s, problem: 'must be at least 1 character' }

export const settingRules: Readonly<Record<SettingName, Rule>> = {
  base_url: {
    pattern: /^https?:[^?#]*$/i,
    problem: 'must be an http or https URL without a query, such as http://127.0.0.1:4010',
  },
  client_id: { pattern: new RegExp(client_id?.pattern ?? ''), problem: client_id?.problem ?? '' },
  secret_key: key,
  publishable_key: key,
  control_token: key,
  origin: {
    pattern: /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/\\?#@]+$/,
    problem: 'must be an origin, such as http://localhost:3000 or capacitor://localhost',
  },
  output: {
    pattern: new RegExp(`^(${outputFormats.join('|')})$`),
    problem: `must be one of ${outputFormats.join(', ')}`,
  },
  profile: { pattern: /^[A-Za-z0-9._-]{1,64}$/, problem: 'must be 1 to 64 characters of A-Z, a-z, 0-9 and . _ -' },
  config: file,
  home: file,
}

export type Source = 'flag' | 'environment' | 'config file' | 'profile' | 'sandbox' | 'default'

export interface Layers {
  flags: SettingValues
  environment: SettingValues
  config: SettingValues
  profile: SettingValues
  /** The running sandboxes, newest first. */
  sandboxes: readonly Locator[]
  /** The folder whose sandbox is addressed: see findRoot. */
  root: string
  /** Projects of the service that this user created, with their keys. */
  created?: readonly LocatorProject[]
  /** Path of the config file, and name of the profile, for messages. */
  config_path?: string | undefined
  profile_name?: string | undefined
  /** Whether keys may travel without TLS: --allow-http. */
  allow_http?: boolean
}

export interface Settings {
  base_url: string
  output: (typeof outputFormats)[number]
  client_id: string | null
  secret_key: string | null
  publishable_key: string | null
  control_token: string | null
  origin: string | null
  /** The running sandbox that base_url names, with all its keys. */
  sandbox: Locator | null
  /** Whether the sandbox is the one of another folder, taken because this one has none. */
  is_other_folder: boolean
  /** The running sandboxes between which nothing decides; none when one is addressed. */
  several: readonly Locator[]
  source: Record<FileSettingName, Source>
  /** The source of the service and of the key, in words: `SVC_BASE_URL`, `/shop/svc.config.json`, `profile local`. */
  where: Record<'base_url' | 'secret_key', string>
  /** Whether keys may travel without TLS. */
  allow_http: boolean
}

/** Resolves every setting from its layers. Throws CliError for a value that its schema rejects. */
export function resolveSettings(layers: Layers): Settings {
  const choice = chooseSandbox(layers.sandboxes, layers.root)
  const base_url = pick('base_url', layers, choice.sandbox?.url, usualAddress)
  // Between several, the one that happens to have the usual address is not meant either.
  const sandbox = base_url.source === 'default' ? null : sandboxAt(base_url.value, layers.sandboxes)
  const projects = [...(sandbox?.projects ?? []), ...(layers.created ?? [])]
  const client_id = pick('client_id', layers, sandbox?.projects[0]?.client_id, null)
  const project = projects.find((project) => project.client_id === client_id.value)
  const picked: { [Name in FileSettingName]: Picked<Name> } = {
    base_url,
    client_id,
    secret_key: pick('secret_key', layers, project?.secret_key, null),
    publishable_key: pick('publishable_key', layers, project?.publishable_key, null),
    control_token: pick('control_token', layers, sandbox?.admin_token, null),
    origin: pick('origin', layers, project && pageOrigin(project.allowed_origins), null),
    output: pick('output', layers, undefined, 'text'),
  }
  const each = <Field extends keyof Picked<FileSettingName>>(field: Field) =>
    Object.fromEntries(fileSettingNames.map((name) => [name, picked[name][field]])) as {
      [Name in FileSettingName]: Picked<Name>[Field]
    }
  const source = each('source')
  return {
    ...each('value'),
    sandbox: sandbox && { ...sandbox, projects },
    is_other_folder: choice.isOther && source.base_url === 'sandbox',
    several: source.base_url === 'default' ? choice.several : [],
    where: {
      base_url: describeSource('base_url', source.base_url, layers),
      secret_key: describeSource('secret_key', source.secret_key, layers),
    },
    allow_http: layers.allow_http === true,
    source,
  }
}

interface Picked<Name extends FileSettingName> {
  value: Settings[Name]
  source: Source
}

function describeSource(
  name: 'base_url' | 'secret_key',
  source: Source,
  { config_path, profile_name }: Layers,
): string {
  const { flag, env } = settingsTable[name]
  switch (source) {
    case 'flag':
      return flag.replace(/ <.*$/, '')
    case 'environment':
      return env
    case 'config file':
      return config_path ?? 'the config file'
    case 'profile':
      return profile_name === undefined ? 'the profile' : `profile ${profile_name}`
    case 'sandbox':
      return 'the running sandbox'
    case 'default':
      return 'the default'
  }
}

function pick<Name extends FileSettingName>(
  name: Name,
  layers: Layers,
  fromSandbox: Settings[Name] | undefined,
  fallback: Settings[Name],
): Picked<Name> {
  const { flag, env } = settingsTable[name]
  const candidates: [string | undefined, Source, string][] = [
    [layers.flags[name], 'flag', flag?.replace(/^-\w, | <.*$/g, '') ?? name],
    [layers.environment[name], 'environment', env],
    [layers.config[name], 'config file', `${name} in the config file`],
    [layers.profile[name], 'profile', `${name} in the profile`],
  ]
  for (const [value, source, label] of candidates) {
    if (value !== undefined) return { value: checkSetting(name, value, label) as Settings[Name], source }
  }
  if (fromSandbox !== undefined) return { value: fromSandbox, source: 'sandbox' }
  return { value: fallback, source: 'default' }
}

/** Returns a value. `label` names its source: `SVC_BASE_URL`. Throws CliError if its rule rejects it. */
export function checkSetting(name: SettingName, value: string, label: string): string {
  if (isValidSetting(name, value)) return (name === 'origin' && serializeOrigin(value)) || value
  const hint = (name === 'output' ? didYouMean(value, outputFormats) : null) ?? 'See svc help settings.'
  throw new CliError('usage', 'setting_invalid', `${label}: ${settingRules[name].problem}.`, hint)
}

/** Whether a setting takes a value. */
export function isValidSetting(name: SettingName, value: string): boolean {
  if (!settingRules[name].pattern.test(value)) return false
  return name === 'origin' ? serializeOrigin(value) !== null : name !== 'base_url' || URL.canParse(value)
}

const exported = ['base_url', 'client_id', 'secret_key', 'publishable_key', 'origin'] as const

/**
 * Returns the SVC_* variables that let another program find the service, without unset ones: `svc exec` sets them and
 * `svc sandbox env` prints them.
 */
export function toEnvironment(values: Pick<Settings, (typeof exported)[number]>): Record<string, string> {
  return Object.fromEntries(
    exported.flatMap((name) => {
      const value = values[name]
      return value === null ? [] : [[settingsTable[name].env, value]]
    }),
  )
}

/** Returns the sandbox at a URL, or null. Its own address takes precedence over another name of loopback. */
function sandboxAt(base_url: string, sandboxes: readonly Locator[]): Locator | null {
  const { origin } = new URL(base_url)
  const isOwn = ({ url, public_url = url }: Locator) => new URL(url).origin === origin || public_url === origin
  return sandboxes.find(isOwn) ?? sandboxes.find(({ url }) => isSameService(url, base_url)) ?? null
}

/** Returns the secret key of the settings for their service; null without one. Throws CliError when it may not go there. */
export function permittedSecretKey(settings: Settings): PermittedKey | null {
  return settings.secret_key === null ? null : permittedKey(settings, settings.secret_key)
}

/** Returns a key of the settings, or of their sandbox, for their service. Throws CliError when it may not go there. */
export function permittedKey(settings: Settings, key: string): PermittedKey {
  const { base_url, source, where, sandbox } = settings
  const isOfSettings = key === settings.secret_key
  const isOfSandbox = sandbox?.projects.some((each) => each.secret_key === key || each.live_secret_key === key) === true
  const from = isOfSettings ? source.secret_key : 'sandbox'
  if (source.base_url === 'default') throw noSandboxFor(settings)
  const isAgreed =
    source.base_url === 'flag' ||
    isOfSandbox ||
    from === source.base_url ||
    // Projects that you created are stored by service.
    (isOfSettings && from === 'sandbox') ||
    // Only the command line chose the key, and only your own sandbox was named.
    (from === 'flag' && source.base_url === 'sandbox')
  if (!isAgreed) {
    throw new CliError(
      'usage',
      'key_destination',
      `Nothing was sent. The secret key is from ${where.secret_key}, but the service from ${where.base_url}: ${base_url}.`,
      `A key is sent only to a service from the same place, or one that you name. To allow it: --base-url ${base_url}`,
    )
  }
  return overSafeWay(settings, 'The secret key', key)
}

/**
 * Returns a token that the service in the settings has just issued, for that service. Throws CliError as permittedKey.
 */
export function issuedToken(settings: Settings, token: string): PermittedKey {
  return overSafeWay(settings, 'The activation token', token)
}

type TokenSettings = Pick<Settings, 'base_url' | 'allow_http' | 'sandbox'> &
  Partial<Pick<Settings, 'control_token' | 'source'>>

/**
 * Returns the token of the control plane for the service in the settings; undefined when there is none for it. A token
 * from another source than the service is not sent: most commands work without it. Throws CliError as permittedKey.
 */
export function permittedControlToken({ control_token, source, ...settings }: TokenSettings) {
  const own = settings.sandbox?.admin_token
  const isAgreed =
    source !== undefined &&
    (source.base_url === 'flag' || source.base_url === 'sandbox' || source.control_token === source.base_url)
  const token = isAgreed ? (control_token ?? own) : own
  return token === undefined ? undefined : overSafeWay(settings, 'The token of the control plane', token)
}

/**
 * Refuses a service that keys would reach without encryption, for a command that passes on those of another program.
 * @throws CliError as permittedKey
 */
export function refuseOpenWay(base_url: string, allow_http: boolean): void {
  overSafeWay({ base_url, allow_http }, 'A key', '')
}

function overSafeWay({ base_url, allow_http }: Pick<Settings, 'base_url' | 'allow_http'>, what: string, key: string) {
  if (!allow_http && isReadableByOthers(base_url)) {
    throw new CliError(
      'usage',
      'key_over_http',
      `Nothing was sent. ${what} would travel to ${base_url} without encryption.`,
      `Use https. If anyone on the network may read it, add --allow-http.`,
    )
  }
  return key as PermittedKey
}

/** Whether a request leaves this computer without TLS. Requests to its own network interfaces do not. */
function isReadableByOthers(base_url: string): boolean {
  const { protocol, hostname } = new URL(base_url)
  if (protocol === 'https:' || isLoopback(hostname)) return false
  const address = hostname.replace(/^\[|\]$/g, '')
  if (address === '0.0.0.0' || address === '::') return false
  return !Object.values(networkInterfaces()).some((each) => each?.some((own) => own.address === address))
}
