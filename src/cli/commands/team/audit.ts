/** `svc team audit`. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Command } from '#cli/run/command.ts'
import { paintDim, paintReason, paintStatus } from '#text/table.ts'

export const audit: Command = endpointCommand('audit.list', {
  name: 'audit',
  empty: 'Nothing has been changed through the control plane yet.',
  examples: ['team audit', 'team audit --token ci -o jsonl'],
  columns: [
    { name: 'when', field: 'at_ms', kind: 'time', paint: paintDim },
    { name: 'token' },
    { name: 'action' },
    { name: 'status', paint: paintStatus },
    { name: 'reason', field: 'reason_code', rank: 2, paint: paintReason },
    { name: 'path', least: 20, paint: paintDim },
  ],
})
