import { SandboxEvent } from '../contract/control/events.ts'
import type { ByteReader } from './transport.ts'

/** Reads server-sent events to the end of the stream. Comments and events off the contract are passed over. */
export async function* readEvents(reader: ByteReader): AsyncGenerator<SandboxEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).replaceAll('\r\n', '\n').split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event !== null) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function parseEvent(block: string): SandboxEvent | null {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n')
  if (data === '') return null
  try {
    return SandboxEvent.safeParse(JSON.parse(data)).data ?? null
  } catch {
    return null
  }
}
