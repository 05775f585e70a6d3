/** Global setup of `npm run test:templates`: where tools are installed, before the run gets a temporary folder of its own. */
import { tmpdir } from 'node:os'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The temporary folder of the system, where later runs find what one has installed. */
    system_tmp: string
  }
}

export default function setup({ provide }: TestProject): void {
  provide('system_tmp', tmpdir())
}
