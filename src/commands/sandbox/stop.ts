import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { type Locator, runningSandboxes } from '../../cli/process/locator.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { stateDirectory } from '../../cli/settings/files.ts'

/** The sandbox itself takes at most 5 s to finish what is under way. */
const stopWithinMs = 8_000

export const stop: Command = {
  name: 'stop',
  summary: 'Stop a running sandbox cleanly',
  details: 'Waits until its process has ended. With several sandboxes, say which by --base-url, or --all.',
  options: [new Option('--all', 'stop every running sandbox')],
  examples: ['sandbox stop', 'sandbox stop --all'],
  async run(session, { options }) {
    const running = await runningSandboxes(stateDirectory(session.host), session.host)
    const wanted = options.all === true ? running : chooseOne(session, running)
    for (const sandbox of wanted) {
      session.host.terminate(sandbox.pid)
      await session.out.progress(`stopping ${sandbox.url}`, ended(session, sandbox))
    }
    session.out.data(
      wanted.map(({ url, pid }) => ({ url, pid, stopped: true })),
      () => wanted.map(({ url, pid }) => `stopped ${url} (pid ${pid})`),
    )
    return 0
  },
}

function chooseOne({ settings }: Session, running: readonly Locator[]): readonly Locator[] {
  const isNamed = settings.source.base_url !== 'sandbox'
  if (running.length > 1 && !isNamed) {
    const urls = running.map(({ url }) => url).join(', ')
    throw new CliError(
      'usage',
      'sandbox_ambiguous',
      `Several sandboxes run: ${urls}.`,
      'Say which: --base-url URL, or --all.',
    )
  }
  if (settings.sandbox === null)
    throw new CliError('unreachable', 'sandbox_missing', 'No sandbox runs.', 'See svc sandbox ps.')
  return [settings.sandbox]
}

async function ended({ host }: Session, { pid, url }: Locator): Promise<void> {
  const deadline = host.now() + stopWithinMs
  while (host.isRunning(pid)) {
    if (host.now() > deadline) {
      throw new CliError(
        'unreachable',
        'stop_timeout',
        `${url} (pid ${pid}) has not ended within ${stopWithinMs / 1000} s.`,
      )
    }
    await sleep(25)
  }
}
