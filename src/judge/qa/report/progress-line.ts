import { eraseLine, oneLine } from '#text/terminal.ts'
import type { Reporter } from '../result.ts'
import type { ReportTools } from './text.ts'

/** Redraws the line during a run. It is the last of the reporters, so that their output is above it. */
export interface ProgressLine extends Reporter {
  /** Erases the line, so that others may print. */
  clear(): void
}

/** For runs of a thousand short cases. */
const minRedrawIntervalMs = 60

export function createProgressLine({ progress, quiet, now }: ReportTools): ProgressLine {
  const isOn = progress.is_terminal && !quiet
  /** By case and attempt, the oldest first. */
  const running = new Map<string, string>()
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
    const time = `  ${secondsText(now() - started_at_ms)}`
    const room = columns - head.length - bad.length - time.length - 3
    const [oldest = ''] = running.values()
    const name = [...oneLine(oldest)]
    const shown = name.length <= room ? name.join('') : `${name.slice(0, Math.max(0, room - 1)).join('')}…`
    return `${paint.bold(head)}${paint.red(bad)}${paint.dim(time)}${room > 8 ? `  ${shown}` : ''}`
  }

  function draw(): void {
    if (!isOn || total === 0) return
    drawn_at_ms = now()
    isShown = true
    progress.write(`${eraseLine()}${text()}`)
  }
  const drawSoon = () => {
    if (!isShown || now() - drawn_at_ms >= minRedrawIntervalMs) draw()
  }

  const clear = () => {
    if (isShown) progress.write(eraseLine())
    isShown = false
  }
  return {
    start({ cases }) {
      total = cases
      draw()
    },
    begin({ id, attempt }) {
      running.set(`${id}\n${attempt}`, id)
      drawSoon()
    },
    case({ id, attempt, outcome }) {
      running.delete(`${id}\n${attempt}`)
      ended++
      if (outcome === 'failed') failed++
      drawSoon()
    },
    end: clear,
    clear,
  }
}

/** Returns whole seconds: `4 s`, `1 min 2 s`. */
function secondsText(duration_ms: number): string {
  const seconds = Math.floor(duration_ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
