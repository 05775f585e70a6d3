import type { HttpRequest } from '../client/request.ts'

/** The media type of a command line or a script of a shell. */
export const shellMediaType = 'text/x-shellscript'

/** Stands for a key that is not to be printed; the shell puts it in. */
export const secretKeyVariable = '$SVC_SECRET_KEY'

/** The curl command that sends the same request. */
export function curlCommand({ method, url, headers, body }: HttpRequest): string {
  return [
    `curl -sS -X ${method} ${quote(url)}`,
    ...Object.entries(headers)
      .filter(([name]) => name !== 'accept')
      .map(([name, value]) => `-H ${quoteHeader(`${name}: ${value}`)}`),
    ...(typeof body === 'string' ? [`--data-raw ${quote(body)}`] : []),
  ].join(' \\\n  ')
}

function quoteHeader(header: string): string {
  return quote(header).replace(secretKeyVariable, `'"${secretKeyVariable}"'`)
}

/** Quoted for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
