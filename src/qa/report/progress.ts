/** One line at the foot of a terminal that says how far a run is. Whoever prints takes it away first. */
import type { Outcome, Reporter } from '../result.ts'
import type { ReportTools } from './tools.ts'
import { durationText, visible } from './words.ts'

export interface ProgressLine {
  /** Of a run that begins: how many cases are to come. */
  total(cases: number): void
  begin(title: string): void
  done(title: string, outcome: Outcome): void
  /** Takes the line away, so that others may print. */
  clear(): void
}

/** Drawings are at least this far apart, for runs of a thousand short cases. */
const apart_ms = 60
const eraseLine = '\r\u001b[K'

export function createProgressLine({ progress, quiet, now }: ReportTools): ProgressLine {
  const isOn = progress.is_terminal && !quiet
  const running = new Set<string>()
  const started_at_ms = now()
  let total = 0
  let ended = 0
  let failed = 0
  let isShown = false
  let drawn_at_ms = Number.NEGATIVE_INFINITY

  function text(): string {
    const { paint, columns = 80 } = progress
    const head = ` ${ended}/${total}`
    const bad = failed === 0 ? '' : `  ${failed} failed`
    const time = `  ${durationText(Math.floor((now() - started_at_ms) / 1000) * 1000).replace(/\.\d+/, '')}`
    const room = columns - head.length - bad.length - time.length - 3
    const [oldest = ''] = running
    const name = [...visible(oldest).replaceAll('\n', ' ')]
    const shown = name.length <= room ? name.join('') : `${name.slice(0, Math.max(0, room - 1)).join('')}…`
    return `${paint.bold(head)}${paint.red(bad)}${paint.dim(time)}${room > 8 ? `  ${shown}` : ''}`
  }

  function draw(): void {
    if (!isOn || total === 0) return
    drawn_at_ms = now()
    isShown = true
    progress.write(`${eraseLine}${text()}`)
  }
  const drawSoon = () => {
    if (!isShown || now() - drawn_at_ms >= apart_ms) draw()
  }

  return {
    total(cases) {
      total = cases
      draw()
    },
    begin(title) {
      running.add(title)
      drawSoon()
    },
    done(title, outcome) {
      running.delete(title)
      ended++
      if (outcome === 'failed') failed++
      drawSoon()
    },
    clear() {
      if (isShown) progress.write(eraseLine)
      isShown = false
    },
  }
}

/** Draws the line as a run goes on; the last among reporters, so that what they print stands above it. */
export function drawn(progress: ProgressLine): Reporter {
  return {
    start: ({ cases }) => progress.total(cases),
    begin: ({ id }) => progress.begin(id),
    case: ({ id, outcome }) => progress.done(id, outcome),
    end: () => progress.clear(),
  }
}
