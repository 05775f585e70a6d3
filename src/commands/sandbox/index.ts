import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { Noun } from '../../cli/run/command.ts'
import { exitCodes } from '../../cli/run/errors.ts'
import { logs } from '../requests/tail.ts'
import { clock } from './clock.ts'
import { exportCommand, importCommand } from './export.ts'
import { faults } from './faults.ts'
import { scenario } from './scenario.ts'
import { snapshot } from './snapshot.ts'
import { start } from './start.ts'
import { ps, status } from './status.ts'
import { stop } from './stop.ts'

export const sandbox: Noun = {
  summary: 'Start, stop and manage the emulator',
  commands: [
    start,
    stop,
    status,
    ps,
    logs,
    endpointCommand('sandbox.info', { examples: ['sandbox info', 'sandbox info -o json'] }),
    endpointCommand('sandbox.integrity', {
      details: 'Ends with exit code 5 when a check fails.',
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
