/**
 * A strict reader of metrics, of both formats: written against their specifications, without code of the sandbox. It
 * throws for anything that a scraper may refuse.
 */

interface Family {
  type: string
  help: string
  unit: string | null
  samples: Sample[]
}

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  info: ['_info'],
  histogram: ['_bucket', '_sum', '_count'],
}

/** Returns the value of the sample with these labels, no more and no fewer; null when there is none. */
export function findValue(families: Map<string, Family>, name: string, labels: Record<string, string> = {}) {
  const all = [...families.values()].flatMap(({ samples }) => samples)
  return all.find((sample) => sample.name === name && seriesKey(sample.labels) === seriesKey(labels))?.value ?? null
}

/** Reads a whole exposition. @throws Error with the line that breaks the format */
export function readExposition(text: string, format: 'prometheus' | 'openmetrics'): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const lines = text.slice(0, -1).split('\n')
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('it does not end with # EOF')
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let current: [string, Family] | null = null
  for (const line of lines) {
    const described = /^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line)
    if (described !== null) current = readDescription(families, current, [...described], format)
    else {
      if (current === null) throw new Error(`a sample before any family: ${line}`)
      const sample = readSample(line)
      checkName(current, sample.name, format)
      const key = `${sample.name}${seriesKey(sample.labels)}`
      if (series.has(key)) throw new Error(`twice: ${line}`)
      series.add(key)
      current[1].samples.push(sample)
    }
  }
  for (const [name, family] of families) checkFamily(name, family)
  return families
}

function readDescription(
  families: Map<string, Family>,
  current: [string, Family] | null,
  [line, kind, name, value]: string[],
  format: 'prometheus' | 'openmetrics',
): [string, Family] {
  const isSame = current?.[0] === name
  if (kind === 'HELP') {
    if (families.has(name!)) throw new Error(`a family twice: ${line}`)
    const family: Family = { type: '', help: value!, unit: null, samples: [] }
    families.set(name!, family)
    return [name!, family]
  }
  if (!isSame || current === null) throw new Error(`not about the family before it: ${line}`)
  if (kind === 'TYPE') {
    if (!Object.hasOwn(suffixes, value!) || (value === 'info' && format === 'prometheus')) throw new Error(line)
    current[1].type = value!
  } else if (format === 'prometheus' || !name!.endsWith(`_${value}`)) throw new Error(line)
  else current[1].unit = value!
  return current
}

const labelText = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`
const sampleText = new RegExp(String.raw`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(${labelText}(?:,${labelText})*)\})? (\S+)$`)

function readSample(line: string): Sample {
  const found = sampleText.exec(line)
  if (found === null) throw new Error(`not a sample: ${line}`)
  const [, name, pairs = '', number] = found
  const labels = Object.fromEntries(
    [...pairs.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g)].map(([, label, value]) => [label!, value!]),
  )
  if (!/^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/.test(number!)) throw new Error(`not a number: ${line}`)
  return { name: name!, labels, value: Number(number!.replace('Inf', 'Infinity')) }
}

function checkName([family, { type }]: [string, Family], name: string, format: 'prometheus' | 'openmetrics'): void {
  const added = type === 'counter' && format === 'prometheus' ? [''] : (suffixes[type] ?? [])
  if (!added.some((suffix) => name === `${family}${suffix}`)) throw new Error(`${name} is not of ${type} ${family}`)
}

function checkFamily(name: string, { type, samples }: Family): void {
  if (type === '') throw new Error(`${name} has no type`)
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} is below 0`)
  if (type === 'histogram') checkHistogram(name, samples)
}

/** Buckets grow, the last one is +Inf and equal to the count. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => seriesKey(labels))
  for (const [key, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) => Number(labels.le!.replace('Inf', 'Infinity')))
    const isCanonical = buckets.every(({ labels }) => labels.le === '+Inf' || /^\d+\.\d+$/.test(labels.le!))
    const count = group.find((sample) => sample.name === `${name}_count`)?.value
    const hasSum = group.some((sample) => sample.name === `${name}_sum`)
    const grow = (values: number[]) => values.every((value, at) => at === 0 || value >= values[at - 1]!)
    const isSound =
      grow(bounds) && grow(buckets.map(({ value }) => value)) && bounds.at(-1) === Number.POSITIVE_INFINITY
    if (!isSound || !isCanonical || !hasSum || buckets.at(-1)?.value !== count) throw new Error(`${name}${key}`)
  }
}

function seriesKey(labels: Record<string, string>): string {
  return JSON.stringify(Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
