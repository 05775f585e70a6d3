import { type Check, ok, problem } from './finding.ts'
import type { Machine } from './machine.ts'

/** The oldest Node that runs svc; a test compares it with package.json. */
export const oldestNode = '22.19'

export const nodeVersion: Check<Pick<Machine, 'node_version'>> = {
  name: 'node',
  find: ({ node_version }) => {
    const [major = 0, minor = 0] = node_version.split('.').map(Number)
    const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
    return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
      ? [ok(`Node ${node_version}.`)]
      : [
          problem(
            `Node ${node_version} is too old: svc needs ${oldestNode} or later.`,
            'Install a current Node: nvm install --lts, or from https://nodejs.org.',
          ),
        ]
  },
}
