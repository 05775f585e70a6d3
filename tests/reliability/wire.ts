/** Bytes over a socket, without an HTTP client's good manners. */
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Response } from './responses.ts'

export interface WireCase {
  name: string
  bytes: Buffer
  /**
   * After the bytes: `idle` waits for a response and half-closes when there is none; `end` half-closes at once, `drop`
   * closes at once, `hold` sends nothing more and waits until the server closes.
   */
  ending: 'idle' | 'end' | 'drop' | 'hold'
}

export interface WireResult {
  received: Buffer
  /** Whether the server responded or closed before the deadline. */
  isSettled: boolean
}

/** How long to wait for more before a case counts as responded to, and before the request is ended for a silent server. */
const quiet_ms = 8
const silent_ms = 60

export function exchange(url: string, { bytes, ending }: WireCase, deadline_ms: number): Promise<WireResult> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const received: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    let idle: NodeJS.Timeout | undefined
    const settle = (isSettled: boolean) => {
      clearTimeout(idle)
      clearTimeout(deadline)
      socket.destroy()
      resolve({ received: Buffer.concat(received), isSettled })
    }
    const deadline = setTimeout(() => settle(false), deadline_ms)
    socket.on('connect', () => {
      socket.write(bytes, () => {
        if (ending === 'drop') settle(true)
        else if (ending === 'end') socket.end()
        else if (ending === 'idle') idle = setTimeout(() => socket.end(), silent_ms)
      })
    })
    socket.on('data', (piece: Buffer) => {
      received.push(piece)
      clearTimeout(idle)
      idle = setTimeout(() => settle(true), quiet_ms)
    })
    socket.on('end', () => settle(true))
    socket.on('error', () => settle(true))
    socket.on('close', () => settle(true))
  })
}

/** Returns the complete responses in what was received, in order. */
export function responsesIn(received: Buffer): Response[] {
  const responses: Response[] = []
  let rest = received.toString('latin1')
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(rest)
    if (status === null) return [...responses, { status: 0, headers: {}, body: rest.slice(0, 200) }]
    if (end === -1) return responses
    const headers: Response['headers'] = {}
    for (const line of rest.slice(0, end).split('\r\n').slice(1)) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    rest = rest.slice(end + 4)
    const length = Number(headers['content-length'] ?? 0)
    const isBare = rest === '' || rest.startsWith('HTTP/1.1 ')
    if (!isBare && rest.length < length) return responses
    const body = isBare ? '' : rest.slice(0, length)
    if (headers['transfer-encoding'] !== undefined) return responses
    if (Number(status[1]) >= 200) responses.push({ status: Number(status[1]), headers, body: fromLatin1(body) })
    rest = rest.slice(body.length)
  }
  return responses
}

function fromLatin1(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8')
}

/** Sends pieces, each after the server has responded to the one before, and returns the statuses until the close. */
export async function listStatuses(url: string, pieces: readonly string[]): Promise<number[]> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let received = ''
  const closed = new Promise<void>((resolve) => socket.on('close', resolve).on('end', () => socket.end()))
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1')
  })
  socket.on('error', () => {})
  for (const piece of pieces) {
    const before = received.length
    await written(socket, piece)
    while (received.length === before && !socket.readableEnded && !socket.destroyed) await wait(2)
  }
  await closed
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

function written(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve) => socket.write(text, () => resolve()))
}
