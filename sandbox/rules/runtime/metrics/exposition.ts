/**
 * Metric families as text, in the two formats that scrapers read: the text format of Prometheus 0.0.4, and OpenMetrics
 * 1.0. They differ in the name that a counter is declared by, in the type of an info, in units, and in the last line.
 */
import type { Counts, HistogramReading } from './counts.ts'

export interface Sample {
  labels: Readonly<Record<string, string>>
  value: number
}

/** `name`: without the suffix that its samples get: `_total`, `_info`, `_bucket`. */
export type Family = { name: string; help: string } & (
  | { type: 'counter' | 'gauge' | 'info'; samples: readonly Sample[] }
  | { type: 'histogram'; series: readonly { labels: Sample['labels']; reading: HistogramReading }[] }
)

export type ExpositionFormat = 'prometheus' | 'openmetrics'

export const mediaTypes: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** Returns the samples of counts by labels. */
export function toSamples({ labels, list }: Counts): Sample[] {
  return list().map(({ values, count }) => ({
    labels: Object.fromEntries(labels.map((label, at) => [label, values[at]!])),
    value: count,
  }))
}

export function formatMetrics(families: readonly Family[], format: ExpositionFormat): string {
  const lines = families.flatMap((family) => [...describeFamily(family, format), ...sampleLines(family)])
  if (format === 'openmetrics') lines.push('# EOF')
  return `${lines.join('\n')}\n`
}

const units = ['seconds', 'bytes'] as const

function describeFamily({ name, type, help }: Family, format: ExpositionFormat): string[] {
  const isOpen = format === 'openmetrics'
  const declared = isOpen ? name : `${name}${type === 'gauge' || type === 'histogram' ? '' : suffixes[type]}`
  const unit = units.find((unit) => name.endsWith(`_${unit}`))
  return [
    `# HELP ${declared} ${isOpen ? escapeText(help) : help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
    `# TYPE ${declared} ${type === 'info' && !isOpen ? 'gauge' : type}`,
    ...(isOpen && unit !== undefined ? [`# UNIT ${declared} ${unit}`] : []),
  ]
}

const suffixes = { counter: '_total', gauge: '', info: '_info' } as const

function sampleLines(family: Family): string[] {
  const { name, type } = family
  if (type === 'histogram') return family.series.flatMap((series) => histogramLines(name, series))
  return family.samples.map(({ labels, value }) => `${name}${suffixes[type]}${formatLabels(labels)} ${format(value)}`)
}

function histogramLines(
  name: string,
  { labels, reading: { bounds, cumulative, sum } }: { labels: Sample['labels']; reading: HistogramReading },
): string[] {
  const total = cumulative.at(-1)!
  return [
    ...cumulative.map((count, at) => {
      const bound = bounds[at]
      const le = bound === undefined ? '+Inf' : Number.isInteger(bound) ? `${bound}.0` : String(bound)
      return `${name}_bucket${formatLabels({ ...labels, le })} ${count}`
    }),
    `${name}_sum${formatLabels(labels)} ${format(sum)}`,
    `${name}_count${formatLabels(labels)} ${total}`,
  ]
}

function formatLabels(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeText(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function format(value: number): string {
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN'
}
