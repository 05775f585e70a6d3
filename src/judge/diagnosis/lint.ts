/** `svc beacons lint`: a file of beacons judged by the rules about beacon files. Pure: text in, findings out. */

import { readOccurrence } from '#contract/resources/beacons.ts'
import type { Finding, Place, Severity } from '#foundation/finding.ts'
import type { Style } from '#text/terminal.ts'
import { plural } from '#text/text.ts'
import { type AcceptedInFile, type BeaconFile, readBeaconFile, type Times } from './facts/beacon-file.ts'
import type { Judgement, RuleText } from './rule.ts'
import { beaconSlotRules, fileTurnRules } from './rules/beacon-slots.ts'
import { beaconFileRules } from './rules/beacons/file.ts'

/** `error`: the service refuses it. `warning`: it is accepted, but not billed, or not as it should be. */
export interface LintFinding extends Finding, Place {
  /** The id of the rule: the reason code of the service, or a code of the lint. */
  code: string
  /** The field, dotted; null when it is the whole beacon. */
  path: string | null
}

export interface LintReport {
  kind: BeaconFile['kind']
  /** How many beacons were checked. */
  beacons: number
  /** In the order of the file. */
  findings: LintFinding[]
}

export function lintBeacons(text: string, times: Times): LintReport {
  const { kind, beacons } = readBeaconFile(text, times)
  const accepted: AcceptedInFile[] = []
  const findings = beacons.flatMap((file) => {
    const { body, place } = file
    const found = Object.values(beaconFileRules).flatMap((rule) => toLintFindings(rule, rule.judge(file)))
    const isAccepted = found.every(({ severity, code }) => severity !== 'error' || isAboutRequest(code))
    const beacon = body.status === 'read' ? body.beacon : null
    if (isAccepted && beacon !== null) accepted.push({ place, beacon, at_ms: readOccurrence(beacon) ?? 0 })
    return found
  })
  const slots = Map.groupBy(accepted, ({ beacon }) => beacon.asset_token)
  for (const slot of slots.values()) {
    findings.push(...Object.values(beaconSlotRules).flatMap((rule) => toLintFindings(rule, rule.judge(slot))))
  }
  findings.push(...Object.values(fileTurnRules).flatMap((rule) => toLintFindings(rule, rule.judge(accepted))))
  findings.sort((a, b) => a.line - b.line || a.column - b.column)
  const read = beacons.filter(({ body }) => body.status === 'read' || body.status === 'batch')
  return { kind, beacons: read.length, findings }
}

/** A wrong content type is a fault of the request: its beacon is still judged along with the others. */
function isAboutRequest(code: string): boolean {
  return code === ('content_type_unsupported' satisfies keyof typeof beaconFileRules)
}

function toLintFindings({ id: code, severity, fix }: RuleText, { findings }: Judgement): LintFinding[] {
  return findings.map((finding) => {
    const { line, column, path } = finding.place!
    return { line, column, severity, code, path, message: finding.message, fix: finding.fix ?? fix }
  })
}

export function lintLines(
  file: string,
  findings: readonly LintFinding[],
  style: Pick<Style, 'red' | 'yellow' | 'bold' | 'cyan'>,
): string[] {
  return findings.flatMap(({ line, column, severity, code, message, fix }) => {
    const paint = severity === 'error' ? style.red : style.yellow
    return [
      `${style.bold(`${file}:${line}:${column}`)}  ${paint(severity)}  ${code}  ${message}`,
      `  ${style.cyan('fix')}: ${fix}`,
    ]
  })
}

/** What a file of beacons can be. */
export const beaconFormats =
  'A file has one beacon as JSON, an array of beacons, one beacon on each line (JSON lines), or is a HAR file that a browser saved.'

/** Returns `3 beacons: 2 errors, 1 warning`. */
export function lintSummary(beacons: number, { error, warning }: Record<Severity, number>): string {
  const found = [...(error > 0 ? [plural(error, 'error')] : []), ...(warning > 0 ? [plural(warning, 'warning')] : [])]
  return `${plural(beacons, 'beacon')}: ${found.join(', ') || 'nothing wrong'}`
}
