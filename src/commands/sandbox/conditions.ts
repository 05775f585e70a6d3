/** The conditions that a test sets: `svc sandbox faults`, `clock` and `scenario`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Argument } from 'commander'
import { describeRecord, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { parseTime } from '#cli/endpoint/input.ts'
import { type Column, paintReason, paintStatus, paintWord } from '#cli/output/table.ts'
import type { Style } from '#cli/output/terminal.ts'
import { alignPairs, hangingLines, plural, timeText } from '#cli/output/text.ts'
import type { CommandGroup } from '#cli/run/command.ts'
import { CliError } from '#cli/run/errors.ts'
import type { FaultDraft, FaultRule, Scenario } from '#contract/resources/faults.ts'
import type { SandboxClock } from '#contract/resources/sandbox.ts'
import { formatDuration, parseSpan } from '#foundation/duration.ts'
import { packageRoot } from '#scaffold/templates.ts'

const columns: readonly Column[] = [
  { name: 'fault', field: 'fault_id', kind: 'id' },
  { name: 'effect' },
  { name: 'served', rank: 4 },
  { name: 'method', rank: 2 },
  { name: 'path', least: 14 },
  { name: 'status', paint: paintStatus },
  { name: 'reason', field: 'reason_code', rank: 3, paint: paintReason },
  { name: 'matched' },
  { name: 'injected' },
]

function removed({ cleared }: { cleared: number }): string[] {
  return [cleared === 0 ? 'There were no rules to remove.' : `Removed ${plural(cleared, 'rule')}.`]
}

/** Returns the identifier and effect of a new rule, and the fields that were given: the others are defaults. */
function addedLines({ fault_id, effect, ...rule }: FaultRule, given: FaultDraft, style: Style): string[] {
  const fields = Object.entries(rule).filter(([name]) => name in given)
  return [
    `Added ${fault_id}, effect ${effect}. Remove it: svc sandbox faults remove ${fault_id}`,
    ...describeRecord(Object.fromEntries(fields), style).map((line) => `  ${line}`),
  ]
}

export const faults: CommandGroup = {
  name: 'faults',
  summary: 'Break requests on purpose, the same way in every run',
  commands: [
    endpointCommand('faults.add', {
      details: [
        'Fails twice, then works:   --path /v1/placements --times 2',
        'Over the rate limit:       --status 429 --retry-after-s 30',
        'A third, always the same:  --rate 0.33 --seed 7',
        'Slow, median 300 ms:       --effect delay --latency-ms 300 --latency-sigma 0.5',
        'A lost acknowledgement:    --path /v1/beacons --effect drop --served',
        'An unknown field:          --effect rewrite --set rewrite.x_new=1',
      ].join('\n'),
      examples: [
        'sandbox faults add --path /v1/never --times 2',
        'sandbox faults add --path /v1/never --effect drop --served -o json',
      ],
      text: (rule, _meta, style, _session, { sent }) => addedLines(rule, sent.body as FaultDraft, style),
    }),
    endpointCommand('faults.list', {
      empty: 'No faults yet. Add one: svc sandbox faults add --path /v1/placements --times 2',
      examples: ['sandbox faults list', 'sandbox faults list -o json'],
      columns,
    }),
    endpointCommand('faults.remove', {
      examples: ['sandbox faults remove flt_1', 'sandbox faults remove flt_2 -o json'],
      text: removed,
    }),
    endpointCommand('faults.clear', {
      examples: ['sandbox faults clear', 'sandbox faults clear -o json'],
      text: removed,
    }),
  ],
}

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
      input: (_, { args }) => ({ body: { to_ms: parseTime(args[0] ?? '') } }),
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

function text({ now_ms, offset_ms, frozen }: SandboxClock, _: unknown, style: Style): string[] {
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

export const scenario: CommandGroup = {
  name: 'scenario',
  summary: 'Use a scenario of the catalogue',
  commands: [
    endpointCommand('scenario.list', {
      empty: 'The catalogue has no scenarios.',
      examples: ['sandbox scenario list', 'sandbox scenario list -o json'],
      columns: [
        { name: 'name', kind: 'id' },
        { name: 'title', kind: 'prose' },
        { name: 'active', rank: 2, paint: paintWord },
      ],
      fromPackage: async () => ({
        items: scenariosOfPackage().map((scenario) => ({ ...scenario, active: false })),
        next_cursor: null,
      }),
    }),
    endpointCommand('scenario.use', {
      examples: ['sandbox scenario use banner_ok', 'sandbox scenario use clip_ok -o json'],
      text: ({ name, title, purpose, steps, expect }, _meta, style) => [
        `${name}: ${title}.`,
        ...hangingLines('', purpose, style.columns),
        '',
        'Do',
        ...steps.flatMap((step) => hangingLines('  ', step, style.columns)),
        '',
        'Expect',
        ...expect.flatMap((line) => hangingLines('  ', line, style.columns)),
      ],
    }),
    endpointCommand('scenario.clear', {
      examples: ['sandbox scenario clear', 'sandbox scenario clear -o json'],
      text: ({ cleared }) => [cleared === null ? 'No scenario was active.' : `${cleared} is no longer active.`],
    }),
  ],
}

/** Returns the catalogue of this package, by name. */
export function scenariosOfPackage(): Scenario[] {
  const folder = join(packageRoot, 'fixtures/scenarios')
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return files.toSorted().map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Scenario)
}
