/** Values quoted for other programs: .env files, shells and curl command lines. Each form reads back as the exact value. */
import type { HttpRequest } from '../../client/exchange.ts'
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

/** Stands for a key that must not be printed. The shell replaces it. */
export const secretKeyVariable = '$SVC_SECRET_KEY'

/** A request of any method. */
type AnyRequest = Omit<HttpRequest, 'method'> & { method: string }

/**
 * Returns the curl command that sends the same request. The shell replaces `variables`, such as `$ASSET_TOKEN`, wherever
 * they occur, and `$SVC_SECRET_KEY` in headers.
 */
export function curlCommand({ method, url, headers, body }: AnyRequest, variables: readonly string[] = []): string {
  return [
    `curl -sS -X ${method} ${quote(url, variables)}`,
    ...Object.entries(headers)
      .filter(([name]) => name !== 'accept')
      .map(([name, value]) => `-H ${quote(`${name}: ${value}`, [secretKeyVariable, ...variables])}`),
    ...(typeof body === 'string' ? [`--data-raw ${quote(body, variables, true)}`] : []),
  ].join(' \\\n  ')
}

/**
 * Quotes a text for a shell, except for variables, which the shell replaces. A body keeps its lines; in an address or a header
 * a control character is an escape of bash and zsh, so that no text begins a line of its own.
 */
function quote(text: string, variables: readonly string[], isBody = false): string {
  const hasControls = !isBody && /\p{Cc}/u.test(text)
  const open = hasControls ? "$'" : "'"
  const inner = hasControls
    ? text
        .replace(/[\\']/g, '\\$&')
        .replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text.replaceAll("'", "'\\''")
  const quoted = `${open}${inner}'`
  return [...new Set(variables)].reduce((all, name) => all.replaceAll(name, () => `'"${name}"${open}`), quoted)
}
