/** A file of beacons against the contract. Pure: text in, findings out, in the order of the file. */

import { readBeaconFile } from './facts/beacon-file.ts'
import { checkSlots, type NumberedBeacon } from './lint/beacon-slots.ts'
import type { LintFinding, LooseFinding } from './lint/finding.ts'
import { checkBody } from './rules/beacon-file.ts'

export interface LintOptions {
  /** The present, epoch milliseconds. */
  now_ms: number
  /** When the beacons would be sent; null when that is not said, and only the future is out of time. */
  sent_at_ms: number | null
}

export interface LintReport {
  kind: ReturnType<typeof readBeaconFile>['kind']
  /** How many beacons were looked at. */
  beacons: number
  findings: LintFinding[]
}

export function lintBeacons(text: string, { now_ms, sent_at_ms }: LintOptions): LintReport {
  const { kind, beacons, findings } = readBeaconFile(text)
  const found = [...findings]
  /** Those that the service would take: the others are no part of a verdict. */
  const whole: NumberedBeacon[] = []
  const add = (index: number, { at, isName, ...finding }: LooseFinding) => {
    const { line, column } = beacons[index]!.place(at, isName === true)
    found.push({ line, column, ...finding })
  }
  for (const [index, { value, bytes, sent_at_ms: told_ms }] of beacons.entries()) {
    const sent = sent_at_ms ?? told_ms
    const checked = checkBody(value, bytes, { now_ms: sent ?? now_ms, isSending: sent !== null })
    for (const finding of checked.findings) add(index, finding)
    const isTaken = checked.findings.every(({ severity }) => severity !== 'error')
    if (checked.beacon !== null && isTaken) whole.push({ index, beacon: checked.beacon })
  }
  for (const { index, finding } of checkSlots(whole)) add(index, finding)
  found.sort((a, b) => a.line - b.line || a.column - b.column)
  return { kind, beacons: beacons.length, findings: found }
}
