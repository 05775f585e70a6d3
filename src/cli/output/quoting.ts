/** Values quoted for other programs: .env files, shells and curl command lines. Each form reads back as the exact value. */
import type { HttpRequest } from '../../client/request.ts'
import { CliError } from '../run/errors.ts'

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

/** The media type of a command line or a script of a shell. */
export const shellMediaType = 'text/x-shellscript'

/** Stands for a key that is not to be printed; the shell puts it in. */
export const secretKeyVariable = '$SVC_SECRET_KEY'

/** A request of any method. */
type AnyRequest = Omit<HttpRequest, 'method'> & { method: string }

/**
 * The curl command that sends the same request. `variables`, such as `$ASSET_TOKEN`, are put in by the shell wherever they
 * stand; `$SVC_SECRET_KEY` in headers always is.
 */
export function curlCommand({ method, url, headers, body }: AnyRequest, variables: readonly string[] = []): string {
  return [
    `curl -sS -X ${method} ${quote(url, variables)}`,
    ...Object.entries(headers)
      .filter(([name]) => name !== 'accept')
      .map(([name, value]) => `-H ${quote(`${name}: ${value}`, [secretKeyVariable, ...variables])}`),
    ...(typeof body === 'string' ? [`--data-raw ${quote(body, variables)}`] : []),
  ].join(' \\\n  ')
}

/** Quoted for a POSIX shell, but for variables, which it replaces by their values. */
function quote(text: string, variables: readonly string[]): string {
  const quoted = `'${text.replaceAll("'", "'\\''")}'`
  return [...new Set(variables)].reduce((all, name) => all.replaceAll(name, () => `'"${name}"'`), quoted)
}
