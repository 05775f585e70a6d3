import type { HttpRequest } from '../../client/request.ts'

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
