/** The events of a stream, one after the other, as they come. */
import type { SeenEvent } from './history.ts'

/** Yields the events of the body of a response to `GET /_sandbox/events`. Comments between them are left out. */
export async function* readEventStream(body: Response['body']): AsyncGenerator<SeenEvent> {
  if (body === null) return
  let text = ''
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const { events, rest } = splitEvents(text + piece)
    text = rest
    yield* events
  }
}

/** Returns the events of a text that are whole, and the text after them. */
export function splitEvents(text: string): { events: SeenEvent[]; rest: string } {
  const blocks = text.split('\n\n')
  const rest = blocks.pop() ?? ''
  const events = blocks.flatMap((block) => {
    const data = /^data: (.*)$/m.exec(block)?.[1]
    return data === undefined ? [] : [JSON.parse(data) as SeenEvent]
  })
  return { events, rest }
}
