/** Global setup of `npm run test:templates`: the installers, old Nodes and examiners of the `package.json` beside this file. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { installTools } from '../interop/tools.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder whose `node_modules` has installers and releases of Node. */
    installers: string
  }
}

export default async function setup({ provide }: TestProject): Promise<void> {
  provide('installers', await installTools(tmpdir(), {}, join(import.meta.dirname, 'package.json'), 'test:templates'))
}
