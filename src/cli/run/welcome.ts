/** What `svc` alone prints: whether the sandbox of this folder runs, and what to type next. */
import { chooseSandbox, findRoot, type SandboxChoice } from '../settings/sandbox-folder.ts'
import { runningSandboxes, stateDirectory } from '../settings/state-directory.ts'
import { noSandboxFor } from './errors.ts'
import type { System } from './system.ts'

/** A command, without its program, and what it does. */
export type Step = readonly [command: string, text: string]

/** Returns a sentence about the sandbox of this folder, and the next steps. */
export async function readWelcome(system: System): Promise<{ state: string; steps: readonly Step[] }> {
  const running = await runningSandboxes(stateDirectory(system), system)
  const choice = chooseSandbox(running, findRoot(system.cwd))
  return { state: describeChoice(choice), steps: choice.sandbox === null || choice.isOther ? startSteps : runningSteps }
}

function describeChoice({ sandbox, isOther, several }: SandboxChoice): string {
  if (several.length > 0) return noSandboxFor({ several }).message
  if (sandbox === null) return 'No sandbox is running.'
  if (isOther) return `No sandbox of this folder is running. Commands use that of ${sandbox.folder}: ${sandbox.url}`
  return `The sandbox of this folder runs at ${sandbox.url}`
}

const startSteps: readonly Step[] = [
  ['start', 'start the sandbox of this folder'],
  ['--help', 'see the commands'],
]

const runningSteps: readonly Step[] = [
  ['trigger', 'play a whole turn: placement, frame, beacons'],
  ['open', 'open the inspector'],
  ['--help', 'see the commands'],
]
