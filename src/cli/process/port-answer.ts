/**
 * What a program answers on a port of this computer, in words. It may be anything: it gets one plain request and a second,
 * at most 4 kB of its answer are read, and none of it is believed, only shown.
 */
import { connect } from 'node:net'
import { oneLine } from '#text/terminal.ts'

const withinMs = 1_000
const maxBytes = 4_096
/** The longest part of an answer that is shown, characters. */
const maxShown = 60

/** Headers by which servers say what they are. */
const namingHeaders = ['server:', 'x-powered-by:']

/**
 * Resolves to what a program answers to `GET /`, as a clause without its subject: `answers GET / with 404 (Server: nginx)`. Null
 * when nothing listens there.
 */
export function readAnswer(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let bytes = 0
    let isConnected = false
    const socket = connect({ host, port })
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isConnected ? describeAnswer(Buffer.concat(pieces).subarray(0, maxBytes)) : null)
    }
    const timer = setTimeout(end, withinMs)
    socket.on('error', end)
    socket.on('close', end)
    socket.on('connect', () => {
      isConnected = true
      const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
      // In HTTP/1.0 a body comes as it is, not in parts with their sizes, and its end is that of the connection.
      socket.write(`GET / HTTP/1.0\r\nHost: ${authority}\r\nAccept: */*\r\n\r\n`)
    })
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      bytes += piece.length
      if (bytes >= maxBytes) end()
    })
  })
}

function describeAnswer(bytes: Buffer): string {
  if (bytes.length === 0) return 'accepts connections and does not answer HTTP'
  // A record of TLS: handshake or alert, version 3.
  if ((bytes[0] === 0x15 || bytes[0] === 0x16) && bytes[1] === 3) return 'speaks TLS'
  const text = bytes.toString()
  const [, status] = /^HTTP\/\d(?:\.\d)? (\d{3})\b/.exec(text) ?? []
  if (status === undefined) return `answers ${shorten(text)}`
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const body = rest.join('\n')
  const lines = head.split('\r\n')
  const named = namingHeaders.map((name) => lines.find((line) => line.toLowerCase().startsWith(name)))
  const header = named.find((line) => line !== undefined)
  const detail = shorten(header ?? /<title>([^<]*)/i.exec(body)?.[1] ?? body)
  return `answers GET / with ${status}${detail === '' ? '' : ` (${detail})`}`
}

function shorten(text: string): string {
  const line = oneLine(text.slice(0, maxBytes)).replaceAll(/\s+/g, ' ').trim()
  return line.length > maxShown ? `${line.slice(0, maxShown)}...` : line
}
