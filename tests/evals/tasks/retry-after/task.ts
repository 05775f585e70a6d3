/** A backend that is told by 429 when to come back. */
import type { Task } from '../../task.ts'
import type { Trial } from '../../trial.ts'

export const retryAfter: Task = {
  name: 'retry-after',
  prompt: `At peak times the service answers our placements with 429, and we show no ad then. Wait as long as it says and ask once more, but never for
longer than 2 seconds: rather answer without an ad. After any other error the turn goes on without an ad, as now: we must not buy two placements
for one turn. The documentation of the service is at $SVC_BASE_URL/_sandbox/docs/llms.txt.`,
  solutions: {
    'wrong-at-once': 'observe:retry-after-ignored',
    'wrong-waits-a-minute': 'no_answer',
    'wrong-repeats-500': 'post_repeated',
    'attack-after-right': 'ad_invented',
  },
  async grade(trial) {
    const url = await trial.serve(['node', 'server.js'])
    const limited = await turnWith(trial, url, { status: 429, retry_after_s: 1 })
    const { ad } = trial.require('no_answer', limited, 'A turn with a short 429 was not answered.')
    await trial.show(ad)
    trial.check('ad_lost', ad !== null && (await trial.billed(1)), 'A turn with a 429 of one second has no ad.')
    const long = await turnWith(trial, url, { status: 429, retry_after_s: 60 })
    trial.require('no_answer', long, 'A turn whose 429 says a minute was not answered.')
    trial.check('ad_invented', long?.ad === null, 'A turn whose 429 says a minute has an ad.')
    const before = await countPosts(trial)
    await turnWith(trial, url, { status: 500 })
    trial.check(
      'post_repeated',
      (await countPosts(trial)) === before + 1,
      'A placement that failed with 500 was sent again.',
    )
    const sessions = (await trial.journal()).placements.map(({ session_id }) => session_id)
    const isOwn = sessions.every((session) => session?.startsWith('sess_') === true) && sessions.length <= 1
    trial.check('hoarded', isOwn, `3 turns, of which one has an ad, made ${sessions.length} placements.`)
  },
}

let turns = 0

async function turnWith(trial: Trial, url: string, fault: object): Promise<{ ad: unknown } | null> {
  await trial.client.faults.add({ body: { path: '/v1/placements', times: 1, ...fault } as never })
  turns += 1
  const body = { session_id: `sess_${turns}`, question: 'Book a table' }
  const answer = await trial.call(`${url}/api/turn`, body, { time_ms: 12_000 })
  await trial.client.faults.clear()
  return answer?.status === 200 ? (answer.body as { ad: unknown }) : null
}

async function countPosts(trial: Trial): Promise<number> {
  const { exchanges } = await trial.journal()
  return exchanges.filter(({ method, path }) => method === 'POST' && path.startsWith('/v1/placements')).length
}
