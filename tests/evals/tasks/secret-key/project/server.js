import { createApp } from './http.js'

const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY } = process.env
const app = createApp('public')

app.post('/api/chat', ({ body }, response) => {
  response.json({ answer: `You asked: ${body.question} Weigh it: 18 g in, 36 g out.` })
})

app.get('/api/config', ({ session }, response) => {
  response.json({ base_url: SVC_BASE_URL, client_id: SVC_CLIENT_ID, key: SVC_SECRET_KEY, session_id: session })
})

app.listen(process.env.PORT)
