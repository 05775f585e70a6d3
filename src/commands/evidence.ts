import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { exitCodes } from '../cli/exit-codes.ts'
import { alignTable } from '../cli/text.ts'

export const evidence: CommandGroup = {
  name: 'evidence',
  summary: 'Check the evidence that billing rests on',
  commands: [
    endpointCommand('evidence.verify', {
      details: 'A broken chain is exit code 5.',
      examples: ['evidence verify', 'evidence verify -o json'],
      exitCode: ({ ok }) => (ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code),
      text: ({ chains }, _, style) =>
        alignTable(
          ['project', 'chain', 'entries', 'head', 'problem'],
          chains.map(({ client_id, entries, head, broken_at, problem }) => [
            client_id,
            broken_at === null ? 'holds' : `broken at ${broken_at}`,
            entries,
            head?.slice(0, 16),
            problem,
          ]),
          style,
          { chain: (cell) => (cell === 'holds' ? style.green(cell) : style.red(cell)) },
        ),
    }),
  ],
}
