import { Option } from 'commander'
import { callEndpoint, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { alignPairs } from '../../cli/output/text.ts'
import type { Noun, Session } from '../../cli/run/command.ts'
import { CliError, exitCodes } from '../../cli/run/errors.ts'
import { canAsk, confirm } from '../prompt.ts'
import { logs } from '../requests/tail.ts'
import { clock, faults, scenario } from './conditions.ts'
import { migrate } from './migrate.ts'
import { ps, status, stop } from './running.ts'
import { start } from './start.ts'
import { exportCommand, importCommand, snapshot } from './state.ts'

const reset = endpointCommand('sandbox.reset', {
  details:
    'On a terminal it asks first when the database is a file. Without a terminal, or with --no-input, it does not ask: scripts reset between tests.',
  options: [new Option('-y, --yes', 'do not ask')],
  examples: ['sandbox reset --yes', 'sandbox reset -o none'],
  input: async (session, { options }) => {
    if (options.yes !== true && canAsk(session)) await confirmReset(session)
    return { body: {} }
  },
  text: () => ['Reset to the seed.'],
})

/** Asks before a file is reset. Throws CliError unless the answer is yes. */
async function confirmReset(session: Session): Promise<void> {
  const { data } = await callEndpoint(session, 'sandbox.info', {})
  if (data.database === ':memory:') return
  if (await confirm(session, `Delete everything recorded in ${data.database} (${data.url})?`)) return
  throw new CliError(
    'usage',
    'not_confirmed',
    'Nothing was reset.',
    'To reset without being asked: svc sandbox reset --yes',
  )
}

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
      text: ({ database, evidence }, _meta, style) => {
        const entries = evidence.chains.reduce((sum, chain) => sum + chain.entries, 0)
        const broken = evidence.chains.filter(({ problem }) => problem !== null)
        const intact = `${evidence.chains.length} chains with ${entries} entries hold`
        return alignPairs(
          [
            ['database', database.ok ? style.green('intact') : null],
            ...database.problems.map((problem) => ['database', style.red(problem)] as const),
            ['evidence', broken.length === 0 ? style.green(intact) : null],
            ...broken.map(({ client_id, problem }) => ['evidence', style.red(`${client_id}: ${problem}`)] as const),
          ],
          style,
        )
      },
      exitCode: ({ ok }) => (ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code),
    }),
    reset,
    snapshot,
    exportCommand,
    importCommand,
    migrate,
    clock,
    faults,
    scenario,
  ],
}
