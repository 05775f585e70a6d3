/** `svc team migrate`. */
import { Option } from 'commander'
import { type Command, textOption } from '#cli/run/command.ts'
import { startEnvironment, startFlags } from '#cli/settings/start-options.ts'
import { CliError } from '#text/cli-error.ts'
import { alignPairs } from '#text/text.ts'
import { categories } from '../sandbox/emulator.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Create or migrate the schema of a shared PostgreSQL database',
  details:
    'svc start migrates automatically, under a lock: when several nodes start at once, one of them migrates. Use this command when nodes are not allowed to change the schema, or to test the migration beforehand. A schema from a newer version is refused with exit code 2, and nothing is changed. Database files are backed up and migrated when they are opened.',
  options: [
    startFlags().get('store')!,
    new Option('--namespace <name>', 'namespace to migrate; default: the shared one'),
  ],
  examples: ['team migrate --store postgres://svc@db.internal:5432/svc', 'team migrate --namespace pr-42 -o json'],
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
