/** The findings as text, grouped, with one line for each fix. */
import type { Style } from '../../cli/output/style.ts'
import { groups } from '../doctor.ts'
import { type Finding, type Level, levels } from './finding.ts'

const symbols: Readonly<Record<Level, string>> = { ok: '✓', warning: '!', problem: '✗', unknown: '?' }

export type Summary = Record<Level, number>

export function summaryOf(findings: readonly Finding[]): Summary {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length
  return { ok: count('ok'), warning: count('warning'), problem: count('problem'), unknown: count('unknown') }
}

export function reportLines(findings: readonly Finding[], style: Style): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length))
  return [
    ...groups.flatMap((group) => {
      const own = findings.filter((finding) => finding.group === group)
      return own.length === 0 ? [] : [style.bold(group), ...own.flatMap((finding) => lines(finding, width, style)), '']
    }),
    summaryLine(summaryOf(findings), style),
  ]
}

function lines({ level, check, message, fix }: Finding, width: number, style: Style): string[] {
  const margin = ' '.repeat(width + 6)
  return [
    `  ${paint(level, symbols[level], style)} ${check.padEnd(width)}  ${message}`,
    ...(fix === null ? [] : [`${margin}${style.cyan('fix')}: ${fix}`]),
  ]
}

function summaryLine(summary: Summary, style: Style): string {
  const words: Record<Level, string> = {
    ok: 'ok',
    warning: summary.warning === 1 ? 'warning' : 'warnings',
    problem: summary.problem === 1 ? 'problem' : 'problems',
    unknown: 'not known',
  }
  return levels
    .filter((level) => level === 'ok' || summary[level] > 0)
    .map((level) => paint(level, `${summary[level]} ${words[level]}`, style))
    .join(', ')
}

function paint(level: Level, text: string, style: Style): string {
  const paints = { ok: style.green, warning: style.yellow, problem: style.red, unknown: style.dim }
  return paints[level](text)
}
