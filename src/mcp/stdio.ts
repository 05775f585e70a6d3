/** The stdio transport over the streams of the host: one message a line, and an end with that of stdin. */
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { Host } from '../cli/run/host.ts'
import type { SandboxAccess } from './access.ts'
import { createMcpServer } from './server.ts'

/** Serves one agent. Resolves when stdin has ended, or when `signal` is aborted. */
export async function serveStdio(
  { stdin, stdout, closeInput }: Pick<Host, 'stdin' | 'stdout' | 'closeInput'>,
  access: SandboxAccess,
  signal: AbortSignal,
): Promise<void> {
  const transport: Transport = {
    start: async () => {},
    send: async (message: JSONRPCMessage) => stdout.write(serializeMessage(message)),
    close: async () => transport.onclose?.(),
  }
  const server = createMcpServer(access)
  await server.connect(transport)
  const stop = () => closeInput()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    for await (const message of messagesOf(stdin, (error) => transport.onerror?.(error))) transport.onmessage?.(message)
  } catch (error) {
    // A stream that was closed here ends with an error.
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
    await server.close()
  }
}

/** Yields the messages of a stream. A line that is none is reported, and passed over. */
async function* messagesOf(
  stdin: AsyncIterable<Uint8Array>,
  report: (error: Error) => void,
): AsyncGenerator<JSONRPCMessage, void, undefined> {
  const buffer = new ReadBuffer()
  for await (const chunk of stdin) {
    buffer.append(Buffer.from(chunk))
    for (;;) {
      try {
        const message = buffer.readMessage()
        if (message === null) break
        yield message
      } catch (error) {
        report(error as Error)
      }
    }
  }
}
