/** Lines on stderr about work that is under way, erased when it has ended. */
import { eraseLine, printable, type Style, type SystemStream } from '#text/terminal.ts'

/** A wait is shown after this time. */
const progressDelayMs = 1_000
/** Time between two redraws of a line. */
const redrawMs = 100
const defaultColumns = 80

/**
 * Awaits `work`. If it takes longer than a second, prints what it is waiting for; on a terminal again and again, where the text
 * is a function.
 */
export async function showProgress<T>(
  stream: SystemStream,
  style: () => Style,
  text: string | (() => string),
  work: Promise<T>,
): Promise<T> {
  let isShown = false
  const current = typeof text === 'string' ? () => text : text
  const draw = () => {
    isShown = true
    if (!stream.is_terminal) stream.write(`${printable(current())}\n`)
    else stream.write(`${typeof text === 'string' ? '' : eraseLine()}${style().dim(current())}`)
    if (stream.is_terminal && typeof text !== 'string') timer = setTimeout(draw, redrawMs)
  }
  let timer = setTimeout(draw, progressDelayMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    if (isShown && stream.is_terminal) stream.write(eraseLine())
  }
}

interface Transfer {
  text: string
  /** Null when unknown. */
  total: number | null
}

/** Awaits `work`, which reports the bytes done, and shows them on the terminal. */
export async function showBytes<T>(
  stream: SystemStream,
  { dim }: Style,
  transfer: Transfer,
  work: (done: (bytes: number) => void) => Promise<T>,
): Promise<T> {
  let drawn_at = 0
  const done = (bytes: number) => {
    const now = performance.now()
    if (now - drawn_at < redrawMs && bytes !== transfer.total) return
    drawn_at = now
    stream.write(`${eraseLine()}${dim(bytesLine(transfer, bytes, stream.columns ?? defaultColumns))}`)
  }
  try {
    return await work(done)
  } finally {
    if (drawn_at > 0) stream.write(eraseLine())
  }
}

/** Returns the line of a transfer, cut to the width of the terminal: a wrapped line could not be erased. */
function bytesLine({ text, total }: Transfer, bytes: number, columns: number): string {
  const mega = (count: number) => (count / 1_000_000).toFixed(1)
  // The other side may need longer for them than they took to arrive.
  const isSent = total !== null && bytes >= total
  const amount = total === null ? `${mega(bytes)} MB` : `${mega(bytes)} of ${mega(total)} MB`
  const percent = total === null || total === 0 ? '' : `  ${Math.floor((bytes / total) * 100)} %`
  const figures = isSent ? `  ${mega(total)} MB sent, waiting for the response` : `  ${amount}${percent}`
  return `${text.slice(0, Math.max(0, columns - 1 - figures.length))}${figures}`.slice(0, columns - 1)
}
