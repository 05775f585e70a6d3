import { answer } from '../../../lib/model'
import { isForeign, membersOf, refuse } from '../../../lib/requests'

/** POST { question }: streams the answer as text. */
export async function POST(request: Request): Promise<Response> {
  if (isForeign(request)) return refuse(403, 'foreign_origin')
  const { question } = await membersOf(request)
  if (typeof question !== 'string') return refuse(400, 'question_missing')
  const words = answer(question, request.signal)
  const text = new ReadableStream<string>({
    async pull(controller) {
      const { value, done } = await words.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
  return new Response(text.pipeThrough(new TextEncoderStream()), {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  })
}
