import { createServer } from 'node:http'

/** An agent that answers POST /api/turn: { session_id, question } in, { answer, ad } out. */
createServer(async (request, response) => {
  const { question } = JSON.parse(Buffer.concat(await request.toArray()))
  const ad = null
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ answer: `Done: ${question}`, ad }))
}).listen(process.env.PORT, '127.0.0.1')
