import { type Check, ok, warning } from './finding.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

export const versionMatch: Check<Pick<SandboxFacts, 'info' | 'version' | 'command_name'>> = {
  name: 'version',
  find: ({ info, version, command_name }) => [
    info.version === version
      ? ok(`The sandbox is svc ${version}.`)
      : warning(
          `The sandbox is svc ${info.version}, this command line is ${version}.`,
          `Restart it: ${command_name} sandbox stop, then ${command_name} start`,
        ),
  ],
}
