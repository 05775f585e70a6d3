/** `svc sandbox`: resets and migrates it. The other verbs are in the files next to this one. */
import { Option } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { alignPairs } from '#cli/output/text.ts'
import { type Command, type CommandContext, type Noun, textOption } from '#cli/run/command.ts'
import { CliError, exitCodes } from '#cli/run/errors.ts'
import { startEnvironment, startFlags } from '#cli/settings/start-options.ts'
import { canAsk, confirm } from '../prompt.ts'
import { logs } from '../requests/tail.ts'
import { exportCommand, importCommand } from './archive.ts'
import { clock } from './clock.ts'
import { asEarlierName } from './earlier-name.ts'
import { categories } from './emulator.ts'
import { faults } from './faults.ts'
import { ps } from './ps.ts'
import { scenario } from './scenarios.ts'
import { snapshot } from './snapshots.ts'
import { start } from './start.ts'
import { integrityPairs, status } from './status.ts'
import { stop } from './stop.ts'

const reset = endpointCommand('sandbox.reset', {
  details:
    'On a terminal it asks first if the database is a file. Without a terminal, or with --no-input, it does not ask, because scripts reset between tests.',
  options: [new Option('-y, --yes', 'do not ask')],
  examples: ['sandbox reset --yes', 'sandbox reset -o none'],
  input: async (context, { options }) => {
    if (options.yes !== true && canAsk(context)) await confirmReset(context)
    return { body: {} }
  },
  text: () => ['Reset to the seed.'],
})

/** Asks before a file is reset. Throws CliError unless the answer is yes. */
async function confirmReset(context: CommandContext): Promise<void> {
  const { data } = await callEndpoint(context, 'sandbox.info', {})
  if (data.database === ':memory:') return
  if (await confirm(context, `Delete everything recorded in ${data.database} (${data.url})?`)) return
  throw new CliError('usage', 'not_confirmed', 'Nothing was reset.', 'To skip the question: svc sandbox reset --yes')
}

const metrics = endpointCommand('sandbox.metrics', {
  details: 'The guide shows how Prometheus is pointed at it: svc docs metrics',
  examples: ['sandbox metrics', 'sandbox metrics -q'],
})

const migrate: Command = {
  name: 'migrate',
  summary: 'Create or migrate the schema of a shared PostgreSQL database',
  details:
    'svc start migrates automatically, under a lock: when several nodes start at once, one of them migrates. Use this command when nodes are not allowed to change the schema, or to test the migration beforehand. A schema from a newer version is refused with exit code 2, and nothing is changed. Database files are backed up and migrated when they are opened.',
  options: [
    startFlags().get('store')!,
    new Option('--namespace <name>', 'namespace to migrate; default: the shared one'),
  ],
  examples: [
    'sandbox migrate --store postgres://svc@db.internal:5432/svc',
    'sandbox migrate --namespace pr-42 -o json',
  ],
  async run({ system, out }, { options }) {
    const store = textOption(options, 'store') ?? startEnvironment(system.env, new Set(['store'])).store
    if (store === undefined) {
      throw new CliError(
        'usage',
        'option_missing',
        'No database is named.',
        'Give --store postgres://..., or set SVC_STORE.',
      )
    }
    const { migrateStore, SandboxError } = await import('#sandbox/index.ts')
    try {
      const migrated = await migrateStore(store, textOption(options, 'namespace') ?? null)
      const { from_version, to_version } = migrated
      const what =
        from_version === to_version ? 'up to date' : from_version === 0 ? 'created' : `migrated from ${from_version}`
      out.item(migrated, (style) =>
        alignPairs(
          [
            ['database', migrated.database],
            ['schema', migrated.schema],
            ['version', `${to_version}, ${what}`],
          ],
          style,
        ),
      )
      return 0
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error
      throw new CliError(categories[error.code], error.code, error.message, error.hint)
    }
  },
}

export const sandbox: Noun = {
  summary: 'Start, stop and manage the emulator',
  commands: [
    start,
    stop,
    status,
    ps,
    logs,
    asEarlierName(
      'sandbox status',
      endpointCommand('sandbox.info', { examples: ['sandbox info', 'sandbox info -o json'] }),
    ),
    asEarlierName(
      'sandbox status --check',
      endpointCommand('sandbox.integrity', {
        details: 'Ends with exit code 5 when a check fails.',
        examples: ['sandbox integrity', 'sandbox integrity -o json'],
        text: (integrity, style) => alignPairs(integrityPairs(integrity, style), style),
        exitCode: ({ ok }) => (ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code),
      }),
    ),
    metrics,
    reset,
    snapshot,
    exportCommand,
    importCommand,
    migrate,
    clock,
    faults,
    scenario,
    { name: 'gameday', load: async () => (await import('../gameday/index.ts')).gameday },
  ],
}
