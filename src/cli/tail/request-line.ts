/** A request of the journal as one line, for output that is not a screen. */

import type { RequestItem } from '#contract/resources/requests.ts'
import { paintStatus } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { cutText, formatValue, padEnd, timeText } from '#text/text.ts'

/** Returns the line: on a terminal, its path is cut to the width. */
export function requestLine(
  { at_ms, method, path, status, reason_code, request_id }: RequestItem,
  style: Style,
): string {
  const time = timeText(at_ms, style, true)
  const reason = reason_code ?? ''
  const call = `${formatValue(method)} ${formatValue(path)}`
  const others = [time, formatValue(status), reason, request_id].filter((part) => part !== '')
  const room = (style.columns ?? Number.POSITIVE_INFINITY) - others.reduce((sum, part) => sum + part.length + 2, 0)
  return [
    style.dim(time),
    paintStatus(formatValue(status), style),
    Number.isFinite(room) ? padEnd(cutText(call, Math.max(12, room)), Math.min(room, 24)) : call,
    ...(reason === '' ? [] : [style.yellow(reason)]),
    style.dim(request_id),
  ].join('  ')
}
