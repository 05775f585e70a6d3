/** `svc sandbox faults`. */
import { Argument, Option } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { describeRecord } from '#cli/endpoint/listed-page.ts'
import type { Command, CommandGroup } from '#cli/run/command.ts'
import type { FaultDraft, FaultRule } from '#contract/resources/sandbox/faults.ts'
import { CliError } from '#text/cli-error.ts'
import { type Column, paintReason, paintStatus } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { plural } from '#text/text.ts'

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
      usualFlags:
        '--method --path --session-id --format --status --reason-code --effect --latency-ms --times --rate --ttl-ms --set',
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
      text: (rule, style, { sent }) => addedLines(rule, sent.body as FaultDraft, style),
    }),
    endpointCommand('faults.list', {
      empty: 'No faults yet. Add one: svc sandbox faults add --path /v1/placements --times 2',
      examples: ['sandbox faults list', 'sandbox faults list -o json'],
      columns,
    }),
    remove(),
  ],
}

/** Removes one rule, or every one. */
function remove(): Command {
  const command = endpointCommand('faults.remove', {
    arguments: [new Argument('[fault_id]', 'Identifier of the rule: svc sandbox faults list.')],
    options: [new Option('--all', 'every rule, those of the scenario in use too; its other changes stay')],
    examples: ['sandbox faults remove flt_1', 'sandbox faults remove --all -o json'],
    text: removed,
  })
  const clear = endpointCommand('faults.clear', { examples: command.examples, text: removed })
  return {
    ...command,
    run(context, input) {
      const isAll = input.options.all === true
      if (isAll === (input.args[0] !== undefined)) {
        const hint = 'List them: svc sandbox faults list'
        throw new CliError('usage', 'argument_missing', 'Name one fault rule, or give --all.', hint)
      }
      return (isAll ? clear : command).run(context, input)
    },
  }
}
