import { Argument, Option } from 'commander'
import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { Style } from '../../cli/output/style.ts'
import { alignTable } from '../../cli/output/text.ts'
import type { Command, Noun } from '../../cli/run/command.ts'
import { exitCodes } from '../../cli/run/errors.ts'
import type { EvidenceVerification } from '../../contract/control/evidence.ts'
import { exportEvidence, tamperEvidence, verifyFile } from './export.ts'

export const evidence: Noun = {
  summary: 'Check and export the evidence that billing rests on',
  commands: [
    endpointCommand('evidence.list', {
      examples: ['evidence list', 'evidence list --kind consent -o jsonl'],
      columns: ['at_ms', 'client_id', 'seq', 'kind', 'slot_id', 'hash'],
    }),
    exportEvidence,
    verify(),
    tamperEvidence,
  ],
}

/** Of the sandbox, or of a file that was exported. */
function verify(): Command {
  const live = endpointCommand('evidence.verify', {
    examples: ['evidence verify', 'evidence verify evidence.jsonl -o json'],
    details:
      'With an export, it is checked offline: its hashes, its checkpoints, and that its end was not cut off. A broken chain is exit code 5.',
    exitCode,
    text: (found, _, style) => chainTable(found, style),
  })
  return {
    ...live,
    arguments: [new Argument('[export]', 'file that svc evidence export has written; default: the sandbox')],
    options: [new Option('--public-key <key>', 'key that must have signed the export; default: any')],
    async run(session, given) {
      const [file] = given.args
      if (file === undefined) return live.run(session, given)
      const found = await verifyFile(session, file, (given.options.publicKey as string | undefined) ?? null)
      session.out.data(found, (style) => [
        ...chainTable(found, style),
        ...found.public_keys.map((key) => style.dim(`signed by ${key}`)),
      ])
      return exitCode(found)
    },
  }
}

function exitCode({ ok }: EvidenceVerification): number {
  return ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
}

function chainTable({ chains }: EvidenceVerification, style: Style): string[] {
  return alignTable(
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
  )
}
