/** The tool `lint_beacons`: judges a text of beacons, as `svc beacons lint` does. */
import { z } from 'zod'
import { beaconFormats } from '#diagnosis/lint.ts'
import { CliError, nothingChecked } from '#text/cli-error.ts'
import { lintOnThread } from './lint-thread.ts'
import type { Tool } from './tool.ts'

export const lintTool: Tool = {
  name: 'lint_beacons',
  command: 'beacons lint',
  title: 'Check beacons without sending them',
  description:
    'One body, an array, JSON lines, or a HAR file, as text. Errors are what the service refuses; warnings are what it would not bill.',
  effect: 'reads',
  isIdempotent: true,
  input: z.strictObject({
    text: z.string().min(1).max(200_000).describe('The beacons.'),
    sent_at_ms: z
      .int()
      .min(0)
      .optional()
      .describe('When they are sent, Unix epoch milliseconds; finds those that are too old.'),
  }),
  output: z.strictObject({
    kind: z.string(),
    beacons: z.int().min(0),
    left_off: z.int().min(1).optional().describe('Findings that are left out.'),
    findings: z.array(
      z.strictObject({
        line: z.int(),
        column: z.int(),
        severity: z.enum(['error', 'warning']),
        code: z.string(),
        path: z.string().nullable(),
        message: z.string(),
        fix: z.string(),
      }),
    ),
  }),
  narrower: 'Give fewer beacons.',
  async call(access, { text, sent_at_ms = null }, signal) {
    const times = { now_ms: access.now(), sent_at_ms: typeof sent_at_ms === 'number' ? sent_at_ms : null }
    const report = await lintOnThread({ text: String(text).replace(/^\uFEFF/, ''), times }, signal)
    if (report.kind === 'unknown')
      throw new CliError('usage', 'file_foreign', 'This text is not a file of beacons.', beaconFormats)
    if (report.beacons > 0 || report.findings.length > 0) return report
    throw nothingChecked('There is no beacon in this text.', 'Give the bodies of POST /v1/beacons, or a HAR file.')
  },
}
