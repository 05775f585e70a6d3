/** Charts over time, drawn by uPlot, which is loaded when the first one is shown; the rates of the last minute are one. */
import { useEffect, useRef, useState } from 'react'
import type uPlot from 'uplot'
import { useTheme } from '../app/theme.ts'
import { useSession } from '../data/api.ts'
import { isReplaced, type SandboxEvent, useRecentEvents } from '../data/live.ts'
import { useResource } from '../data/resource.ts'
import { Figure, type Filters } from './Figures.tsx'
import { Panel } from './Page.tsx'

interface Series {
  label: string
  /** A custom property of the theme: `--good`. */
  color: string
  values: readonly (number | null)[]
}

interface ChartProps {
  /** A description for screen readers. */
  label: string
  /** Epoch milliseconds, ascending; for bars, one per day. */
  times_ms: readonly number[]
  series: readonly Series[]
  height_px?: number
  /** Bars are stacked. Default line. */
  kind?: 'line' | 'bars'
  /** Without axes and legend. */
  isSparkline?: boolean
}

export function Chart({ label, times_ms, series, height_px = 200, kind = 'line', isSparkline = false }: ChartProps) {
  const element = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot>(undefined)
  const { shown: theme } = useTheme()
  const data: uPlot.AlignedData = [
    times_ms.map((at_ms) => at_ms / 1_000),
    ...(kind === 'bars' ? stacked(series) : series.map(({ values }) => [...values])),
  ]
  const latest = useRef(data)
  latest.current = data
  const shape = JSON.stringify([series.map(({ label, color }) => [label, color]), height_px, kind, isSparkline, theme])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape stands for what the chart is made of
  useEffect(() => {
    const parent = element.current
    if (parent === null) return
    let isGone = false
    let observer: ResizeObserver | undefined
    void import('uplot').then(({ default: UPlot }) => {
      if (isGone) return
      const style = getComputedStyle(document.documentElement)
      const color = (name: string) => resolveColor(parent, name, style)
      const paths = kind === 'bars' ? UPlot.paths.bars?.({ size: [0.7, 60], align: 0 }) : UPlot.paths.spline?.()
      const axis = { stroke: color('--faint'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
      chart.current = new UPlot(
        {
          width: parent.clientWidth,
          height: height_px,
          ...(isSparkline && { padding: [4, 0, 4, 0] as [number, number, number, number] }),
          cursor: { show: !isSparkline },
          legend: { show: false },
          scales: {
            ...(kind === 'bars' && { x: { range: (_, min, max) => [min - halfDayS, max + halfDayS] } }),
            y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
          },
          axes: isSparkline
            ? [{ show: false }, { show: false }]
            : [
                {
                  ...axis,
                  ...(kind === 'bars' && {
                    splits: (chart: uPlot) => [...(chart.data[0] ?? [])],
                    values: dayLabels,
                  }),
                },
                { ...axis, size: 52, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] },
              ],
          series: [
            {},
            ...(kind === 'bars' ? series.toReversed() : series).map(({ label, color: name }) => {
              const stroke = color(name)
              const fill = stroke.replace(/^rgb\((.*)\)$/, kind === 'bars' ? 'rgb($1)' : 'rgba($1, 0.12)')
              return {
                label,
                stroke,
                fill,
                width: kind === 'bars' ? 0 : 1.5,
                points: { show: false },
                ...(paths !== undefined && { paths }),
              }
            }),
          ],
        },
        latest.current,
        parent,
      )
      observer = new ResizeObserver(() => chart.current?.setSize({ width: parent.clientWidth, height: height_px }))
      observer.observe(parent)
    })
    return () => {
      isGone = true
      observer?.disconnect()
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [shape])

  useEffect(() => chart.current?.setData(data))
  return (
    <>
      <div
        ref={element}
        className={isSparkline ? 'chart sparkline' : 'chart'}
        role="img"
        aria-label={label}
        style={{ minHeight: height_px }}
      />
      {!isSparkline && (
        <ul className="chart-legend bar center" aria-hidden="true">
          {series.map(({ label, color }) => (
            <li key={label} className="bar soft">
              <span className="swatch" style={{ background: `var(${color})` }} />
              {label}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const halfDayS = 43_200
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

const dayLabelPx = 60

/** Returns the label of each bar. Where they would be too close, only every second or third from the newest has one. */
function dayLabels({ width }: uPlot, splits: number[]): string[] {
  const every = Math.max(1, Math.ceil((splits.length * dayLabelPx) / width))
  return splits.map((at_s, index) => ((splits.length - 1 - index) % every === 0 ? day.format(at_s * 1_000) : ''))
}

/** Returns the cumulative sums of the series, the largest first, as they are drawn over each other. */
function stacked(series: readonly Series[]): number[][] {
  const sums: number[][] = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)))
  }
  return sums.toReversed()
}

/** A canvas does not support custom properties or light-dark(): the browser resolves them on an element. */
function resolveColor(parent: HTMLElement, name: string, style: CSSStyleDeclaration): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  parent.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color === '' ? style.color : color
}

const shownS = 60

export interface Rate {
  name: string
  /** A custom property of the theme: `--good`. */
  color: string
  isCounted(event: SandboxEvent): boolean
  /** The rows that the last minute of it opens. */
  list: 'placements' | 'beacons'
  filters: Filters
}

/** How often each rate was counted in one second of this computer's clock. */
interface Second {
  at_s: number
  counts: readonly number[]
}

export function LastMinute({ rates }: { rates: readonly Rate[] }) {
  const seconds = useSeconds(rates)
  return (
    <Panel title="The last minute" className="last-minute">
      <dl className="figures">
        {rates.map(({ name, color, list, filters }, index) => {
          const sum = seconds.reduce((total, { counts }) => total + (counts[index] ?? 0), 0)
          return (
            <div key={name}>
              <dt className="soft bar">
                <span className="swatch" style={{ background: `var(${color})` }} />
                {name}
              </dt>
              <dd>
                <Figure count={sum} list={list} filters={{ ...filters, since: '1m' }} />{' '}
                <span className="faint tiny">{(sum / shownS).toFixed(1)}/s</span>
              </dd>
            </div>
          )
        })}
      </dl>
      <Chart
        label={`${rates.map(({ name }) => name).join(', ')}: each second of the last minute`}
        times_ms={seconds.map(({ at_s }) => at_s * 1_000)}
        series={rates.map(({ name, color }, index) => ({
          label: name,
          color,
          values: seconds.map(({ counts }) => counts[index] ?? 0),
        }))}
        height_px={72}
        isSparkline
      />
    </Panel>
  )
}

/** Events from before the view was opened are counted by their own time, later ones as they arrive. */
function useSeconds(rates: readonly Rate[]): readonly Second[] {
  const [seconds, setSeconds] = useState<readonly Second[]>(() => lastMinute([]))
  const recent = useRecentEvents()
  const { last_event_seq } = useSession()
  const past_seq = useRef(Math.max(last_event_seq, recent.at(-1)?.seq ?? 0))
  const counted_seq = useRef(0)
  const { state: clock } = useResource('clock.show', {})
  // The sandbox clock may be months ahead of this computer's.
  const offset_ms = useRef<number>(undefined)
  if (clock.status === 'ready') offset_ms.current ??= clock.data.now_ms - Date.now()
  const isReady = clock.status === 'ready'
  useEffect(() => {
    if (recent.length === 0) {
      // At first, and after another start of the sandbox, which may number its events from 1 again.
      counted_seq.current = 0
      past_seq.current = last_event_seq
      setSeconds(lastMinute([]))
      return
    }
    if (!isReady) return
    const added = recent.filter(({ seq }) => seq > counted_seq.current)
    if (added.length === 0) return
    counted_seq.current = added.at(-1)?.seq ?? 0
    const now_ms = Date.now()
    setSeconds((before) => {
      const next = lastMinute(added.some(isReplaced) ? [] : before)
      const bySecond = new Map(next.map(({ at_s }, index) => [at_s, index]))
      for (const event of added) {
        const at_ms = event.seq > past_seq.current ? now_ms : event.at_ms - (offset_ms.current ?? 0)
        const index = bySecond.get(Math.floor(Math.min(at_ms, now_ms) / 1_000))
        const second = index === undefined ? undefined : next[index]
        if (index === undefined || second === undefined) continue
        const counts = rates.map((rate, place) => (second.counts[place] ?? 0) + (rate.isCounted(event) ? 1 : 0))
        next[index] = { ...second, counts }
      }
      return next
    })
  }, [recent, isReady, last_event_seq, rates])
  useEffect(() => {
    const timer = setInterval(() => setSeconds(lastMinute), 1_000)
    return () => clearInterval(timer)
  }, [])
  return seconds
}

/** Returns one entry for each second of the last minute, with the counts known so far. */
function lastMinute(known: readonly Second[]): Second[] {
  const now_s = Math.floor(Date.now() / 1_000)
  const bySecond = new Map(known.map((second) => [second.at_s, second]))
  return Array.from({ length: shownS }, (_, index) => {
    const at_s = now_s - shownS + 1 + index
    return bySecond.get(at_s) ?? { at_s, counts: [] }
  })
}
