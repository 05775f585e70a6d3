/** `svc sandbox stop`. A process gets a signal only if it is certain to be the sandbox that wrote the locator. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { portHolder } from '#cli/process/port-holder.ts'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { commandClient, noteOtherFolder } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import type { System } from '#cli/run/system.ts'
import { chooseSandbox, findRoot } from '#cli/settings/sandbox-folder.ts'
import { permittedControlToken } from '#cli/settings/settings.ts'
import {
  checkReadable,
  isSandboxProcess,
  type Locator,
  removeLocator,
  runningSandboxes,
  stateDirectory,
} from '#cli/settings/state-directory.ts'
import { ServiceError, UnreachableError } from '#client/errors.ts'
import { isSameService } from '#foundation/http.ts'
import { CliError } from '#text/cli-error.ts'
import { version } from '#text/version.ts'
import { noteForeignLocators } from './ps.ts'
import { responseTimeoutMs } from './status.ts'

/** The sandbox itself takes at most 5 s to finish the requests in flight, with a shared store after it has drained. */
const stopTimeoutMs = 15_000

export const stop: Command = {
  name: 'stop',
  summary: 'Stop a running sandbox cleanly',
  details:
    'First checks that the process is the sandbox, since any other process is left alone, then waits until it has ended. It stops the sandbox of this folder, else the only one that runs; another with --base-url, every one with --all. One of svc exec ends with its command; --base-url stops both.',
  options: [new Option('--all', 'stop every running sandbox')],
  examples: ['sandbox stop', 'sandbox stop --all'],
  async run(context, { options }) {
    const running = await confirmedSandboxes(context)
    await noteForeignLocators(context)
    const chosen = options.all === true ? running.filter(isStarted) : [chooseOne(context, running)]
    if (chosen.length === 0) context.out.note('No sandbox is running. Nothing to stop.')
    for (const sandbox of chosen) {
      await requestStop(context, sandbox)
      await context.out.progress(`stopping ${sandbox.url}`, untilEnded(context, sandbox))
    }
    context.out.data(
      chosen.map(({ url, pid }) => ({ url, pid, stopped: true })),
      () => chosen.map(({ url, pid }) => `stopped ${url} (pid ${pid})`),
    )
    return 0
  },
}

/** Asks the sandbox itself: a signal would end it by force on Windows. One that is too busy or too old gets the signal. */
async function requestStop({ system, flags }: CommandContext, sandbox: Locator): Promise<void> {
  try {
    await controlClient(system, sandbox, flags.allow_http === true).sandbox.stop({ body: {} })
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof UnreachableError)) throw error
    system.terminate(sandbox.pid)
  }
}

/** Returns the sandboxes whose locators are correct. Notes the others, and removes locators written by this version. */
async function confirmedSandboxes({ system, out, flags }: CommandContext): Promise<Locator[]> {
  const home = stateDirectory(system)
  await checkReadable(home)
  const confirmed: Locator[] = []
  for (const sandbox of await runningSandboxes(home, system)) {
    const { url, pid } = sandbox
    const state = await processState(sandbox, system, flags.allow_http === true)
    if (state === 'running') confirmed.push(sandbox)
    else if (state === 'unreachable') out.note(unreachableText(sandbox))
    else if (state === 'silent') out.note(`${url} does not respond. If pid ${pid} is its process, end it: kill ${pid}`)
    else {
      if (sandbox.version === version) await removeLocator(home, sandbox)
      out.note(`${url} has ended. Left alone: pid ${pid}, which is now another process.`)
    }
  }
  return confirmed
}

function unreachableText({ url, pid }: Locator): string {
  return `${url} cannot be reached, and its process runs. Is a firewall or a proxy between them? To end it: kill ${pid}`
}

/**
 * The process is the sandbox if it responds as such, or if it listens on the sandbox's port but is too busy to respond
 * or has lost its database. Where nothing responds, or another program, the start of the process decides whether the
 * sandbox has ended.
 */
async function processState(
  sandbox: Locator,
  system: System,
  allow_http: boolean,
): Promise<'running' | 'silent' | 'unreachable' | 'ended'> {
  const { url, pid } = sandbox
  const otherwise = (await isSandboxProcess(sandbox, system)) === 'certain' ? 'unreachable' : 'ended'
  try {
    return (await controlClient(system, sandbox, allow_http).sandbox.info()).pid === pid ? 'running' : otherwise
  } catch (error) {
    const refuses = error instanceof ServiceError && error.reason_code !== null
    if (!refuses && !(error instanceof UnreachableError && error.timed_out)) return otherwise
    const holder = await portHolder(Number(new URL(url).port), system.platform, [])
    return holder.startsWith(`pid ${pid} `) ? 'running' : 'silent'
  }
}

function controlClient(system: System, sandbox: Locator, allow_http: boolean) {
  const { url } = sandbox
  const admin_token = permittedControlToken({ base_url: url, allow_http, sandbox })
  return commandClient(system, { base_url: url, timeout_ms: responseTimeoutMs, validate: false, admin_token })
}

function chooseOne({ settings, system }: CommandContext, running: readonly Locator[]): Locator {
  const { source, base_url } = settings
  const isNamed = source.base_url !== 'sandbox' && source.base_url !== 'default'
  if (isNamed) {
    const named = running.find(({ url }) => isSameService(url, base_url))
    if (named !== undefined) return named
    const urls = running.map(({ url }) => url).join(', ')
    const hint = urls === '' ? 'Nothing to stop.' : `Running: ${urls}.`
    throw new CliError('unreachable', 'sandbox_missing', `No sandbox is running at ${base_url}.`, hint)
  }
  const { sandbox, several } = chooseSandbox(running, findRoot(system.cwd))
  if (several.length > 0) {
    const { message } = noSandboxFor({ several })
    const hint = `Stop one: svc sandbox stop --base-url ${several[0]?.url}. Or stop all: svc sandbox stop --all.`
    throw new CliError('usage', 'sandbox_ambiguous', message, hint)
  }
  if (sandbox === null)
    throw new CliError('unreachable', 'sandbox_missing', 'No sandbox is running.', 'Nothing to stop.')
  if (isStarted(sandbox)) {
    noteOtherFolder(system, settings)
    return sandbox
  }
  const hint = `It ends with its command. To stop both: svc sandbox stop --base-url ${sandbox.url}`
  const message = `The sandbox at ${sandbox.url} is of svc exec -- ${sandbox.command}.`
  throw new CliError('usage', 'sandbox_of_exec', message, hint)
}

/** Whether `svc start` started it, not `svc exec`. */
function isStarted({ command }: Locator): boolean {
  return command === undefined
}

/** Resolves when the process has ended. Throws CliError when it has not after `stopTimeoutMs`. */
async function untilEnded({ system }: CommandContext, { pid, url }: Locator): Promise<void> {
  const deadline = system.now() + stopTimeoutMs
  while (system.isRunning(pid)) {
    if (system.now() > deadline) {
      const message = `${url} (pid ${pid}) has not stopped within ${stopTimeoutMs / 1000} s.`
      throw new CliError('unreachable', 'stop_timeout', message)
    }
    await sleep(25)
  }
}
