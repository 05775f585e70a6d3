/** `svc beacons lint`: checks a file of beacons without sending anything. */
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import type { Command } from '../../cli/run/command.ts'
import { CliError, exitCodes, unreadable } from '../../cli/run/errors.ts'
import { type Host, readStdin } from '../../cli/run/host.ts'
import { lintBeacons, lintLines, lintSummary } from '../../journal/lint.ts'
import { parseTime } from '../flag-values.ts'

export const lint: Command = {
  name: 'lint',
  summary: 'Check a file of beacons without sending them',
  details:
    'Reads one body, an array, JSON lines, or the beacon requests of a HAR file. Errors are what the service refuses; warnings are what it would not bill. To find beacons that are too old, give the time of sending with --now; those of a HAR file have their own. Exit code 5 when there is an error.',
  arguments: [new Argument('<file>', 'the file; - for stdin')],
  options: [
    new Option('--now <instant>', 'when they are sent: now, a day, a time with its zone, or epoch milliseconds'),
  ],
  examples: ['beacons lint beacons.jsonl', 'beacons lint beacons.jsonl --now 2026-01-01 -o json'],
  acceptsInvalidSettings: true,
  async run({ host, out }, { args, options }) {
    const file = args[0] as string
    const name = file === '-' ? 'stdin' : file
    const sent_at_ms = options.now === undefined ? null : timestampOf(options.now as string, host)
    const text = await readText(host, file, name)
    const { kind, beacons, findings } = lintBeacons(text, { now_ms: host.now(), sent_at_ms })
    if (text.trim() === '' || (beacons === 0 && findings.length === 0)) {
      const hint = kind === 'har' ? 'No request in it is a POST to /v1/beacons.' : 'It is empty.'
      throw new CliError('usage', 'beacons_missing', `There is no beacon in ${name}.`, hint)
    }
    const count = (severity: 'error' | 'warning') => findings.filter((finding) => finding.severity === severity).length
    const summary = { error: count('error'), warning: count('warning') }
    const rows = findings.map((finding) => ({ file: name, ...finding }))
    const ok = summary.error === 0
    out.list({ ok, file: name, beacons, summary, findings: rows }, rows, (style) => lintLines(name, findings, style))
    out.note(lintSummary(beacons, summary))
    return ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
  },
}

function timestampOf(text: string, host: Host): number {
  return /^\d{12,15}$/.test(text) ? Number(text) : (parseTime(text) ?? host.now())
}

async function readText(host: Host, file: string, name: string): Promise<string> {
  const bytes = file === '-' ? await readStdin(host) : await readBytes(resolve(host.cwd, file))
  if (isUtf8(bytes)) return bytes.toString('utf8')
  const hint = 'Save it as UTF-8; the service accepts nothing else.'
  throw new CliError('usage', 'file_invalid', `${name} is not UTF-8 text.`, hint)
}

function readBytes(path: string): Promise<Buffer> {
  return readFile(path).catch((error: Error) => {
    throw unreadable(path, error)
  })
}
