/**
 * `svc api`: calls of API v1 that have no command of their own, each by the name of its operation in the contract. Flags
 * come from the contract.
 */
import { Option } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { lastPlacement, savePlacement } from '#cli/endpoint/last-placement.ts'
import { describeRecord } from '#cli/endpoint/listed-page.ts'
import { consentStringText, placementSummary } from '#cli/output/placement-summary.ts'
import type { Command, CommandContext, Noun } from '#cli/run/command.ts'
import type { EndpointId } from '#contract/index.ts'
import { limits } from '#contract/limits.ts'
import type { ConsentItem, ConsentRequest } from '#contract/resources/consent.ts'
import { type Column, paintDim, paintWord } from '#text/table.ts'
import { projectInUse } from './projects.ts'

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

export const api: Noun = {
  summary: 'Call other operations of API v1: jobs, decisions, consent, frames',
  commands: [
    operation('jobs.create', {
      details: 'Poll the slots with svc api decisions.get.',
      examples: [
        'api jobs.create --job-type code --slots-requested 2',
        'api jobs.create --session-id sess_1 --set overrides.allowed_formats=clip -o json',
      ],
      after: async (context, { slot_ids: [slot_id] }, meta) => {
        if (slot_id !== undefined) await savePlacement(context, { slot_id, decision: null }, meta)
      },
    }),
    pollDecision(),
    operation('browser.activate', {
      details:
        'Sends the settings publishable_key and origin; a running sandbox provides both. Use the token with --secret-key TOKEN.',
      examples: ['api browser.activate', 'api browser.activate --origin http://localhost:5173 -o json'],
      defaults: ({ settings }) =>
        settings.publishable_key === null ? {} : { publishable_key: settings.publishable_key },
    }),
    operation('consent.set', {
      details:
        'A change supersedes the snapshot of earlier decisions: their frames and beacons are refused. --decision withdrawn takes consent back.',
      examples: [
        'api consent.set --session-id sess_1 --decision granted --set purposes.semantic_targeting=true',
        'api consent.set --session-id sess_1 --decision withdrawn -o json',
      ],
      text: (response, style, { sent }) => {
        const { session_id, decision } = sent.body as ConsentRequest
        if (decision !== 'withdrawn') return describeRecord(response, style)
        const { lifecycle_state, revision } = response.authoritative_consent
        return [
          `The consent of ${session_id} is ${lifecycle_state}, revision ${revision}.`,
          'Placements decided under an earlier consent are no longer shown or counted.',
        ]
      },
    }),
    operation('consent.list', {
      empty: 'No consent yet. Store one: svc api consent.set --session-id ID --decision granted',
      examples: ['api consent.list', 'api consent.list --session-id sess_1 -o jsonl'],
      columns,
    }),
    operation('projects.config', {
      details: 'Without client_id: the project in use.',
      examples: ['api projects.config', 'api projects.config proj_demo -o json'],
      defaultParam: projectInUse,
    }),
    operation('render.frame', {
      details: 'Without asset_token: your last fill, else the newest of the project. Counts as a load of the frame.',
      examples: ['api render.frame', 'api render.frame -q'],
      defaultParam: (context) => lastPlacement(context, 'asset_token'),
    }),
  ],
}

/** Returns the command of an operation, under the name that the contract has for it. */
function operation<Id extends EndpointId>(id: Id, extra: Parameters<typeof endpointCommand<Id>>[1]): Command {
  return endpointCommand(id, { ...extra, name: id })
}

function pollDecision(): Command {
  const poll = operation('decisions.get', {
    details:
      'Without slot_id: the newest placement, yours or that of your app. With --wait it returns once the slot is decided.',
    examples: ['api decisions.get', 'api decisions.get --wait -o json'],
    defaultParam: (context) => lastPlacement(context, 'slot_id'),
    after: (context, decision) => savePlacement(context, decision, null),
    text: placementSummary,
  })

  return {
    ...poll,
    options: [...(poll.options ?? []), new Option('--wait', 'poll until it is decided')],
    async run(context, input) {
      if (input.options.wait !== true) return poll.run(context, input)
      const slot_id = input.args[0] ?? (await lastPlacement(context, 'slot_id'))
      await untilDecided(context, slot_id)
      return poll.run(context, { ...input, args: [slot_id] })
    },
  }
}

/** Resolves when the slot is no longer pending. Each poll waits as long as the service allows. */
async function untilDecided({ client, out, signal }: CommandContext, slot_id: string): Promise<void> {
  const request = { params: { slot_id }, query: { wait_ms: limits.wait_ms.max } }
  const polling = async () => {
    while ((await client({}).decisions.get(request, { signal })).status === 'pending') signal.throwIfAborted()
  }
  await out.progress(`${slot_id} is pending: waiting for its decision`, polling())
}

function stringsText(strings: ConsentItem['strings']): string {
  return strings.map((each) => `${each.standard}: ${consentStringText(each)}`).join('; ') || '-'
}
