/** Global setup of the tests that run the built command or page: builds dist once, before the first of them, when it is stale. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

export function setup(): void {
  execFileSync(process.execPath, [join(root, 'build/dist.ts'), '--if-stale'], { cwd: root })
}
