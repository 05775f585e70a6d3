/** The declarations of this package. A checkout builds them when a project first needs them: a start does without. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from '#foundation/programs.ts'
import { packageRoot } from './templates.ts'

/** Builds `dist/types` in a checkout that has none. Elsewhere, and where the build fails, the package stays without them. */
export async function buildDeclarations(root: string = packageRoot): Promise<void> {
  const builder = join(root, 'build/dist.ts')
  if (existsSync(join(root, 'dist/types')) || !existsSync(builder)) return
  const child = await startProgram([process.execPath, builder, '--if-stale', '--types'], { cwd: root, stdio: 'ignore' })
  await once(child, 'exit')
}
