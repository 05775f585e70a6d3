/** `svc exec -- CMD...`: a program, such as a test suite, against a sandbox of its own. */
import { Argument } from 'commander'
import { flagValues } from '../cli/endpoint/flags.ts'
import { codeOfSignal, startGroup } from '../cli/process/process-group.ts'
import type { Command } from '../cli/run/command.ts'
import { CliError } from '../cli/run/errors.ts'
import type { Signal } from '../cli/run/host.ts'
import type { Session } from '../cli/run/session.ts'
import { stateDirectory } from '../cli/settings/files.ts'
import { environmentOf, pageOrigin } from '../cli/settings/settings.ts'
import { type StartOptionName, startFlags } from '../cli/settings/start-options.ts'
import { startOnFreePort } from './sandbox/start.ts'

/** Options of `start` that mean something for a sandbox in memory, on a free port. */
const ofStart = new Set<StartOptionName>(['seed', 'rate_limit', 'decision_latency'])
const flags = new Map([...startFlags()].filter(([name]) => ofStart.has(name)))

export const exec: Command = {
  name: 'exec',
  summary: 'Run a command against a fresh sandbox, and end both',
  details: [
    'Starts a sandbox in memory on a free port, sets SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY, SVC_PUBLISHABLE_KEY and SVC_ORIGIN, and runs the command behind --.',
    "The exit code is the command's own, or 128 + n when signal n ended it. SIGINT, SIGTERM and SIGHUP reach the command once; it is killed when it has not ended 5 s later. What it leaves running is ended with it.",
  ].join('\n\n'),
  arguments: [new Argument('[-- command...]', 'the command, with its arguments')],
  options: [...flags.values()],
  passesThrough: true,
  examples: ['exec -- npm test', 'exec --seed 1 -q -- node --test'],
  async run(session, { options, args, passthrough }) {
    if (!passthrough?.length || args.flat().length > 0) throw commandMissing(args.flat())
    const interrupted = interruption(session)
    const sandbox = await startOnFreePort(
      session,
      { ...flagValues(flags, options), port: 0, ephemeral: true },
      stateDirectory(session.host),
    )
    try {
      session.out.note(`sandbox ${sandbox.url} for ${passthrough.join(' ')}`)
      const { host } = session
      const early = interrupted.signal()
      if (early !== null) return codeOfSignal(early)
      const origin = sandbox.projects.map(pageOrigin)[0] ?? null
      const variables = environmentOf({ base_url: sandbox.url, ...sandbox.keys, origin })
      const group = startGroup(host, passthrough, { ...host.env, ...variables })
      interrupted.tell(group.end)
      return await group.ended
    } finally {
      await sandbox.close()
    }
  },
}

/** The first signal that this process got, for whoever is there to be told. */
function interruption(session: Session) {
  let received: Signal | null = null
  let listener: ((signal: Signal) => void) | null = null
  session.onInterrupt((signal) => {
    received = signal as Signal
    listener?.(received)
  })
  return {
    signal: (): Signal | null => received,
    tell: (told: (signal: Signal) => void) => {
      listener = told
    },
  }
}

function commandMissing(words: readonly (string | undefined)[]): CliError {
  const command = words.length === 0 ? 'npm test' : words.join(' ')
  return new CliError('usage', 'command_missing', 'The command to run stands behind --.', `Try: svc exec -- ${command}`)
}
