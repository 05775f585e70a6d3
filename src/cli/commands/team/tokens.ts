/** `svc team tokens`: access for a team. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { type Command, type CommandGroup, textOption } from '#cli/run/command.ts'
import { startEnvironment, startFlags } from '#cli/settings/start-options.ts'
import { CliError } from '#text/cli-error.ts'
import { paintReason } from '#text/table.ts'
import { alignPairs } from '#text/text.ts'

const store = startFlags().get('store')!

/** A new admin token for anyone with access to the database of a shared sandbox. */
const resetAdmin: Command = {
  name: 'reset-admin',
  summary: 'Replace the admin token, using access to the database',
  details:
    'For a shared store whose admin token is lost. Connects to the database of --store or SVC_STORE, revokes the tokens that the first start or this command created, and creates a new one. Tokens from svc team tokens create stay valid.',
  options: [store],
  examples: [
    'team tokens reset-admin --store postgres://svc:secret@db.internal/svc',
    'team tokens reset-admin --store postgres://svc@db.internal/svc -o json',
  ],
  async run({ system, out }, { options }) {
    const url = textOption(options, 'store') ?? startEnvironment(system.env, new Set(['store'])).store
    if (url === undefined) {
      const hint = 'A sandbox with a database file prints its admin token on every start.'
      throw new CliError('usage', 'option_missing', 'Name the database: --store URL, or SVC_STORE.', hint)
    }
    const { resetAdminToken, SandboxError } = await import('#sandbox/index.ts')
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

export const tokens: CommandGroup = {
  name: 'tokens',
  summary: 'List, create and revoke the tokens of the control plane',
  commands: [
    endpointCommand('tokens.list', {
      empty: 'No tokens yet. Create one: svc team tokens create --name ci --role write',
      examples: ['team tokens list', 'team tokens list -o jsonl'],
      columns: [
        { name: 'name', kind: 'id' },
        { name: 'role' },
        { name: 'created', field: 'created_at_ms', kind: 'time' },
        { name: 'revoked', field: 'revoked_at_ms', kind: 'time', paint: paintReason },
      ],
    }),
    endpointCommand('tokens.create', {
      details:
        'Clients send it in the x-sandbox-token header. Commands take it from --control-token or SVC_CONTROL_TOKEN.',
      examples: ['team tokens create --name ci --role write', 'team tokens create --name dashboard -o json'],
      text: ({ name, role, token }, style) => [
        ...alignPairs(
          [
            ['name', name],
            ['role', role],
            ['token', style.bold(token)],
          ],
          style,
        ),
        '',
        'It is shown only now: the sandbox stores only its hash.',
      ],
    }),
    endpointCommand('tokens.revoke', { examples: ['team tokens revoke ci', 'team tokens revoke ci -o none'] }),
    resetAdmin,
  ],
}
