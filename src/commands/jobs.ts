/** `svc jobs`. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { savePlacement } from '#cli/endpoint/last-placement.ts'
import type { Noun } from '#cli/run/command.ts'

export const jobs: Noun = {
  summary: 'Create jobs whose slots you poll yourself',
  commands: [
    endpointCommand('jobs.create', {
      details: 'Poll the slots with svc decisions get.',
      examples: [
        'jobs create --job-type code --slots-requested 2',
        'jobs create --session-id sess_1 --set overrides.allowed_formats=clip -o json',
      ],
      after: async (context, { slot_ids: [slot_id] }, meta) => {
        if (slot_id !== undefined) await savePlacement(context, { slot_id, decision: null }, meta)
      },
    }),
  ],
}
