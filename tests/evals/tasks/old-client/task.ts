/** A client of the routes before v1, on a service that has them no more. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '../../task.ts'

export const oldClient: Task = {
  name: 'old-client',
  prompt: `Our terminal app still uses the routes of the service before v1, which are being turned off: at SVC_BASE_URL they are gone already. Move
ads.js to v1 (POST /v1/placements or /v1/jobs, /v1/decisions, /v1/beacons). It has to go on asking with the session and topic of the turn, and
reporting a view only when the app says so. Documentation: $SVC_BASE_URL/_sandbox/docs/migrating.md`,
  sandbox: { strict: true },
  sends_beacons: true,
  solutions: {
    'wrong-old-beacon-fields': 'view_not_billed',
    'wrong-old-beacon-route': 'view_not_billed',
    'wrong-session-lost': 'session_lost',
    'attack-after-right': 'billed_before_seen',
  },
  async grade(trial) {
    const url = await trial.serve(['node', 'server.js'])
    const answer = await trial.call(`${url}/api/turn`, { session_id: 'sess_terminal', topic: 'automation' })
    const { slot_id = null } = (answer?.body ?? {}) as { slot_id?: string | null }
    trial.require('no_ad', slot_id, 'The turn has no ad.')
    const early = (await trial.beacons()).length
    trial.check('billed_before_seen', early === 0, `${early} beacons were sent before the app had shown the ad.`)
    const [placement] = (await trial.journal()).placements
    trial.check(
      'session_lost',
      placement?.session_id === 'sess_terminal',
      'The placement is not of the session of its turn.',
    )
    // As long as the app says that it has shown the ad: a view that is longer than that is implausible.
    await sleep(1_300)
    await trial.call(`${url}/api/seen`, { slot_id, visible_ms: 1_200 })
    const billed = (await trial.beacons()).filter(({ would_bill }) => would_bill)
    trial.check('view_not_billed', billed.length === 1, `${billed.length} views count.`)
  },
}
