/** One line at the foot of a terminal that says how far a run is. Whoever prints takes it away first. */
import type { CaseResult, Outcome, Reporter } from '../result.ts'
import type { ReportTools } from './tools.ts'
import { visible } from './words.ts'

type Running = Pick<CaseResult, 'id' | 'attempt'>

export interface ProgressLine {
  /** Of a run that begins: how many cases are to come. */
  total(cases: number): void
  begin(item: Running): void
  done(item: Running, outcome: Outcome): void
  /** Takes the line away, so that others may print. */
  clear(): void
}

/** Drawings are at least this far apart, for runs of a thousand short cases. */
const apart_ms = 60
const eraseLine = '\r\u001b[K'

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
    begin({ id, attempt }) {
      running.set(`${id}\n${attempt}`, id)
      drawSoon()
    },
    done({ id, attempt }, outcome) {
      running.delete(`${id}\n${attempt}`)
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

/** Whole seconds: `4 s`, `1 min 2 s`. */
function secondsText(duration_ms: number): string {
  const seconds = Math.floor(duration_ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** Draws the line as a run goes on; the last among reporters, so that what they print stands above it. */
export function drawn(progress: ProgressLine): Reporter {
  return {
    start: ({ cases }) => progress.total(cases),
    begin: (item) => progress.begin(item),
    case: (result) => progress.done(result, result.outcome),
    end: () => progress.clear(),
  }
}
