/** `svc sandbox snapshot`. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { CommandGroup } from '#cli/run/command.ts'
import { type Column, tableLines } from '#text/table.ts'
import { sizeText } from '#text/text.ts'

const columns: readonly Column[] = [
  { name: 'name', kind: 'id' },
  { name: 'saved', field: 'saved_at_ms', kind: 'time' },
  { name: 'size', field: 'size_bytes', kind: 'size' },
  { name: 'schema', field: 'schema_version', rank: 2 },
]

export const snapshot: CommandGroup = {
  name: 'snapshot',
  summary: 'Save the state of the sandbox under a name, and restore it',
  commands: [
    endpointCommand('snapshots.save', {
      examples: ['sandbox snapshot save before-launch', 'sandbox snapshot save with-consent --replace'],
      text: ({ name, size_bytes }) => [`Saved ${name}, ${sizeText(size_bytes)}.`],
    }),
    endpointCommand('snapshots.list', {
      examples: ['sandbox snapshot list', 'sandbox snapshot list -o json'],
      tables: [columns],
      text: ({ items }, style) => (items.length === 0 ? [] : tableLines(columns, items, style)),
      after: async ({ out }, { items }) => {
        if (items.length === 0) out.note('No snapshots yet. Save one: svc sandbox snapshot save NAME')
      },
    }),
    endpointCommand('snapshots.restore', {
      examples: ['sandbox snapshot restore before-launch', 'sandbox snapshot restore before-launch -o none'],
      text: ({ name }) => [`Restored ${name}.`],
    }),
    endpointCommand('snapshots.delete', {
      examples: ['sandbox snapshot delete before-launch', 'sandbox snapshot delete with-consent -o none'],
      text: () => ['Deleted.'],
    }),
  ],
}
