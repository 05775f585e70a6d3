/** `svc sandbox clock`. */
import { Argument } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { CommandGroup } from '#cli/run/command.ts'
import type { SandboxClock } from '#contract/resources/sandbox/clock.ts'
import { formatDuration, parseSpan } from '#foundation/duration.ts'
import { CliError } from '#text/cli-error.ts'
import { readInstant } from '#text/instants.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, timeText } from '#text/text.ts'

/** The hint for a negative duration. */
const backwards = 'Advancing moves the clock only forward. To move it back: svc sandbox clock set TIME'

export const clock: CommandGroup = {
  name: 'clock',
  summary: 'Show and control the clock of the sandbox',
  commands: [
    endpointCommand('clock.show', { examples: ['sandbox clock show', 'sandbox clock show -o json'], text }),
    endpointCommand('clock.advance', {
      arguments: [new Argument('<duration>', 'how far: 90s, 31m, 2h, 7d; a number alone is milliseconds')],
      options: [],
      negativeHint: backwards,
      examples: ['sandbox clock advance 31m', 'sandbox clock advance 7d -o json'],
      input: (_, { args }) => ({ body: { by_ms: readDuration(args[0] ?? '') } }),
      text,
    }),
    endpointCommand('clock.set', {
      arguments: [
        new Argument(
          '<instant>',
          'a date, a time with its zone, epoch milliseconds, or now for the time of this computer',
        ),
      ],
      options: [],
      examples: ['sandbox clock set 2027-01-01T00:00:00Z', 'sandbox clock set now'],
      input: (_, { args }) => ({ body: { to_ms: readInstant(args[0] ?? '') } }),
      text,
    }),
    endpointCommand('clock.freeze', { examples: ['sandbox clock freeze', 'sandbox clock freeze -o none'], text }),
    endpointCommand('clock.resume', { examples: ['sandbox clock resume', 'sandbox clock resume -o none'], text }),
  ],
}

/** Returns the milliseconds of `500ms`, `90s`, `31m`, `2h`, `7d` or `31`. Throws CliError for anything else. */
function readDuration(text: string): number {
  const duration_ms = text.includes('.') ? null : parseSpan(text)
  if (duration_ms !== null) return duration_ms
  const hint = text.startsWith('-')
    ? backwards
    : 'Write a whole number and its unit: 500ms, 90s, 31m, 2h or 7d. A number alone is milliseconds.'
  throw new CliError('usage', 'duration_invalid', `'${text}' is not a duration.`, hint)
}

function text({ now_ms, offset_ms, frozen }: SandboxClock, style: Style): string[] {
  return alignPairs(
    [
      ['now', timeText(now_ms, style)],
      ['state', frozen ? style.yellow('frozen') : 'running'],
      ['offset', frozen ? null : offsetText(offset_ms)],
    ],
    style,
  )
}

/** `31m ahead of real time`, `7d 2h behind real time`: in the two largest units that are not zero. */
function offsetText(offset_ms: number): string {
  if (offset_ms === 0) return 'none'
  // A millisecond may pass between two readings of the system clock, and nobody asked for 59s 999ms.
  const shown_ms = Math.abs(offset_ms) < 1_000 ? offset_ms : Math.round(offset_ms / 1_000) * 1_000
  return `${formatDuration(shown_ms, 2)} ${offset_ms > 0 ? 'ahead of' : 'behind'} real time`
}
