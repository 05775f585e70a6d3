/** `svc consent`. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { consentStringText } from '#cli/output/placement-summary.ts'
import { type Column, paintDim, paintWord } from '#cli/output/table.ts'
import type { Command, Noun } from '#cli/run/command.ts'
import type { ConsentItem, ConsentRequest } from '#contract/resources/consent.ts'

const columns: readonly Column[] = [
  { name: 'when', field: 'updated_at_ms', kind: 'time', paint: paintDim },
  { name: 'session', field: 'session_id', kind: 'id' },
  { name: 'revision', rank: 2 },
  { name: 'current', field: 'is_current', rank: 3 },
  { name: 'state', field: 'lifecycle_state', paint: paintWord },
  { name: 'topic', field: 'semantic_targeting', paint: paintWord },
  { name: 'prompt', field: 'prompt_shared', paint: paintWord },
  { name: 'source', rank: 4, paint: paintDim },
  { name: 'strings', kind: 'prose', rank: 5, text: stringsText },
]

export const consent: Noun = {
  summary: 'Store, withdraw and show the consent of a session',
  commands: [
    endpointCommand('consent.set', {
      details: 'A change supersedes the snapshot of earlier decisions: their frames and beacons are refused.',
      examples: [
        'consent set --session-id sess_1 --decision granted --set purposes.semantic_targeting=true',
        'consent set --session-id sess_1 --decision withdrawn -o json',
      ],
    }),
    withdraw(),
    endpointCommand('consent.list', {
      empty: 'No consent yet. Store one: svc consent set --session-id ID --decision granted',
      name: 'show',
      examples: ['consent show', 'consent show --session-id sess_1 -o jsonl'],
      columns,
    }),
  ],
}

function stringsText(strings: ConsentItem['strings']): string {
  return strings.map((each) => `${each.standard}: ${consentStringText(each)}`).join('; ') || '-'
}

/** `consent set` with a fixed decision. */
function withdraw(): Command {
  const { options = [], ...command } = endpointCommand('consent.set', {
    name: 'withdraw',
    details: 'Placements decided under the earlier consent are no longer shown or counted.',
    examples: ['consent withdraw --session-id sess_1', 'consent withdraw --session-id sess_1 -o json'],
    defaults: () => ({ decision: 'withdrawn' }),
    text: ({ authoritative_consent: { lifecycle_state, revision } }, _style, { sent }) => [
      `The consent of ${(sent.body as ConsentRequest).session_id} is ${lifecycle_state}, revision ${revision}.`,
      'Placements decided under an earlier consent are no longer shown or counted.',
    ],
  })
  const kept = options.filter(({ long }) => long === '--session-id' || long === '--expected-revision')
  return { ...command, summary: 'Withdraw the consent of a session', options: kept }
}
