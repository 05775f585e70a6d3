/** Looks up what the checks of this machine are told. */
import { access, constants, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { runningSandboxes } from '../../cli/process/locator.ts'
import { portHolder } from '../../cli/process/port-holder.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { findConfig, loadSettings, stateDirectory } from '../../cli/settings/files.ts'
import { resolveSettings, type Settings } from '../../cli/settings/settings.ts'
import { browserCandidates } from '../doctor/browser.ts'
import type { Machine } from '../doctor/machine.ts'

/** Longest wait for a port to be taken up, on this machine. */
const connectWithinMs = 1_000

/** The settings, or those of flags and the running sandbox alone, with what is wrong with the rest. */
export async function settleAnyway({ host, flags }: Session): Promise<{
  settings: Settings
  problem: Machine['config']['problem']
}> {
  try {
    return { settings: await loadSettings(host, flags), problem: null }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const sandboxes = await runningSandboxes(stateDirectory(host), host)
    const settings = resolveSettings({ flags, environment: {}, config: {}, profile: {}, sandboxes })
    return { settings, problem: { message: error.message, hint: error.hint } }
  }
}

/** Everything of this machine; `service` is who answered at the base URL. */
export async function gatherMachine(
  { host, flags, command_name }: Session,
  settings: Settings,
  problem: Machine['config']['problem'],
  service: Machine['service'],
): Promise<Machine> {
  const home = stateDirectory(host)
  const sandboxes = await runningSandboxes(home, host)
  const url = new URL(settings.base_url)
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const isHeld = service === 'none' && isLocal(url.hostname) && (await isTaken(url.hostname, port))
  return {
    node_version: host.node_version,
    platform: host.platform,
    state_directory: { path: home, problem: await writeProblem(home) },
    config: { path: await findConfig(host, flags).catch(() => null), problem },
    settings,
    service,
    port: { number: port, holder: isHeld ? await portHolder(port, host.platform, sandboxes) : null },
    running_urls: sandboxes.map(({ url }) => url),
    browser: await firstExecutable(browserCandidates(host.platform, host.env)),
    command_name,
  }
}

/** Why a directory, or the nearest above it that is there, cannot be written; null when it can. */
async function writeProblem(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isDirectory()) return `${path} is no directory`
    await access(path, constants.W_OK)
    return null
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const above = dirname(path)
    return code === 'ENOENT' && above !== path ? writeProblem(above) : (code ?? message)
  }
}

async function firstExecutable(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) if (await isThere(path, constants.X_OK)) return path
  return null
}

function isThere(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname)
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
