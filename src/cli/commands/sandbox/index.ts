/** `svc sandbox`: resets it. The other verbs are in the files next to this one. */
import { Option } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Command, CommandContext, LazyCommand, Noun } from '#cli/run/command.ts'
import { CliError } from '#text/cli-error.ts'
import { canAsk, confirm } from '../prompt.ts'
import { exportCommand, importCommand } from './archive.ts'
import { clock } from './clock.ts'
import { faults } from './faults.ts'
import { logs } from './logs.ts'
import { ps } from './ps.ts'
import { scenario } from './scenarios.ts'
import { snapshot } from './snapshots.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'

const reset = endpointCommand('sandbox.reset', {
  details:
    'On a terminal it asks first if the database is a file. Without a terminal, or with --no-input, it does not ask, because scripts reset between tests. That of another folder is reset only with --base-url.',
  options: [new Option('-y, --yes', 'do not ask')],
  examples: ['sandbox reset --yes', 'sandbox reset -o none'],
  input: async (context, { options }) => {
    requireOwnFolder(context)
    if (options.yes !== true && canAsk(context)) await confirmReset(context)
    return { body: {} }
  },
  text: () => ['Reset to the seed.'],
})

/** What is deleted cannot come back: the sandbox of another folder has to be named. Throws CliError. */
function requireOwnFolder({ settings: { is_other_folder, sandbox, base_url } }: CommandContext): void {
  if (!is_other_folder) return
  const message = `This folder has no sandbox, and nothing was reset. The only one that runs is that of ${sandbox?.folder ?? 'another folder'}.`
  throw new CliError('usage', 'other_folder', message, `To reset that one: svc sandbox reset --base-url ${base_url}`)
}

/** Asks before a file is reset. Throws CliError unless the answer is yes. */
async function confirmReset(context: CommandContext): Promise<void> {
  const { data } = await callEndpoint(context, 'sandbox.info', {})
  if (data.database === ':memory:') return
  if (await confirm(context, `Delete everything recorded in ${data.database} (${data.url})?`)) return
  throw new CliError('usage', 'not_confirmed', 'Nothing was reset.', 'To skip the question: svc sandbox reset --yes')
}

export const sandbox: Noun = {
  summary: 'Manage the sandbox: its state, clock, faults, projects and keys',
  commands: [
    status,
    ps,
    stop,
    reset,
    logs,
    inner('events', () => import('../events.ts')),
    inner('env', () => import('./env.ts')),
    snapshot,
    exportCommand,
    importCommand,
    clock,
    faults,
    scenario,
    inner('gameday', () => import('../gameday/index.ts')),
    inner('projects', () => import('../projects.ts')),
    inner('keys', () => import('../keys.ts')),
    inner('callbacks', () => import('../callbacks.ts')),
    inner('console', () => import('../console.ts')),
  ],
}

/** A command, and the module that exports it under its name: it is loaded when it is called. */
function inner<Name extends string>(name: Name, load: () => Promise<Record<Name, Noun | Command>>): LazyCommand {
  return { name, load: async () => ({ ...(await load())[name], name }) }
}
