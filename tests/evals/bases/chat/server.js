import { createApp } from './http.js'

const app = createApp('public')

app.post('/api/chat', ({ body }, response) => {
  response.json({ answer: `You asked: ${body.question} Weigh it: 18 g in, 36 g out.` })
})

app.listen(process.env.PORT)
