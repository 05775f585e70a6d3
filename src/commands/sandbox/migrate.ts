/** `svc sandbox migrate`: brings the schema of a shared database to this version, before its nodes start. */
import { Option } from 'commander'
import { alignPairs } from '../../cli/output/text.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import { startEnvironment, startFlags } from '../../cli/settings/start-options.ts'
import { categories } from './start.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Create or migrate the schema of a shared PostgreSQL database',
  details:
    'svc start does the same by itself, under a lock: of several nodes that start together one migrates. Use it where the nodes may not change the schema, or to see beforehand that it works. A schema of a newer version is refused with exit code 2, and nothing is changed. A database file needs no command: it is migrated, and copied before, when it is opened.',
  options: [
    startFlags().get('store')!,
    new Option('--namespace <name>', 'the namespace to migrate; default: the one that all share'),
  ],
  examples: [
    'sandbox migrate --store postgres://svc@db.internal:5432/svc',
    'sandbox migrate --namespace pr-42 -o json',
  ],
  async run({ host, out }, { options }) {
    const store = (options.store as string | undefined) ?? startEnvironment(host.env, new Set(['store'])).store
    if (store === undefined) {
      throw new CliError(
        'usage',
        'option_missing',
        'No database is named.',
        'Give --store postgres://..., or set SVC_STORE.',
      )
    }
    const { migrateStore, SandboxError } = await import('../../../sandbox/index.ts')
    try {
      const migrated = await migrateStore(store, (options.namespace as string | undefined) ?? null)
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
