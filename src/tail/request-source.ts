/** Requests of the journal as what a tail follows: a line in columns that fit the terminal, or the whole exchange. */
import type { Style } from '../cli/output/style.ts'
import { formatMs, paintReason, paintStatus } from '../cli/output/table.ts'
import { alignPairs, cutText, formatTime, formatValue, padEnd } from '../cli/output/text.ts'
import type { RequestItem } from '../contract/control/requests.ts'
import { exchangeLines } from './exchange-text.ts'
import type { Details, TailSource } from './source.ts'

export type TailRequest = RequestItem & { seq: number; slot_id: string | null }

const classes = ['2xx', '3xx', '4xx', '5xx', 'none'] as const

export const requestSource: TailSource<TailRequest> = {
  noun: 'request',
  choices: { method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], status: classes },
  has_slot: false,
  groups: classes,
  tallies: ['failed'],
  groupOf: ({ status }) => classOf(status),
  talliesOf: ({ status }) => (status === 0 || status >= 400 ? ['failed'] : []),
  valueOf: ({ method, status }, field) => (field === 'method' ? method : field === 'status' ? classOf(status) : null),
  searched({ request_id, method, path, status, reason_code, client_id, session_id, slot_id, key_id }) {
    return [request_id, method, path, String(status), reason_code, client_id, session_id, slot_id, key_id]
  },
  head(columns, style) {
    const shown = layoutFor(columns)
    return style.dim(`  ${shown.map(({ name, width }) => pad(name, width)).join(gap)}`)
  },
  line(item, columns, style, isSelected) {
    const cells = layoutFor(columns).map(({ name, width }) => [name, pad(cellOf[name](item), width)] as const)
    if (isSelected) return style.inverse(pad(`› ${cells.map(([, text]) => text).join(gap)}`, columns))
    return `  ${cells.map(([name, text]) => paints[name]?.(text, style) ?? text).join(gap)}`
  },
  details: detailLines,
  idOf: ({ request_id }) => request_id,
  pageOf: ({ request_id }) => request_id,
  requestOf: async ({ request_id }) => request_id,
  outcomeOf: ({ status }) => `responded with ${status}`,
}

function classOf(status: number): string {
  return status === 0 ? 'none' : `${Math.floor(status / 100)}xx`
}

type ColumnName = 'when' | 'method' | 'path' | 'status' | 'reason' | 'ms' | 'request'
const gap = '  '
/** Each column with its width, and the width of the terminal from which it is shown. The path takes what is left. */
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
