/** The findings of a lint as text: place, severity, code and message, with what to do below. */
import type { Style } from '../../cli/output/style.ts'
import type { LintFinding } from './finding.ts'

export function lintLines(file: string, findings: readonly LintFinding[], style: Style): string[] {
  return findings.flatMap(({ line, column, severity, code, message, fix }) => {
    const paint = severity === 'error' ? style.red : style.yellow
    return [
      `${style.bold(`${file}:${line}:${column}`)}  ${paint(severity)}  ${code}  ${message}`,
      `  ${style.cyan('fix')}: ${fix}`,
    ]
  })
}

/** `3 beacons: 2 errors, 1 warning` */
export function lintSummary(beacons: number, { error, warning }: Record<LintFinding['severity'], number>): string {
  const found = [...(error > 0 ? [counted(error, 'error')] : []), ...(warning > 0 ? [counted(warning, 'warning')] : [])]
  return `${counted(beacons, 'beacon')}: ${found.join(', ') || 'nothing wrong'}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
