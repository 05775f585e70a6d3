import type { Host } from './cli/host.ts'
import { version } from './cli/version.ts'

/** Runs one command line and answers its exit code. Never exits, never throws. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  if (args[0] === '--version' || args[0] === '-V') host.stdout.write(`${version}\n`)
  return 0
}
