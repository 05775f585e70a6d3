/** `svc sandbox scenario`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Command, CommandGroup } from '#cli/run/command.ts'
import type { Scenario } from '#contract/resources/sandbox/scenarios.ts'
import { packageRoot } from '#scaffold/templates.ts'
import { paintWord } from '#text/table.ts'
import { hangingLines } from '#text/text.ts'

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
    use(),
  ],
}

/** Uses a scenario; `none` ends the one in use. */
function use(): Command {
  const command = endpointCommand('scenario.use', {
    details: 'With none, it ends the scenario in use: its fault rules and its changes go, those of others stay.',
    examples: ['sandbox scenario use banner_ok', 'sandbox scenario use none'],
    text: ({ name, title, purpose, steps, expect }, style) => [
      `${name}: ${title}.`,
      ...hangingLines('', purpose, style.columns),
      '',
      'Do',
      ...steps.flatMap((step) => hangingLines('  ', step, style.columns)),
      '',
      'Expect',
      ...expect.flatMap((line) => hangingLines('  ', line, style.columns)),
    ],
  })
  const clear = endpointCommand('scenario.clear', {
    examples: command.examples,
    text: ({ cleared }) => [cleared === null ? 'No scenario was active.' : `${cleared} is no longer active.`],
  })
  return { ...command, run: (context, input) => (input.args[0] === 'none' ? clear : command).run(context, input) }
}

/** Returns the catalogue of this package, by name. */
export function scenariosOfPackage(): Scenario[] {
  const folder = join(packageRoot, 'fixtures/scenarios')
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return files.toSorted().map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Scenario)
}
