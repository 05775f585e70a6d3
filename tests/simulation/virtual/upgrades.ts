/** Connections that become sockets: bytes in both directions, each on its way for a while. */
import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Duplex, Readable } from 'node:stream'
import type { Scheduler } from './scheduler.ts'

export interface Connection {
  /** Sends bytes to the process. */
  write(bytes: Buffer): void
  /** Closes it: the process hears of it. */
  end(): void
}

export interface Connected {
  onBytes(bytes: Buffer): void
  onEnd(): void
}

/** The side of the process: what it writes arrives later, and in order. */
export class ServerSocket extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly #scheduler: Scheduler
  readonly #client: Connected
  /** Whether nothing is on its way any more. */
  isCut = false

  constructor(scheduler: Scheduler, client: Connected) {
    super()
    this.#scheduler = scheduler
    this.#client = client
    this.once('close', () => this.#end())
    // What it is about is gone with it.
    this.on('error', () => {})
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isCut) this.#later(() => this.#client.onBytes(chunk))
    done()
  }

  override _final(done: () => void): void {
    done()
    this.#end()
  }

  /** The process is gone: what it writes now is not seen. */
  cut(): void {
    this.#end()
  }

  resetAndDestroy(): this {
    return this.destroy()
  }

  #end(): void {
    if (this.isCut) return
    this.isCut = true
    this.#later(() => this.#client.onEnd())
  }

  /** In their order: those of one connection never overtake each other. */
  #later(run: () => void): void {
    this.#queue.push(run)
    this.#scheduler.add('network', this.#scheduler.dice.below(3), () => this.#queue.shift()?.())
  }
  readonly #queue: (() => void)[] = []
}

/** Hands a handshake to the server. Returns the connection of the client. */
export function upgrade(
  server: EventEmitter,
  { path, headers }: { path: string; headers: Record<string, string> },
  socket: ServerSocket,
): Connection {
  const all: Record<string, string> = { host: '127.0.0.1:4010', ...headers }
  const facts = { method: 'GET', url: path, headers: all, socket, complete: true, httpVersion: '1.1' }
  const rawHeaders = Object.entries(all).flat()
  const incoming = Object.assign(Readable.from([]), facts, { httpVersionMajor: 1, httpVersionMinor: 1, rawHeaders })
  server.emit('upgrade', incoming as unknown as IncomingMessage, socket, Buffer.alloc(0))
  return {
    write: (bytes) => void (socket.isCut || socket.destroyed || socket.push(bytes)),
    // A process that is gone does not hear of it.
    end: () => void (socket.isCut || socket.destroy()),
  }
}
