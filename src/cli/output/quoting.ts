/** Variables as other programs read them. Each form gives back exactly the values that it was given. */
import { CliError } from '../run/cli-error.ts'

/** `NAME=value` for .env files. */
export function dotenvLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => `${name}=${dotenvValue(name, value)}`)
}

/** `export NAME='value'` for sh, bash, zsh and fish. */
export function shellLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`)
}

/** .env files have no escape for a quote that every reader knows, so the quotes are those that the value has not. */
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
