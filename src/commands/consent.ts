import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import type { Command, Noun } from '../cli/run/command.ts'

const columns = [
  'updated_at_ms',
  'session_id',
  'revision',
  'is_current',
  'lifecycle_state',
  'semantic_targeting',
  'prompt_shared',
  'source',
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
      name: 'show',
      examples: ['consent show', 'consent show --session-id sess_1 -o jsonl'],
      columns,
    }),
  ],
}

/** `consent set` with a fixed decision. */
function withdraw(): Command {
  const { options = [], ...command } = endpointCommand('consent.set', {
    name: 'withdraw',
    details: 'What was decided under the earlier consent is no longer shown or counted.',
    examples: ['consent withdraw --session-id sess_1', 'consent withdraw --session-id sess_1 -o json'],
    defaults: () => ({ decision: 'withdrawn' }),
  })
  const kept = options.filter(({ long }) => long === '--session-id' || long === '--expected-revision')
  return { ...command, summary: 'Withdraw the consent of a session', options: kept }
}
