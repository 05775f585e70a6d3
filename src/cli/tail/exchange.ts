/** The request of a beacon, in its details: what was refused and why, and the body. */
import { z } from 'zod'
import { isObject, parseJson } from '#foundation/json.ts'
import { jsonText, type Style } from '#text/terminal.ts'
import { brokenLines, formatValue, hangingLines } from '#text/text.ts'
import type { RequestState } from './source.ts'

/** Returns the request: the refused fields and why, what to do, and the body. */
export function exchangeLines(request: RequestState, style: Style): string[] {
  if (request.status === 'loading') return [style.dim('Loading the request')]
  if (request.status === 'failed') return [style.red(`The request: ${formatValue(request.reason)}`)]
  if (request.status === 'missing')
    return [style.dim('The journal no longer has the request. svc start --journal-limit keeps more.')]
  const { request_id, status, request_body, response_body } = request.detail
  const refusal = Refusal.safeParse(parseJson(response_body ?? '')).data
  const failed = refusal?.fields ?? []
  const { columns } = style
  return [
    `${style.bold('Request')} ${request_id}, ${status >= 400 ? style.red(String(status)) : style.green(String(status))}`,
    ...failed.flatMap(({ path, message, expected }) =>
      hangingLines(
        `  ${style.red('✗')} ${style.bold(formatValue(path))}: `,
        `${formatValue(message)}${expected === '' ? '' : ` (expected: ${formatValue(expected)})`}`,
        columns,
      ),
    ),
    ...(refusal?.hint ? hangingLines(`  ${style.cyan('hint')}: `, formatValue(refusal.hint), columns) : []),
    ...bodyLines(request_body, new Set(failed.map(({ path }) => path.split(/[.[]/, 1)[0] ?? '')), style),
  ]
}

const Refusal = z.object({
  fields: z.array(z.object({ path: z.string(), message: z.string(), expected: z.string() })).default([]),
  hint: z.string().nullable().default(null),
})

/** Returns the body with a mark at each refused field. A body that is not JSON is shown as text. */
function bodyLines(body: string | null, failed: ReadonlySet<string>, style: Style): string[] {
  if (body === null || body === '') return [style.dim('  no body')]
  const value = parseJson(body)
  if (!isObject(value)) return body.split('\n').flatMap((line) => brokenLines('  ', formatValue(line), style.columns))
  return Object.entries(value).flatMap(([name, field]) => {
    const isFailed = failed.has(name)
    const [first = '', ...rest] = jsonText(field, 2).split('\n')
    const label = `${formatValue(name)}:`
    return [
      ...(isFailed
        ? brokenLines('  ✗ ', `${label} ${first}`, style.columns).map(style.red)
        : brokenLines(`    ${style.dim(label)} `, first, style.columns)),
      ...rest.flatMap((more) => brokenLines('    ', more, style.columns)),
    ]
  })
}
