/** The charts of a game day as SVG: latency by turn, and billed views over time, with the faults behind them. */
import { html, type Markup } from '#foundation/html.ts'
import { hasReached, type Wait } from './records.ts'
import { type GamedayReport, secondsText } from './report.ts'

const size = { width: 960, height: 260, left: 64, right: 12, top: 30, bottom: 30 }
const plot = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom }
const ground = size.top + plot.height

/** Returns the latency of each turn of both runs, by its start. Turns without an ad are marked on the ground. */
export function latencyChart(report: GamedayReport): Markup {
  const { with: faulted, without } = report.runs
  const known = [...faulted.waits, ...without.waits].flatMap(({ latency_ms }) => latency_ms ?? [])
  const top_ms = niceTop(Math.max(100, ...known))
  const x = scaleTime(report)
  const y = (latency_ms: number) => round(ground - (latency_ms / top_ms) * plot.height)
  const dots = (waits: readonly Wait[], kind: string) =>
    waits.map(({ at_ms, latency_ms }) =>
      latency_ms === null
        ? html`<path class="lost ${kind}" d="M${round(x(at_ms) - 3)} ${ground - 3}l6 6m0 -6l-6 6"/>`
        : html`<circle class="${kind}" cx="${x(at_ms)}" cy="${y(latency_ms)}" r="3"/>`,
    )
  const ticks = [0, top_ms / 2, top_ms].map((value) => ({ y: y(value), text: secondsText(value) }))
  return frame(report, 'Latency of each turn from its planned start', ticks, [
    ...dots(without.waits, 'without'),
    ...dots(faulted.waits, 'with'),
  ])
}

/** Returns the billed views of both runs over time. */
export function billedChart(report: GamedayReport): Markup {
  const buckets = 32
  const bucket_ms = report.length_ms / buckets
  const count = (turns: GamedayReport['runs']['with']['turns']) => {
    const counts = Array.from({ length: buckets }, () => 0)
    for (const turn of turns)
      if (hasReached(turn, 'billed')) counts[Math.min(buckets - 1, Math.floor(turn.at_ms / bucket_ms))]!++
    return counts
  }
  const [without, faulted] = [count(report.runs.without.turns), count(report.runs.with.turns)]
  const top = Math.max(1, ...without, ...faulted)
  const y = (value: number) => round(ground - (value / top) * plot.height)
  const x = scaleTime(report)
  const width = round(plot.width / buckets - 2)
  const bars = (counts: readonly number[], kind: string, inset: number) =>
    counts.map((value, index) =>
      value === 0
        ? null
        : html`<rect class="${kind}" x="${round(x(index * bucket_ms) + 1 + inset)}" y="${y(value)}" width="${round(width - 2 * inset)}" height="${round(ground - y(value))}"/>`,
    )
  const ticks = [0, top].map((value) => ({ y: y(value), text: String(value) }))
  return frame(report, `Billed views, of the turns that start in each ${secondsText(bucket_ms)}`, ticks, [
    ...bars(without, 'without', 0),
    ...bars(faulted, 'with', width / 5),
  ])
}

/** Returns a chart with its title, axes and the faults of the timeline behind it. */
function frame(
  report: GamedayReport,
  title: string,
  ticks: readonly { y: number; text: string }[],
  marks: readonly (Markup | null)[],
): Markup {
  const x = scaleTime(report)
  const right = size.width - size.right
  return html`<figure><figcaption>${title}</figcaption><svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title}, with and without faults. The tables below have the figures.">
${report.timeline.map(
  ({ fault, at_ms, end_ms }, index) =>
    html`<rect class="fault" x="${x(at_ms)}" y="${size.top}" width="${round(x(end_ms) - x(at_ms))}" height="${plot.height}"/><text class="name" x="${x(at_ms)}" y="${size.top - (index % 2 === 0 ? 4 : 17)}">${fault}</text>`,
)}
${ticks.map((tick) => html`<path class="grid" d="M${size.left} ${tick.y}H${right}"/><text class="tick" x="${size.left - 6}" y="${tick.y + 4}" text-anchor="end">${tick.text}</text>`)}
${[0, 0.25, 0.5, 0.75, 1].map((part) => html`<text class="tick" x="${x(part * report.length_ms)}" y="${ground + 18}" text-anchor="${part === 1 ? 'end' : part === 0 ? 'start' : 'middle'}">${secondsText(part * report.length_ms)}</text>`)}
${marks}</svg></figure>
`
}

function scaleTime({ length_ms }: GamedayReport): (at_ms: number) => number {
  return (at_ms) => round(size.left + (at_ms / length_ms) * plot.width)
}

/** Returns the next of 1, 2, 5, 10, 20, ... */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
