/** The service by its older routes. */
import { randomUUID } from 'node:crypto'

const { SVC_BASE_URL, SVC_SECRET_KEY } = process.env
const root = '/public/wrapper/v1'

/** Returns the decision of a turn, or null without an ad. */
export async function findAd(session, topic) {
  const job = { job_type: 'agent', chat_session_id: session, slots_requested: 1, context: { topic } }
  const { slot_ids } = await send('POST', `${root}/jobs`, { ...job, consent: { semantic_targeting: true } })
  const decision = await send('GET', `${root}/slots/${slot_ids[0]}/decision`)
  return decision.fill === true ? { slot_id: slot_ids[0], ...decision } : null
}

/** Reports that the terminal has shown an ad for so long. */
export async function reportView({ slot_id, asset_token }, visible_ms) {
  for (const beacon_type of ['rendered', 'on_view']) {
    const occurred_at_ms_client = Date.now()
    const metadata = { visible_ms, visible_ratio: 1 }
    const beacon = { beacon_id: randomUUID(), slot_id, asset_token, beacon_type, occurred_at_ms_client, metadata }
    await send('POST', `${root}/beacons`, beacon)
  }
}

async function send(method, path, body) {
  const response = await fetch(SVC_BASE_URL + path, {
    method,
    headers: {
      authorization: `Bearer ${SVC_SECRET_KEY}`,
      'content-type': 'application/json',
      'x-csl-wrapper-version': '1',
    },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path} responded ${response.status}`)
  return response.json()
}
