import { createServer } from 'node:http'
import { findAd, reportView } from './ads.js'

const shown = new Map()

/** POST /api/turn { session_id, topic } returns { slot_id }; POST /api/seen { slot_id, visible_ms } reports the view. */
createServer(async (request, response) => {
  const body = JSON.parse(Buffer.concat(await request.toArray()))
  const answer = await (request.url === '/api/turn' ? turn(body) : seen(body)).catch((error) => {
    console.error(error)
    return { slot_id: null }
  })
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}).listen(process.env.PORT, '127.0.0.1')

async function turn({ session_id, topic }) {
  const ad = await findAd(session_id, topic)
  if (ad !== null) shown.set(ad.slot_id, ad)
  return { slot_id: ad?.slot_id ?? null }
}

async function seen({ slot_id, visible_ms }) {
  await reportView(shown.get(slot_id), visible_ms)
  return { slot_id }
}
