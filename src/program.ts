/** From a command line to an exit code. `svc --help` and `--version` are printed without loading anything. */
import type { Host } from './cli/run/host.ts'
import { commandName, rootHelp, version } from './cli/run/program-info.ts'
import { commands, sections } from './commands/index.ts'

/** Runs one command line and returns its exit code. Never exits, never throws. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const [first = ''] = args
  if (args.length === 1 && ['--version', '-V', '-v', 'version'].includes(first)) {
    host.stdout.write(`${version}\n`)
    return 0
  }
  const help = () => rootHelp(commands, sections, commandName(host.env))
  if (args.length === 0 || (args.length === 1 && ['--help', '-h', 'help'].includes(first))) {
    host.stdout.write(help())
    return 0
  }
  const { runCommand } = await import('./cli/run/run-command.ts')
  return runCommand(commands, help, args, host)
}
