/**
 * The WebSocket of Node, except that loopback never takes a proxy: under NODE_USE_ENV_PROXY the global class sends even
 * a handshake with this computer to the proxy. It has only what push needs: the news of a message, of an error and of
 * the end.
 *
 * Node's modules are looked up when they are needed, as in node-fetch.ts.
 */
import type { ClientRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import type { PushSocketClass } from './integration.ts'
import { agentFor, hasProxy, isLoopbackUrl } from './node-fetch.ts'

/** Returns the class that push connects with: the global one, except where that would take a proxy to loopback. */
export function nodeSocketFor(base_url: string): PushSocketClass | undefined {
  return URL.canParse(base_url) && isLoopbackUrl(base_url) && hasProxy() ? DirectSocket : undefined
}

const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** A connection without a proxy. */
class DirectSocket extends EventTarget {
  readonly #request: ClientRequest
  #stream: Duplex | null = null

  constructor(url: string) {
    super()
    const address = url.replace(/^ws/, 'http')
    const { request } = process.getBuiltinModule(address.startsWith('https:') ? 'node:https' : 'node:http')
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64')
    const handshake = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
    const agent = agentFor(address)
    this.#request = request(address, { agent, headers: { ...handshake, 'sec-websocket-key': key } })
    this.#request.on('upgrade', (_, stream, head) => this.#read(stream, head))
    this.#request.on('response', () => this.#emit('error'))
    this.#request.on('error', () => this.#emit('error'))
    this.#request.end()
  }

  close(): void {
    this.#stream?.end(frame(opcodes.close))
    this.#request.destroy()
  }

  #emit(type: 'message' | 'error' | 'close'): void {
    this.dispatchEvent(new Event(type))
  }

  #read(stream: Duplex, head: Buffer): void {
    this.#stream = stream
    let rest = Buffer.alloc(0)
    const receive = (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (let next = readFrame(rest); next !== null; next = readFrame(rest)) {
        rest = rest.subarray(next.length)
        if (next.opcode === opcodes.text || next.opcode === opcodes.binary) this.#emit('message')
        if (next.opcode === opcodes.ping) stream.write(frame(opcodes.pong, next.payload))
        if (next.opcode === opcodes.close) stream.end(frame(opcodes.close))
      }
    }
    stream.on('data', receive)
    stream.on('error', () => this.#emit('error'))
    stream.on('close', () => this.#emit('close'))
    receive(head)
  }
}

/** Returns the first frame of some bytes and its length; null when it is not complete. Frames of a server have no mask. */
function readFrame(bytes: Buffer): { opcode: number; payload: Buffer; length: number } | null {
  if (bytes.length < 2) return null
  const short = bytes[1]! & 127
  const start = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < start) return null
  const size = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
  const length = start + size
  return bytes.length < length ? null : { opcode: bytes[0]! & 15, payload: bytes.subarray(start, length), length }
}

/** Returns a control frame of a client: its mask of zeros leaves the payload as it is. */
function frame(opcode: number, payload: Uint8Array = new Uint8Array()): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}
