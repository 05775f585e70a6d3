/** The stdio transport over the streams of the system: one message per line, ending with stdin. */
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ErrorCode, isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { System } from '#cli/run/system.ts'
import type { SandboxAccess } from './access.ts'
import { connectMcpServer } from './server.ts'

/** Serves one agent. Resolves when stdin has ended and each request has its response, or when `signal` is aborted. */
export async function serveStdio(
  { stdin, stdout, closeInput }: Pick<System, 'stdin' | 'stdout' | 'closeInput'>,
  access: SandboxAccess,
  signal: AbortSignal,
): Promise<void> {
  const open = new OpenRequests()
  const transport: Transport = {
    start: async () => {},
    async send(message: JSONRPCMessage) {
      stdout.write(serializeMessage(message))
      open.note(message)
    },
    close: async () => transport.onclose?.(),
  }
  const server = await connectMcpServer(access, transport)
  const stop = () => closeInput()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    for await (const message of readMessages(stdin, (error) => stdout.write(renderRefusal(error)))) {
      open.note(message)
      transport.onmessage?.(message)
    }
    await open.none(signal)
  } catch (error) {
    // A stream closed here ends with an error.
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
    await server.close()
  }
}

/** The requests of an agent that have no response yet. */
class OpenRequests {
  readonly #ids = new Set<unknown>()
  #onNone = () => {}

  /** Takes a message from either side: a request opens an entry, its response or cancellation closes it. */
  note(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) this.#ids.add(message.id)
    else if (!('method' in message)) this.#ids.delete(message.id)
    else if (message.method === 'notifications/cancelled') this.#ids.delete(message.params?.requestId)
    if (this.#ids.size === 0) this.#onNone()
  }

  /** Resolves as soon as none is open, or when `signal` is aborted. */
  async none(signal: AbortSignal): Promise<void> {
    if (this.#ids.size === 0 || signal.aborted) return
    await new Promise<void>((resolve) => {
      this.#onNone = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

/** Yields the messages of a stream. A line that is not a message is refused and skipped. */
async function* readMessages(
  stdin: AsyncIterable<Uint8Array>,
  refuse: (error: unknown) => void,
): AsyncGenerator<JSONRPCMessage, void, undefined> {
  const buffer = new ReadBuffer()
  for await (const chunk of stdin) {
    try {
      buffer.append(Buffer.from(chunk))
    } catch (error) {
      // Longer than any message: the part already read is discarded.
      refuse(error)
    }
    for (;;) {
      try {
        const message = buffer.readMessage()
        if (message === null) break
        yield message
      } catch (error) {
        refuse(error)
      }
    }
  }
}

/** Returns the response to a line that is not a message, which has no id that the agent would know. */
function renderRefusal(error: unknown): string {
  const [code, message] =
    error instanceof SyntaxError
      ? [ErrorCode.ParseError, 'The line is not JSON.']
      : [ErrorCode.InvalidRequest, 'The line is not a JSON-RPC 2.0 message: one object of at most 10 MB, no batch.']
  return `${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`
}
