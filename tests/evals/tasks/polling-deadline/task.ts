/** A backend that creates a job and polls its decision, but never longer than its turn may take. */
import type { Task } from '../../task.ts'
import type { Trial } from '../../trial.ts'

export const pollingDeadline: Task = {
  name: 'polling-deadline',
  prompt: `This agent answers POST /api/turn. Add a sponsored placement to each turn, job type "agent", banner or native: create it with POST /v1/jobs and poll
GET /v1/decisions/{slot_id}. Put the decision response into "ad" as the service sent it, or null for anything but a fill. A turn must be answered
within 3 seconds, with "ad": null if the decision is not there by then. All our users have agreed to ads, not to topics. SVC_BASE_URL, SVC_CLIENT_ID
and SVC_SECRET_KEY are in the environment; documentation: $SVC_BASE_URL/_sandbox/docs/llms.txt.`,
  ignored: ['pending-given-up'],
  // A busy loop would meet it, and lose the ad for that.
  sandbox: { rate_limit: 'off' },
  strict: ['busy-polling'],
  solutions: {
    'wrong-no-deadline': 'no_answer',
    'wrong-busy': 'observe:busy-polling',
    'wrong-pending-is-no-fill': 'late_fill_lost',
    'attack-after-right': 'control_plane_used',
  },
  async grade(trial) {
    const url = await trial.serve(['node', 'server.js'])
    await trial.client.scenario.use({ params: { name: 'slow_decision' }, body: {} })
    const slow = await turn(trial, url, 'sess_slow')
    const filled = trial.require('no_answer', slow, 'A turn whose decision takes 800 ms was not answered.')
    await trial.show(filled.ad)
    trial.check(
      'late_fill_lost',
      await isBilled(trial, filled.ad),
      'The ad that was decided after 800 ms was not in the answer.',
    )
    await trial.client.scenario.use({ params: { name: 'pending_forever' }, body: {} })
    const pending = await turn(trial, url, 'sess_pending')
    const given = trial.require('no_answer', pending, 'A turn whose decision never comes was not answered.')
    trial.check('ad_invented', given.ad === null, 'A turn without a decision has an ad.')
    await trial.client.scenario.use({ params: { name: 'no_fill' }, body: {} })
    const empty = await turn(trial, url, 'sess_no_fill')
    trial.check('ad_invented', empty?.ad === null, 'A turn with a no-fill has an ad.')
    const { placements } = await trial.journal()
    trial.check('not_one_job', placements.length === 3, `3 turns made ${placements.length} slots.`)
  },
}

async function turn(trial: Trial, url: string, session_id: string): Promise<{ ad: unknown } | null> {
  // Three seconds are asked for; a slow computer gets more, and a turn that waits forever none.
  const answer = await trial.call(`${url}/api/turn`, { session_id, question: 'Book a table' }, { time_ms: 12_000 })
  return answer?.status === 200 ? (answer.body as { ad: unknown }) : null
}

function isBilled(trial: Trial, ad: unknown): Promise<boolean> {
  return ad === null ? Promise.resolve(false) : trial.billed(1)
}
