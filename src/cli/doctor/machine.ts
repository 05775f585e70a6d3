/**
 * The facts that `svc doctor` gathers: about this computer, and about the sandbox at the base URL, through its control
 * API only.
 */

import { access, constants, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { openProjectFiles } from '#agent-files/project-files.ts'
import { findRecord } from '#agent-files/record.ts'
import { portHolder } from '#cli/process/port-holder.ts'
import type { CommandContext } from '#cli/run/command.ts'
import { findConfig, loadSettings } from '#cli/settings/files.ts'
import { findRoot } from '#cli/settings/sandbox-folder.ts'
import { resolveSettings, type Settings } from '#cli/settings/settings.ts'
import { runningSandboxes, stateDirectory } from '#cli/settings/state-directory.ts'
import type { Client } from '#client/client.ts'
import { explainError, ServiceError } from '#client/errors.ts'
import type { Integrity, SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { isLoopback } from '#foundation/http.ts'
import { readErrorCode, readMessage } from '#foundation/system-error.ts'
import { findBrowser } from '#qa/browser/find.ts'
import { CliError } from '#text/cli-error.ts'
import { version } from '#text/version.ts'

export interface Machine {
  node_version: string
  platform: string
  /** `problem`: why it cannot be written; null when it can. */
  state_directory: { path: string; problem: string | null }
  config: {
    /** The file in use; null when there is none. */
    path: string | null
    problem: { message: string; hint: string | null } | null
  }
  settings: Settings
  /** The proxy that programs of this environment take, by its variable, and what NO_PROXY excepts; null without one. */
  proxy: { variable: string; no_proxy: string } | null
  /** Who responds at the base URL. */
  service: 'sandbox' | 'other' | 'none' | Refusal
  /**
   * `holder`: the process that listens on the port of the base URL but does not respond as the service, and what it answers
   * over HTTP; null when there is none.
   */
  port: { number: number; holder: string | null }
  /** Every running sandbox of this state directory, newest first. */
  running_urls: readonly string[]
  /** Path of a Chrome or Chromium, or of the package that includes one; null when none was found. */
  browser: string | null
  /** The versions of the files of `svc agent setup` in this folder, and of this svc; null when there are none. */
  agent_files: { written_by: string; installed: string } | { problem: string; hint: string | null } | null
  /** How commands begin in hints: `svc`, `npx --no svc-sandbox`. */
  command_name: string
}

/** Longest wait for a connection on this computer. */
const connectWithinMs = 1_000

/**
 * Returns the settings. When a settings file is wrong, returns only those from flags and the running sandbox, with the
 * problem.
 */
export async function settingsOrProblem({ system, flags }: CommandContext): Promise<{
  settings: Settings
  problem: Machine['config']['problem']
}> {
  try {
    return { settings: await loadSettings(system, flags), problem: null }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const sandboxes = await runningSandboxes(stateDirectory(system), system)
    const settings = resolveSettings({
      flags,
      environment: {},
      config: {},
      profile: {},
      sandboxes,
      root: findRoot(system.cwd),
    })
    return { settings, problem: { message: error.message, hint: error.hint } }
  }
}

/** Gathers everything about this computer; `service` is what responded at the base URL. */
export async function gatherMachine(
  { system, flags, command_name }: CommandContext,
  settings: Settings,
  problem: Machine['config']['problem'],
  service: Machine['service'],
): Promise<Machine> {
  const home = stateDirectory(system)
  const sandboxes = await runningSandboxes(home, system)
  const url = new URL(settings.base_url)
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const isSilent = service === 'none' && isLoopback(url.hostname) && (await isTaken(url.hostname, port))
  const holder = isSilent ? await portHolder(port, system.platform, sandboxes) : null
  const server = service === 'other' ? await system.describeServer(settings.base_url) : null
  return {
    node_version: system.node_version,
    platform: system.platform,
    state_directory: { path: home, problem: await writeProblem(home) },
    config: { path: await findConfig(system, flags).catch(() => null), problem },
    settings,
    proxy: findProxy(system.env, url.protocol),
    service,
    port: { number: port, holder: holder ?? server },
    running_urls: sandboxes.map(({ url }) => url),
    browser: (await findBrowser(system))?.path ?? null,
    agent_files: findAgentFiles(system.cwd),
    command_name,
  }
}

function findProxy(env: Readonly<Record<string, string | undefined>>, protocol: string): Machine['proxy'] {
  const own = protocol === 'https:' ? 'https_proxy' : 'http_proxy'
  const names = [own, own.toUpperCase(), 'all_proxy', 'ALL_PROXY']
  const variable = names.find((name) => (env[name] ?? '') !== '')
  return variable === undefined ? null : { variable, no_proxy: env.no_proxy ?? env.NO_PROXY ?? '' }
}

function findAgentFiles(folder: string): Machine['agent_files'] {
  try {
    const found = findRecord(openProjectFiles(folder))
    return found === null ? null : { written_by: found.record.version, installed: version }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { problem: error.message, hint: error.hint }
  }
}

/** Returns why a directory, or the nearest existing one above it, cannot be written; null when it can. */
async function writeProblem(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isDirectory()) return `${path} is not a directory`
    await access(path, constants.W_OK)
    return null
  } catch (error) {
    const code = readErrorCode(error)
    const message = readMessage(error)
    const above = dirname(path)
    return code === 'ENOENT' && above !== path ? writeProblem(above) : (code ?? message)
  }
}

function isTaken(hostname: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port, timeout: connectWithinMs })
    const end = (taken: boolean) => {
      socket.destroy()
      resolve(taken)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(true))
    socket.once('error', () => end(false))
  })
}

export interface SandboxReport {
  info: SandboxInfo
  /** The result of the check of its database, or why there is none. */
  integrity: Integrity | { failure: string }
  /** The time on this computer when `info` was read. */
  now_ms: number
  /** The version of this command line. */
  version: string
  /** How commands begin in hints: `svc`, `npx --no svc-sandbox`. */
  command_name: string
}

/** A running service responds immediately or not at all. */
const respondWithinMs = 5_000
/** Why a sandbox cannot be read: its token is missing, or `is_failure`, for example while its database is lost. */
interface Refusal {
  message: string
  hint: string | null
  is_failure: boolean
}

/** Errors of the client when no service responded. */
const noAnswer: ReadonlySet<string> = new Set(['UnreachableError', 'TimeoutError'])

/** Returns what responds at the base URL of the client; `info` is null when it is not a sandbox. */
export async function findService(
  client: Client,
  base_url: string,
): Promise<{ service: Machine['service']; info: SandboxInfo | null }> {
  try {
    return { service: 'sandbox', info: await client.sandbox.info({}, { signal: AbortSignal.timeout(respondWithinMs) }) }
  } catch (error) {
    if (error instanceof ServiceError && error.reason_code !== null) {
      const { hint, status, reason_code } = error
      const message = explainError(error)
      if (reason_code === 'not_found' && /\/v1\/?$/.test(base_url)) {
        const right = base_url.replace(/\/v1\/?$/, '')
        const refusal = { message: 'The base URL must not end in /v1.', hint: `Set it to ${right}`, is_failure: true }
        return { service: refusal, info: null }
      }
      return { service: { message, hint, is_failure: status >= 500 }, info: null }
    }
    const isSilent = error instanceof Error && noAnswer.has(error.name)
    return { service: isSilent ? 'none' : 'other', info: null }
  }
}

export async function gatherSandbox(
  client: Client,
  info: SandboxInfo,
  { now_ms, command_name }: Pick<SandboxReport, 'now_ms' | 'command_name'>,
): Promise<SandboxReport> {
  const integrity = await client.sandbox.integrity().catch((error: Error) => ({
    failure: error instanceof ServiceError ? explainError(error) : error.message,
  }))
  return { info, integrity, now_ms, version, command_name }
}
