/** The stdio transport over the streams of the system: one message per line, ending with stdin. */
import {
  deserializeMessage,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ProtocolErrorCode,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server'
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
  for await (const line of readLines(stdin, () => refuse(new RangeError('The line is too long.')))) {
    try {
      yield deserializeMessage(line)
    } catch (error) {
      refuse(error)
    }
  }
}

/** Yields the lines of a stream that are not empty. Of one that is longer than any message, the part already read is discarded. */
async function* readLines(stdin: AsyncIterable<Uint8Array>, onTooLong: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stdin) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.map((line) => line.replace(/\r$/, '')).filter((line) => line !== '')
    if (rest.length <= STDIO_DEFAULT_MAX_BUFFER_SIZE) continue
    rest = ''
    onTooLong()
  }
}

/** Returns the response to a line that is not a message, which has no id that the agent would know. */
function renderRefusal(error: unknown): string {
  const [code, message] =
    error instanceof SyntaxError
      ? [ProtocolErrorCode.ParseError, 'The line is not JSON.']
      : [
          ProtocolErrorCode.InvalidRequest,
          'The line is not a JSON-RPC 2.0 message: one object of at most 10 MB, no batch.',
        ]
  return `${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`
}
