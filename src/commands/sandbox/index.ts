import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { CommandGroup } from '../../cli/run/command.ts'
import { exitCodes } from '../../cli/run/errors.ts'
import { logs } from '../requests/tail.ts'
import { clock } from './clock.ts'
import { exportCommand, importCommand } from './export.ts'
import { faults } from './faults.ts'
import { ps } from './ps.ts'
import { scenario } from './scenario.ts'
import { snapshot } from './snapshot.ts'
import { start } from './start.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'

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
