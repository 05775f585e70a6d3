/** `svc sandbox env` prints the SVC_* variables of the running sandbox. */
import type { Output } from '#cli/output/output.ts'
import type { Command } from '#cli/run/command.ts'
import { noteOtherFolder } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import type { System } from '#cli/run/system.ts'
import { permittedSecretKey, type Settings, toEnvironment } from '#cli/settings/settings.ts'
import { stateDirectory } from '#cli/settings/state-directory.ts'
import { CliError } from '#text/cli-error.ts'

export const env: Command = {
  name: 'env',
  summary: 'Print the SVC_* variables of the running sandbox',
  details: [
    'With -o dotenv (the default) as a .env file, with -o shell as export lines, with -o json as one object. The keys are printed in full. For a sandbox with https, also the variables that make Node, curl, Python, Ruby and Go accept its certificate beside their own.',
    'Exit code 7 when no sandbox is running and no service is named.',
  ].join('\n\n'),
  formats: ['dotenv', 'shell'],
  examples: ['sandbox env', 'sandbox env -o shell', 'sandbox env -o json'],
  async run({ settings, system, flags, out }) {
    if (settings.source.base_url === 'default') throw noSandboxFor(settings)
    noteOtherFolder(system, settings)
    // Another program will send the key to the base URL printed next to it.
    permittedSecretKey(settings)
    const variables = { ...toEnvironment(settings), ...(await certificateVariables(settings, system, out)) }
    out.data(variables, () => (flags.output === 'shell' ? shellLines : dotenvLines)(variables))
    return 0
  },
}

/**
 * Resolves to the variables that let programs accept the certificate of the sandbox; none for http. Their files stay, in
 * the state directory, since the programs run later.
 */
async function certificateVariables(
  { sandbox }: Settings,
  system: System,
  out: Output,
): Promise<Record<string, string>> {
  if (sandbox?.certificate === undefined) return {}
  const { readCertificateFile } = await import('#cli/process/certificate.ts')
  const { keptFolder, trustForPrograms } = await import('#cli/process/trust.ts')
  const certificate = readCertificateFile(sandbox.certificate)
  if (certificate === null) return {}
  const folder = () => keptFolder(stateDirectory(system), certificate)
  const { variables, notes } = await trustForPrograms(certificate, system.env, folder)
  for (const note of notes) out.note(`warning: ${note}`)
  return variables
}

/** Returns `NAME=value` lines for .env files. Throws CliError for a value that they cannot contain. */
function dotenvLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => `${name}=${dotenvValue(name, value)}`)
}

/** Returns `export NAME='value'` lines for sh, bash, zsh and fish. */
function shellLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`)
}

/** No escape for quotes works in every .env reader, so the value is enclosed in quotes that it does not contain. */
function dotenvValue(name: string, value: string): string {
  if (/^[\w./:@%+,=-]*$/.test(value)) return value
  const quote = ["'", '"', '`'].find((candidate) => !value.includes(candidate))
  if (quote === undefined || (quote !== "'" && /[\\$]/.test(value)))
    throw new CliError(
      'usage',
      'value_unquotable',
      `${name} contains quotes that a .env file cannot hold.`,
      'Try: svc sandbox env -o shell',
    )
  return `${quote}${value}${quote}`
}
