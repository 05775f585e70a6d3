import { createApp } from './http.js'

const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY } = process.env
const app = createApp('public')

app.post('/api/chat', ({ body }, response) => {
  response.json({ answer: `You asked: ${body.question} Weigh it: 18 g in, 36 g out.` })
})

app.get('/api/config', (_request, response) => response.json({ script_url: `${SVC_BASE_URL}/v1/render.js` }))

app.post('/api/placement', async ({ body, session }, response) => {
  if (body.ads !== true) return response.json({ status: 'ready', placement: null, decision: { fill: false } })
  const share = body.share === true
  await pass(response, '/v1/placements?wait_ms=1500', {
    client_id: SVC_CLIENT_ID,
    session_id: session,
    job_type: 'chat',
    consent: { semantic_targeting: share, prompt_shared: false },
    overrides: { allowed_formats: ['banner'] },
    ...(share ? { prompt: { topic: 'coffee' } } : {}),
  })
})

app.get('/api/placement', async ({ query }, response) => {
  const slot = encodeURIComponent(query.get('slot_id'))
  await pass(response, `/v1/decisions/${slot}?wait_ms=${Number(query.get('wait_ms')) || 0}`)
})

app.listen(process.env.PORT)

/** Passes what the service responds to the page unchanged. */
async function pass(response, path, body) {
  const answer = await fetch(SVC_BASE_URL + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${SVC_SECRET_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(8_000),
  })
  const retry = answer.headers.get('retry-after')
  if (retry !== null) response.setHeader('retry-after', retry)
  response.json(await answer.json(), answer.status)
}
