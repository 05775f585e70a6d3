import { createServer } from 'node:http'

const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY } = process.env

/** An agent that answers POST /api/turn: { session_id, question } in, { answer, ad } out. */
createServer(async (request, response) => {
  const { session_id, question } = JSON.parse(Buffer.concat(await request.toArray()))
  const ad = await findAd(session_id).catch(() => null)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ answer: `Done: ${question}`, ad }))
}).listen(process.env.PORT, '127.0.0.1')

async function findAd(session_id) {
  const consent = { semantic_targeting: false, prompt_shared: false }
  const response = await send({ client_id: SVC_CLIENT_ID, session_id, job_type: 'agent', consent })
  if (!response.ok) return null
  const placement = await response.json()
  return placement.decision?.fill === true ? placement : null
}

function send(body) {
  return fetch(`${SVC_BASE_URL}/v1/placements?wait_ms=1500`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SVC_SECRET_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  })
}
