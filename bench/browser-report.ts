/** Medians and tails of many rounds, as a table. */
import { median } from './processes.ts'

/** Milliseconds. */
export interface Summary {
  median: number
  p95: number
}

export type Figures = Record<string, Summary>

export function summarize(values: readonly number[]): Summary {
  const known = values.filter(Number.isFinite).toSorted((a, b) => a - b)
  return { median: median(known), p95: known[Math.ceil(0.95 * known.length) - 1] ?? Number.NaN }
}

/** Each group of figures as rows, followed by our share of the time, against the plain iframe of the same rounds. */
export function print(heading: string, report: Readonly<Record<string, Figures>>): void {
  console.log(`${heading}\n`)
  for (const [group, figures] of Object.entries(report)) {
    console.log(`${group.padEnd(36)} median      p95`)
    for (const [name, { median, p95 }] of Object.entries(figures)) console.log(row(name, median, p95))
    const [ours, plain] = [figures['call to painted'], figures['plain: to painted']]
    if (ours && plain)
      console.log(`  ${'painted, against a plain iframe'.padEnd(34)} ${(ours.median / plain.median).toFixed(2)} x`)
    console.log('')
  }
}

function row(name: string, ...values: number[]): string {
  return `  ${name.padEnd(32)}${values.map((value) => value.toFixed(1).padStart(9)).join('')}`
}
