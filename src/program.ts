/** From a command line to an exit code. `svc --help` and `--version` are printed without loading anything. */
import type { Host } from './cli/run/host.ts'
import { commandList, commandName, rootHelp, version } from './cli/run/program-info.ts'
import { commands, sections } from './commands/index.ts'

/** Runs one command line and returns its exit code. Never exits, never throws. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const [first = ''] = args
  if (args.length === 1 && ['--version', '-V', '-v', 'version'].includes(first)) {
    host.stdout.write(`${version}\n`)
    return 0
  }
  const name = commandName(host)
  if (args.length === 0 || (args.length === 1 && ['--help', '-h', 'help'].includes(first))) {
    host.stdout.write(rootHelp(commands, sections, name, boldOf(host)))
    return 0
  }
  if (args.length === 2 && first === 'help' && args[1] === 'commands') {
    host.stdout.write(commandList(commands, sections, boldOf(host)))
    return 0
  }
  const { runCommand } = await import('./cli/run/run-command.ts')
  return runCommand(commands, () => rootHelp(commands, sections, name), args, host)
}

/** Bold on a terminal that has it, without loading what styles other output. */
function boldOf({ stdout, env }: Host): (text: string) => string {
  const isBold = stdout.is_terminal && !env.NO_COLOR && env.TERM !== 'dumb' && env.FORCE_COLOR !== '0'
  return isBold ? (text) => (text === '' ? '' : `\u001b[1m${text}\u001b[22m`) : (text) => text
}
