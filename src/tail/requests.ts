/** Requests of the journal as items of a tail: a line in columns that fit the terminal, or the whole exchange. */
import { z } from 'zod'
import { formatMs, paintReason, paintStatus } from '#cli/output/table.ts'
import { jsonText, type Style } from '#cli/output/terminal.ts'
import { alignPairs, brokenLines, cutText, formatTime, formatValue, hangingLines, padEnd } from '#cli/output/text.ts'
import type { RequestItem } from '#contract/resources/requests.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import type { Details, RequestState, TailSource } from './source.ts'

type TailRequest = RequestItem & { seq: number; slot_id: string | null }

const classes = ['2xx', '3xx', '4xx', '5xx', 'none'] as const

export const requestSource: TailSource<TailRequest> = {
  noun: 'request',
  choices: { method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], status: classes },
  has_slot: false,
  groups: classes,
  tallies: ['failed'],
  findGroup: ({ status }) => statusClass(status),
  listTallies: ({ status }) => (status === 0 || status >= 400 ? ['failed'] : []),
  readValue: ({ method, status }, field) =>
    field === 'method' ? method : field === 'status' ? statusClass(status) : null,
  listSearched({ request_id, method, path, status, reason_code, client_id, session_id, slot_id, key_id }) {
    return [request_id, method, path, String(status), reason_code, client_id, session_id, slot_id, key_id]
  },
  renderHead(columns, style) {
    const shown = layoutFor(columns)
    return style.dim(`  ${shown.map(({ name, width }) => pad(name, width)).join(gap)}`)
  },
  renderLine(item, columns, style, isSelected) {
    const cells = layoutFor(columns).map(({ name, width }) => [name, pad(cellOf[name](item), width)] as const)
    if (isSelected) return style.inverse(pad(`› ${cells.map(([, text]) => text).join(gap)}`, columns))
    return `  ${cells.map(([name, text]) => paints[name]?.(text, style) ?? text).join(gap)}`
  },
  details: detailLines,
  readId: ({ request_id }) => request_id,
  readPageId: ({ request_id }) => request_id,
  findRequestId: async ({ request_id }) => request_id,
  describeOutcome: ({ status }) => `responded with ${status}`,
}

function statusClass(status: number): string {
  return status === 0 ? 'none' : `${Math.floor(status / 100)}xx`
}

type ColumnName = 'when' | 'method' | 'path' | 'status' | 'reason' | 'ms' | 'request'
const gap = '  '
/**
 * Each column with its width, and the width of the terminal from which it is shown. The path takes the remaining width.
 */
const layout: readonly { name: ColumnName; width: number; from: number }[] = [
  { name: 'when', width: 8, from: 0 },
  { name: 'method', width: 7, from: 0 },
  { name: 'path', width: 10, from: 0 },
  { name: 'status', width: 6, from: 0 },
  { name: 'reason', width: 20, from: 60 },
  { name: 'ms', width: 7, from: 74 },
  { name: 'request', width: 15, from: 96 },
]

function layoutFor(columns: number): readonly { name: ColumnName; width: number }[] {
  const shown = layout.filter(({ from }) => columns >= from)
  const taken = shown.reduce((sum, { name, width }) => sum + gap.length + (name === 'path' ? 0 : width), 0)
  return shown.map(({ name, width }) => ({ name, width: name === 'path' ? Math.max(width, columns - taken) : width }))
}

const cellOf: Readonly<Record<ColumnName, (item: TailRequest) => string>> = {
  when: ({ at_ms }) => formatTime(at_ms).slice(11, 19),
  method: ({ method }) => formatValue(method),
  path: ({ path }) => formatValue(path),
  status: ({ status }) => formatValue(status),
  reason: ({ reason_code }) => formatValue(reason_code),
  ms: ({ duration_ms }) => formatMs(duration_ms),
  request: ({ request_id }) => formatValue(request_id),
}

const dim = (text: string, style: Style) => style.dim(text)
const paints: Partial<Record<ColumnName, (text: string, style: Style) => string>> = {
  when: dim,
  status: paintStatus,
  reason: (text, style) => (text.trim() === '-' ? style.dim(text) : paintReason(text, style)),
  ms: dim,
  request: dim,
}

/** Pads or cuts a text to exactly `width` columns of the terminal. */
function pad(text: string, width: number): string {
  return padEnd(cutText(text, width), width)
}

function detailLines({ item, request }: Details<TailRequest>, style: Style): string[] {
  const { request_id, at_ms, method, path, status, reason_code, duration_ms } = item
  return [
    style.bold('Request'),
    ...alignPairs(
      [
        ['id', formatValue(request_id)],
        ['call', `${formatValue(method)} ${formatValue(path)}`],
        ['status', paintStatus(formatValue(status), style)],
        ['reason', reason_code === null ? null : formatValue(reason_code)],
        ['when', formatTime(at_ms)],
        ['took', `${formatMs(duration_ms)} ms`],
        ['project', item.client_id],
        ['key', item.key_id ?? item.key],
        ['session', item.session_id],
        ['slot', item.slot_id],
      ],
      style,
      '  ',
    ),
    '',
    ...exchangeLines(request, style, true),
  ]
}

/**
 * Returns the request: the refused fields and why, what to do, and the body. The whole exchange also has the headers
 * and the response, and the caller prints its title.
 */
export function exchangeLines(request: RequestState, style: Style, is_whole = false): string[] {
  if (request.status === 'loading') return [style.dim('Loading the request')]
  if (request.status === 'failed') return [style.red(`The request: ${formatValue(request.reason)}`)]
  if (request.status === 'missing')
    return [style.dim('The journal no longer has the request. svc start --journal-limit keeps more.')]
  const { request_id, status, request_headers, request_body, response_headers, response_body } = request.detail
  const refusal = Refusal.safeParse(parseJson(response_body ?? '')).data
  const failed = refusal?.fields ?? []
  const { columns } = style
  return [
    ...(is_whole
      ? []
      : [
          `${style.bold('Request')} ${request_id}, ${status >= 400 ? style.red(String(status)) : style.green(String(status))}`,
        ]),
    ...failed.flatMap(({ path, message, expected }) =>
      hangingLines(
        `  ${style.red('✗')} ${style.bold(formatValue(path))}: `,
        `${formatValue(message)}${expected === '' ? '' : ` (expected: ${formatValue(expected)})`}`,
        columns,
      ),
    ),
    ...(refusal?.hint ? hangingLines(`  ${style.cyan('hint')}: `, formatValue(refusal.hint), columns) : []),
    ...(is_whole ? ['', style.bold('Sent')] : []),
    ...bodyLines(request_body, new Set(failed.map(({ path }) => path.split(/[.[]/, 1)[0] ?? '')), style),
    ...(is_whole
      ? [
          ...headerLines(request_headers, style),
          '',
          style.bold('Received'),
          ...bodyLines(response_body, new Set(), style),
          ...headerLines(response_headers, style),
        ]
      : []),
  ]
}

function headerLines(headers: Readonly<Record<string, string>>, style: Style): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    brokenLines(`  ${style.cyan(formatValue(name))}${style.dim(':')} `, formatValue(value), style.columns),
  )
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
