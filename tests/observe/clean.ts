/** A correct integration that meets everything that rules look at, trouble too. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  activate,
  ask,
  beacon,
  call,
  client_id,
  consent,
  fault,
  frame,
  job,
  newSession,
  pageOrigin,
  pass,
  sandbox,
  scenario,
  show,
  view,
} from './integration.ts'

export async function clean(): Promise<void> {
  const session_id = newSession()
  await consent(session_id, 'granted')
  await show(await ask({ session_id, consent: undefined, prompt: { topic: 'coffee', text: 'beans for espresso' } }))
  await show(await ask({ prompt: { text: 'beans for espresso' }, slot_hint: { max_width: 728, max_height: 600 } }))
  await ask({ test_outcome: 'no_fill' })
  await call('GET', `/v1/projects/${client_id}/config`)
  await callback()
  await page()
  await seenLate()
  await trouble()
  await pending()
  // By then every shown ad has had time to send its beacons.
  await pass(6_000)
  // The user withdraws consent, and sees no more ads.
  await consent(session_id, 'withdrawn')
}

async function callback(): Promise<void> {
  const receiver = createServer((_, response) => response.writeHead(204).end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  await job(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/decided`)
  receiver.close()
}

async function page(): Promise<void> {
  const { body } = await activate()
  const options = { key: body.activation_token, origin: pageOrigin }
  const session_id = newSession()
  for (const topic of ['coffee', 'travel']) {
    const answer = await ask({ session_id, prompt: { topic } }, options)
    if (answer.body.decision.fill) await show(answer, options)
  }
}

/** Nobody could measure the first view, as while the renderer's judge is on its way; the second was seen. */
async function seenLate(): Promise<void> {
  const answer = await ask()
  await frame(answer)
  await beacon(answer, 'render', { seq: 0, measurements: { width_px: 300, height_px: 250, visible_ratio: 1 } })
  await beacon(answer, 'visible', {
    seq: 1,
    measurements: { visible_ratio: 1, visible_ms: 0, visibility_check: 'none' },
  })
  await pass(2_000)
  await beacon(answer, 'visible', { seq: 2, ...view() })
}

/** Each kind of trouble occurs once: the client waits, then repeats the request, unless it cannot succeed. */
async function trouble(): Promise<void> {
  const session_id = newSession()
  const fields = { session_id, test_outcome: 'no_fill' }
  await fault({ path: '/v1/placements', status: 429, retry_after_s: 1 })
  const { headers } = await ask(fields)
  await pass(Number(headers.get('retry-after')) * 1_000 + 10)
  await ask(fields)
  await fault({ path: '/v1/placements', status: 500 })
  await ask({ ...fields, session_id: `${session_id}_b` })
  await pass(500)
  await ask({ ...fields, session_id: `${session_id}_b` })
  await call('GET', '/v1/decisions/slot_00000000000')
}

async function pending(): Promise<void> {
  await scenario('slow_decision')
  const { body } = await ask({ wait_ms: 0 })
  await call('GET', `/v1/decisions/${body.slot_id}?wait_ms=0`)
  const poll = call('GET', `/v1/decisions/${body.slot_id}?wait_ms=20000`)
  await pass(10_000)
  await show(await poll)
  await sandbox('DELETE', '/scenarios')
  const job = { client_id, session_id: newSession(), job_type: 'code' }
  const [slot_id] = (await call('POST', '/v1/jobs', job)).body.slot_ids
  const decided = await call('GET', `/v1/decisions/${slot_id}?wait_ms=2000`)
  if (decided.body.decision.fill) {
    await show(decided)
  }
}
