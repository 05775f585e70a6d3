import { type Check, ok, problem } from './finding.ts'
import type { Machine } from './machine.ts'

export const stateDirectoryCheck: Check<Pick<Machine, 'state_directory'>> = {
  name: 'state directory',
  find: ({ state_directory: { path, problem: why } }) => [
    why === null
      ? ok(`${path} can be written.`)
      : problem(
          `${path} cannot be written: ${why}.`,
          'Make it writable by you, or set SVC_HOME to a directory that is.',
        ),
  ],
}
