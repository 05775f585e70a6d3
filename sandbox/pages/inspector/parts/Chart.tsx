/** Charts over time, drawn by uPlot, which is loaded when the first one is shown. */
import { useEffect, useRef } from 'react'
import type uPlot from 'uplot'
import { useTheme } from '../app/theme.ts'

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
      const options = buildOptions(UPlot, parent, { series, height_px, kind, isSparkline })
      chart.current = new UPlot(options, latest.current, parent)
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

type ChartShape = Required<Pick<ChartProps, 'series' | 'height_px' | 'kind' | 'isSparkline'>>

function buildOptions(
  UPlot: typeof uPlot,
  parent: HTMLElement,
  { series, height_px, kind, isSparkline }: ChartShape,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const color = (name: string) => resolveColor(parent, name, style)
  const paths = kind === 'bars' ? UPlot.paths.bars?.({ size: [0.7, 60], align: 0 }) : UPlot.paths.spline?.()
  const axis = { stroke: color('--faint'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
  const padding: uPlot.Padding = [4, 0, 4, 0]
  return {
    width: parent.clientWidth,
    height: height_px,
    ...(isSparkline && { padding }),
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
  }
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
