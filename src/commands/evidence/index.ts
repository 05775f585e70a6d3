import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto'
import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { Style } from '../../cli/output/style.ts'
import { type Column, paintDim, tableLines } from '../../cli/output/table.ts'
import type { Command, Noun } from '../../cli/run/command.ts'
import { CliError, exitCodes } from '../../cli/run/errors.ts'
import type { EvidenceVerification } from '../../contract/control/evidence.ts'
import { exportEvidence, linesOf, tamperEvidence } from './export.ts'
import { createEvidenceReader } from './export-format.ts'

const chainColumns: readonly Column[] = [
  { name: 'project' },
  { name: 'chain', paint: (cell, style) => (cell === 'holds' ? style.green(cell) : style.red(cell)) },
  { name: 'entries' },
  { name: 'head', rank: 2, paint: paintDim },
  { name: 'problem', kind: 'prose' },
]

export const evidence: Noun = {
  summary: 'Check and export the evidence that billing is based on',
  commands: [
    endpointCommand('evidence.list', {
      empty: 'There is no evidence yet. Create a placement: svc placements create',
      examples: ['evidence list', 'evidence list --kind consent -o jsonl'],
      columns: [
        { name: 'when', field: 'at_ms', kind: 'time', paint: paintDim },
        { name: 'project', field: 'client_id', rank: 2 },
        { name: 'seq' },
        { name: 'kind' },
        { name: 'slot', field: 'slot_id', kind: 'id' },
        { name: 'hash', least: 12, paint: paintDim },
      ],
    }),
    exportEvidence,
    verify(),
    tamperEvidence,
  ],
}

/** Verifies the chains of the sandbox, or of an export without any service. */
function verify(): Command {
  const live = endpointCommand('evidence.verify', {
    details:
      'With an export it checks the file offline: its hashes, its checkpoints, and that its end was not cut off. A broken chain is exit code 5.',
    examples: ['evidence verify', 'evidence verify evidence.jsonl -o json'],
    arguments: [new Argument('[export]', 'file that svc evidence export has written; default: the sandbox')],
    options: [new Option('--public-key <key>', 'key that must have signed the export; default: any')],
    exitCode,
    tables: [chainColumns],
    text: (verification, _, style) => chainTable(verification, style),
  })
  return {
    ...live,
    async run(session, input) {
      const [file] = input.args
      if (file === undefined && input.options.publicKey !== undefined) {
        const hint = 'Name its file: svc evidence verify FILE --public-key KEY'
        throw new CliError('usage', 'argument_missing', '--public-key is for an export.', hint)
      }
      if (file === undefined) return live.run(session, input)
      const public_key = (input.options.publicKey as string | undefined) ?? null
      const reader = createEvidenceReader({ sha256Hex, isSigned }, public_key)
      for await (const text of linesOf(resolve(session.host.cwd, file))) reader.add(text)
      const verification = reader.finish()
      session.out.data(verification, (style) => [
        ...chainTable(verification, style),
        ...verification.public_keys.map((key) => style.dim(`signed by ${key}`)),
      ])
      return exitCode(verification)
    },
  }
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function isSigned(text: string, signature: string, public_key: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: public_key }, format: 'jwk' })
    return verifySignature(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

function exitCode({ ok }: EvidenceVerification): number {
  return ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
}

function chainTable({ chains }: EvidenceVerification, style: Style): string[] {
  const rows = chains.map(({ client_id, entries, head, broken_at, problem }) => ({
    project: client_id,
    chain: broken_at === null ? 'holds' : `broken at ${broken_at}`,
    entries,
    head: head?.slice(0, 16),
    problem,
  }))
  return tableLines(chainColumns, rows, style)
}
