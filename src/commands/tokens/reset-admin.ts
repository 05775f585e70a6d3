/** `svc tokens reset-admin`: a new admin token for the holder of the database of a shared sandbox. */

import { alignPairs } from '../../cli/output/text.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import { startEnvironment, startFlags } from '../../cli/settings/start-options.ts'

const store = startFlags().get('store')!

export const resetAdmin: Command = {
  name: 'reset-admin',
  summary: 'Replace the admin token, with access to the database',
  details:
    'For a shared store whose admin token is lost. Connects to the database of --store or SVC_STORE, revokes the tokens that the first start or this command has made, and creates another. Tokens of svc tokens create stay as they are.',
  options: [store],
  examples: [
    'tokens reset-admin --store postgres://svc:secret@db.internal/svc',
    'tokens reset-admin --store postgres://svc@db.internal/svc -o json',
  ],
  async run({ host, out }, { options }) {
    const url = (options.store as string | undefined) ?? startEnvironment(host.env, new Set(['store'])).store
    if (url === undefined) {
      const hint = 'A sandbox with a database file prints its admin token at each start.'
      throw new CliError('usage', 'option_missing', 'Name the database: --store URL, or SVC_STORE.', hint)
    }
    const { resetAdminToken, SandboxError } = await import('../../../sandbox/index.ts')
    try {
      const created = await out.progress('connecting to the database', resetAdminToken(url))
      out.item(created, (style) =>
        alignPairs(
          [
            ['name', created.name],
            ['token', style.bold(created.token)],
          ],
          style,
        ),
      )
      return 0
    } catch (error) {
      if (error instanceof SandboxError) throw new CliError('usage', error.code, error.message, error.hint)
      throw error
    }
  },
}
