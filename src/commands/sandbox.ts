import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { exitCodes } from '../cli/exit-codes.ts'
import { logs } from './requests-tail.ts'
import { clock } from './sandbox-clock.ts'
import { exportCommand, importCommand } from './sandbox-export.ts'
import { faults } from './sandbox-faults.ts'
import { ps } from './sandbox-ps.ts'
import { scenario } from './sandbox-scenario.ts'
import { snapshot } from './sandbox-snapshot.ts'
import { start } from './sandbox-start.ts'
import { status } from './sandbox-status.ts'
import { stop } from './sandbox-stop.ts'

export { start }

export const sandbox: CommandGroup = {
  name: 'sandbox',
  summary: 'Start, stop and look after the emulator',
  commands: [
    start,
    stop,
    status,
    ps,
    logs,
    endpointCommand('sandbox.info', { examples: ['sandbox info', 'sandbox info -o json'] }),
    endpointCommand('sandbox.integrity', {
      details: 'What does not hold is exit code 5.',
      examples: ['sandbox integrity', 'sandbox integrity -o json'],
      exitCode: ({ ok }) => (ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code),
    }),
    endpointCommand('sandbox.reset', { examples: ['sandbox reset', 'sandbox reset -o none'] }),
    snapshot,
    exportCommand,
    importCommand,
    clock,
    faults,
    scenario,
  ],
}
