/** `svc sandbox stop`. A process gets a signal only when it is certain to be the sandbox that wrote the locator. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { type Locator, removeLocator, runningSandboxes } from '../../cli/process/locator.ts'
import { portHolder } from '../../cli/process/port-holder.ts'
import type { Command } from '../../cli/run/command.ts'
import { commandClient } from '../../cli/run/command-client.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Host } from '../../cli/run/host.ts'
import { version } from '../../cli/run/program-info.ts'
import type { Session } from '../../cli/run/session.ts'
import { permittedControlToken } from '../../cli/settings/key-destination.ts'
import { isSameService } from '../../cli/settings/settings.ts'
import { stateDirectory } from '../../cli/settings/state-directory.ts'
import { ServiceError, UnreachableError } from '../../client/errors.ts'
import { noteForeignLocators, responseTimeout_ms } from './status.ts'

/** The sandbox itself takes at most 5 s to finish the requests in flight, with a shared store after it has drained. */
const stopTimeout_ms = 15_000

export const stop: Command = {
  name: 'stop',
  summary: 'Stop a running sandbox cleanly',
  details:
    'Waits until its process has ended. Before that it checks that the process is the sandbox: any other process is left alone. With several sandboxes, choose one with --base-url, or stop --all.',
  options: [new Option('--all', 'stop every running sandbox')],
  examples: ['sandbox stop', 'sandbox stop --all'],
  async run(session, { options }) {
    const running = await confirmedSandboxes(session)
    await noteForeignLocators(session)
    const chosen = options.all === true ? running : [chooseOne(session, running)]
    for (const sandbox of chosen) {
      session.host.terminate(sandbox.pid)
      await session.out.progress(`stopping ${sandbox.url}`, untilEnded(session, sandbox))
    }
    session.out.data(
      chosen.map(({ url, pid }) => ({ url, pid, stopped: true })),
      () => chosen.map(({ url, pid }) => `stopped ${url} (pid ${pid})`),
    )
    return 0
  },
}

/** Returns the sandboxes whose locators are right. Notes the others, and removes locators that this version wrote. */
async function confirmedSandboxes({ host, out, flags }: Session): Promise<Locator[]> {
  const home = stateDirectory(host)
  const confirmed: Locator[] = []
  for (const sandbox of await runningSandboxes(home, host)) {
    const { url, pid } = sandbox
    const state = await stateOf(sandbox, host, flags.allow_http === true)
    if (state === 'running') confirmed.push(sandbox)
    else if (state === 'silent') out.note(`${url} does not respond. If pid ${pid} is its process, end it: kill ${pid}`)
    else {
      if (sandbox.version === version) await removeLocator(home, pid)
      out.note(`${url} has ended. Left alone: pid ${pid}, which is another process now.`)
    }
  }
  return confirmed
}

/**
 * The process is the sandbox when it responds as such, or listens on the port of the sandbox and is too busy to respond, or
 * has lost its database.
 */
async function stateOf(sandbox: Locator, host: Host, allow_http: boolean): Promise<'running' | 'silent' | 'ended'> {
  const { url, pid } = sandbox
  const admin_token = permittedControlToken({ base_url: url, allow_http, sandbox })
  const options = { base_url: url, timeout_ms: responseTimeout_ms, validate: false } as const
  const client = commandClient(host, { ...options, admin_token })
  try {
    return (await client.sandbox.info()).pid === pid ? 'running' : 'ended'
  } catch (error) {
    const refuses = error instanceof ServiceError && error.reason_code !== null
    if (!refuses && !(error instanceof UnreachableError && error.timed_out)) return 'ended'
    const holder = await portHolder(Number(new URL(url).port), host.platform, [])
    return holder.startsWith(`pid ${pid} `) ? 'running' : 'silent'
  }
}

function chooseOne({ settings: { source, base_url } }: Session, running: readonly Locator[]): Locator {
  const isNamed = source.base_url !== 'sandbox' && source.base_url !== 'default'
  const [chosen, ...others] = isNamed ? running.filter(({ url }) => isSameService(url, base_url)) : running
  const urls = running.map(({ url }) => url).join(', ')
  if (chosen === undefined) {
    const message = isNamed ? `No sandbox is running at ${base_url}.` : 'No sandbox is running.'
    const hint = urls === '' ? 'There is nothing to stop.' : `Running: ${urls}.`
    throw new CliError('unreachable', 'sandbox_missing', message, hint)
  }
  if (others.length === 0) return chosen
  const message = `${running.length} sandboxes are running: ${urls}.`
  const hint = `Stop one: svc sandbox stop --base-url ${chosen.url}. Or every one: svc sandbox stop --all.`
  throw new CliError('usage', 'sandbox_ambiguous', message, hint)
}

/** Resolves when the process has ended. Throws CliError when it has not after `stopTimeout_ms`. */
async function untilEnded({ host }: Session, { pid, url }: Locator): Promise<void> {
  const deadline = host.now() + stopTimeout_ms
  while (host.isRunning(pid)) {
    if (host.now() > deadline) {
      const message = `${url} (pid ${pid}) has not stopped within ${stopTimeout_ms / 1000} s.`
      throw new CliError('unreachable', 'stop_timeout', message)
    }
    await sleep(25)
  }
}
