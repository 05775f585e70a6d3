/** `svc env`: the SVC_* variables by which other programs find the service. */
import { dotenvLines, shellLines } from '../cli/output/quoting.ts'
import type { Command } from '../cli/run/command.ts'
import { CliError } from '../cli/run/errors.ts'
import { severalSandboxesNote } from '../cli/run/session.ts'
import { environmentOf } from '../cli/settings/settings.ts'

export const env: Command = {
  name: 'env',
  summary: 'Print the SVC_* variables of the running sandbox',
  details: [
    'With -o dotenv (the default) as a .env file, with -o shell as export lines, with -o json as one object. The keys are printed in full.',
    'Exit code 7 when no sandbox is running and no service is named.',
  ].join('\n\n'),
  formats: ['dotenv', 'shell'],
  examples: ['env', 'env -o shell', 'env -o json'],
  async run({ settings, flags, out, command_name }) {
    if (settings.source.base_url === 'default') {
      const hint = 'Start one: svc start. Or name a service: --base-url URL.'
      throw new CliError('unreachable', 'sandbox_missing', 'No sandbox is running.', hint)
    }
    const note = severalSandboxesNote(settings, command_name)
    if (note !== null) out.note(note)
    const variables = environmentOf(settings)
    out.data(variables, () => (flags.output === 'shell' ? shellLines : dotenvLines)(variables))
    return 0
  },
}
