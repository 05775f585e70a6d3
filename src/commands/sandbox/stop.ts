import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { type Locator, runningSandboxes } from '../../cli/process/locator.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { stateDirectory } from '../../cli/settings/files.ts'

/** The sandbox itself takes at most 5 s to finish the requests in flight. */
const stopTimeout_ms = 8_000

export const stop: Command = {
  name: 'stop',
  summary: 'Stop a running sandbox cleanly',
  details: 'Waits until its process has ended. With several sandboxes, choose one with --base-url, or stop --all.',
  options: [new Option('--all', 'stop every running sandbox')],
  examples: ['sandbox stop', 'sandbox stop --all'],
  async run(session, { options }) {
    const running = await runningSandboxes(stateDirectory(session.host), session.host)
    const chosen = options.all === true ? running : chooseOne(session, running)
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

function chooseOne({ settings }: Session, running: readonly Locator[]): readonly Locator[] {
  const isNamed = settings.source.base_url !== 'sandbox'
  if (running.length > 1 && !isNamed) {
    const message = `Several sandboxes are running: ${running.map(({ url }) => url).join(', ')}.`
    throw new CliError(
      'usage',
      'sandbox_ambiguous',
      message,
      'Choose one with --base-url URL, or stop them with --all.',
    )
  }
  if (settings.sandbox !== null) return [settings.sandbox]
  throw new CliError('unreachable', 'sandbox_missing', 'No sandbox is running.', 'See svc sandbox ps.')
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
