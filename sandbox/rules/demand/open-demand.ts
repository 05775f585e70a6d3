/** Opens your own demand for a start, with what is wrong in it as one failure. */

import { SandboxError } from '#sandbox/sandbox-error.ts'
import { SuiteError } from '#yaml/problems.ts'
import { type OwnDemand, readDemandFiles } from './read-demand.ts'

/** @throws SandboxError demand_invalid, whose message has everything that is wrong, a line each */
export async function openDemand(path: string): Promise<OwnDemand> {
  try {
    return await readDemandFiles(path)
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    const count = error.problems.length
    const head = count === 1 ? '' : `${count} problems:\n`
    throw new SandboxError('demand_invalid', head + error.message, 'For an example of a file: svc docs own-ads', {
      cause: error,
    })
  }
}
