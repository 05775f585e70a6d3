/** Global setup of every test run: dist is built once, before the first test, when it is stale. */
import { ensureBuilt } from './cli/process.ts'

export function setup(): void {
  ensureBuilt()
}
