import { Argument } from 'commander'
import { callEndpoint, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { Style } from '../../cli/output/style.ts'
import { alignPairs, formatTime } from '../../cli/output/text.ts'
import { readInstant } from '../../cli/output/time.ts'
import type { Command, CommandGroup } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { SandboxClock } from '../../contract/control/clock.ts'
import { contract, type EndpointId } from '../../contract/index.ts'

type ClockEndpointId = Extract<EndpointId, `clock.${string}`>

const unit_ms = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const

const advance: Command = {
  ...described('clock.advance'),
  name: 'advance',
  arguments: [new Argument('<duration>', 'how far: 500ms, 90s, 31m, 2h, 7d')],
  examples: ['sandbox clock advance 31m', 'sandbox clock advance 7d -o json'],
  run: (session, { args }) => steer(session, 'clock.advance', { by_ms: readDuration(args[0] ?? '') }),
}

const set: Command = {
  ...described('clock.set'),
  name: 'set',
  arguments: [new Argument('<instant>', 'a date, or a time with its zone; now for the time of the machine')],
  examples: ['sandbox clock set 2027-01-01T00:00:00Z', 'sandbox clock set now'],
  run: (session, { args }) => steer(session, 'clock.set', { to_ms: readInstant(args[0] ?? '') }),
}

export const clock: CommandGroup = {
  name: 'clock',
  summary: 'Show and steer the one clock of the sandbox',
  commands: [
    endpointCommand('clock.show', {
      examples: ['sandbox clock show', 'sandbox clock show -o json'],
      text: (answer, _, style) => clockLines(answer, style),
    }),
    advance,
    set,
    endpointCommand('clock.freeze', {
      examples: ['sandbox clock freeze', 'sandbox clock freeze -o none'],
      text: (answer, _, style) => clockLines(answer, style),
    }),
    endpointCommand('clock.resume', {
      examples: ['sandbox clock resume', 'sandbox clock resume -o none'],
      text: (answer, _, style) => clockLines(answer, style),
    }),
  ],
}

function described(id: ClockEndpointId): Pick<Command, 'summary' | 'details'> {
  const { summary, description, method, path } = contract[id]
  return { summary, details: `${description} (${method} ${path})` }
}

async function steer(
  session: Session,
  id: ClockEndpointId,
  body: { by_ms: number } | { to_ms: number | null },
): Promise<number> {
  const { data } = await callEndpoint(session, id, { body })
  session.out.data(data, (style) => clockLines(data as SandboxClock, style))
  return 0
}

/** Milliseconds of `500ms`, `90s`, `31m`, `2h` or `7d`. */
function readDuration(text: string): number {
  const [, count, unit] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? []
  if (count === undefined || unit === undefined) {
    throw new CliError(
      'usage',
      'duration_invalid',
      `'${text}' is not a duration.`,
      'Write a whole number and its unit: 500ms, 90s, 31m, 2h or 7d.',
    )
  }
  return Number(count) * unit_ms[unit as keyof typeof unit_ms]
}

function clockLines({ now_ms, offset_ms, frozen }: SandboxClock, style: Style): string[] {
  return alignPairs(
    [
      ['now', formatTime(now_ms)],
      ['state', frozen ? style.yellow('frozen') : 'running'],
      ['against the machine', frozen ? null : againstMachine(offset_ms)],
    ],
    style,
  )
}

/** `31m ahead`, `7d 2h behind`: the two largest units that are not zero. */
function againstMachine(offset_ms: number): string {
  if (offset_ms === 0) return 'the same'
  let left = Math.abs(offset_ms)
  const parts: string[] = []
  for (const [unit, length] of Object.entries(unit_ms)) {
    const count = Math.floor(left / length)
    left -= count * length
    if (count > 0) parts.push(`${count}${unit}`)
  }
  return `${parts.slice(0, 2).join(' ')} ${offset_ms > 0 ? 'ahead' : 'behind'}`
}
