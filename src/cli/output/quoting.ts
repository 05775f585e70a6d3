/** Values quoted for .env files and shells. Each form reads back as the exact value. */
import { CliError } from '../run/errors.ts'

/** Returns `NAME=value` lines for .env files. Throws CliError for a value that they cannot hold. */
export function dotenvLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => `${name}=${dotenvValue(name, value)}`)
}

/** Returns `export NAME='value'` lines for sh, bash, zsh and fish. */
export function shellLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`)
}

/** No escape for quotes works in every reader of .env files, so the value gets quotes that it does not contain. */
function dotenvValue(name: string, value: string): string {
  if (/^[\w./:@%+,=-]*$/.test(value)) return value
  const quote = ["'", '"', '`'].find((candidate) => !value.includes(candidate))
  if (quote === undefined || (quote !== "'" && /[\\$]/.test(value)))
    throw new CliError(
      'usage',
      'value_unquotable',
      `${name} holds quotes that a .env file cannot.`,
      'Try: svc env -o shell',
    )
  return `${quote}${value}${quote}`
}

/** The media type of a command line or a shell script. */
export const shellMediaType = 'text/x-shellscript'
