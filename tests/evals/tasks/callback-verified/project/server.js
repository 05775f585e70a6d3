import { createApp } from './http.js'

const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY, PORT } = process.env
const app = createApp('public')
const decided = []

/** Starts a job in the background; its decision comes to the hook. */
app.post('/api/job', async ({ body }, response) => {
  const consent = { semantic_targeting: false, prompt_shared: false }
  const callback_url = `http://127.0.0.1:${PORT}/hooks/decision`
  const answer = await fetch(`${SVC_BASE_URL}/v1/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SVC_SECRET_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      client_id: SVC_CLIENT_ID,
      session_id: body.session_id,
      job_type: 'agent',
      consent,
      callback_url,
    }),
  })
  response.json(await answer.json())
})

app.post('/hooks/decision', ({ body }, response) => {
  decided.push(body.slot_id)
  response.json({ ok: true })
})

/** The slots whose decision has come. */
app.get('/api/decided', (_request, response) => response.json(decided))

app.listen(PORT)
