/**
 * From a command line to an exit code. The first lines answer `--help` and `--version` without loading anything; the
 * rest is loaded on demand.
 */
import { commandName } from './cli/run/command-name.ts'
import type { Host } from './cli/run/host.ts'
import { rootHelp } from './cli/run/root-help.ts'
import { version } from './cli/run/version.ts'
import { commands, sections } from './commands/index.ts'

/** Runs one command line and answers its exit code. Never exits, never throws. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const [first] = args
  if (args.length === 1 && (first === '--version' || first === '-V')) {
    host.stdout.write(`${version}\n`)
    return 0
  }
  const root_help = rootHelp(commands, sections, { version, command_name: commandName(host.env) })
  if (args.length === 0 || (args.length === 1 && (first === '--help' || first === '-h' || first === 'help'))) {
    host.stdout.write(root_help)
    return 0
  }
  const { runCommand } = await import('./cli/run/run-command.ts')
  return runCommand(commands, root_help, args, host)
}
