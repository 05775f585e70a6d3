/** A receiver of callbacks that has to know which of them the service sent. */
import { createHmac } from 'node:crypto'
import type { Task } from '../../task.ts'
import { type Trial, waitUntil } from '../../trial.ts'

export const callbackVerified: Task = {
  name: 'callback-verified',
  bases: ['chat'],
  prompt: `Our receiver of decisions, POST /hooks/decision, believes whoever calls it. Accept only callbacks that the service has signed with our
secret key, answer anything else with 401, and count a decision once, however often it is delivered. The documentation of the service is at
$SVC_BASE_URL/_sandbox/docs/llms.txt.`,
  ignored: ['fill-unused', 'pending-given-up'],
  solutions: {
    'wrong-serialized-again': 'genuine_refused',
    'wrong-any-signature': 'forged_accepted',
    'wrong-counts-twice': 'counted_twice',
    attack: 'forged_accepted',
  },
  async grade(trial) {
    const url = await trial.serve(['node', 'server.js'])
    const answer = await trial.call(`${url}/api/job`, { session_id: 'sess_hook' })
    const { slot_ids = [] } = (answer?.body ?? {}) as { slot_ids?: string[] }
    const slot = trial.require('no_job', slot_ids[0] ?? null, 'The job was not made.')
    const isThere = await waitUntil(async () => (await listDecided(trial, url)).includes(slot))
    trial.check('genuine_refused', isThere, 'The callback of the service was not accepted.')
    const { secret_key } = trial.sandbox.keys
    // As the service may write it: the signature is of these bytes.
    const genuine = JSON.stringify({ slot_id: slot, status: 'ready', decision: { fill: false } }, null, 2)
    const again = await deliver(url, genuine, sign(genuine, secret_key))
    trial.check('genuine_refused', again < 300, `A callback with a genuine signature got ${again}.`)
    const forged = genuine.replace('false', 'true')
    const signatures = [
      undefined,
      '',
      'sha256=',
      sign(genuine, secret_key),
      sign(forged, 'sk_test_other'),
      'x'.repeat(71),
    ]
    for (const signature of signatures) {
      const status = await deliver(url, forged, signature)
      trial.check('forged_accepted', status === 401, `A forged callback with the signature ${signature} got ${status}.`)
    }
    const times = (await listDecided(trial, url)).filter((each) => each === slot).length
    trial.check('counted_twice', times <= 1, `A decision that was delivered twice was counted ${times} times.`)
  },
}

const sign = (body: string, key: string) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`

async function deliver(url: string, body: string, signature?: string): Promise<number> {
  const headers: Record<string, string> = signature === undefined ? {} : { 'x-csl-signature': signature }
  const response = await fetch(`${url}/hooks/decision`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  }).catch(() => null)
  return response?.status ?? 0
}

async function listDecided(trial: Trial, url: string): Promise<unknown[]> {
  const answer = await trial.call(`${url}/api/decided`)
  return Array.isArray(answer?.body) ? answer.body : []
}
