/** Servers of any kind, on ports of their own. Nothing of what they send is believed. */
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { readAnswer } from './port-answer.ts'

async function answerOf(server: ReturnType<typeof createServer>): Promise<string | null> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return readAnswer('127.0.0.1', (server.address() as AddressInfo).port)
}

const http = (listener: RequestListener) => answerOf(createHttpServer(listener))
const tcp = (onConnection: (socket: Socket) => void) => answerOf(createServer(onConnection))

test.each<[string, RequestListener, string]>([
  [
    'its status and the header that names it',
    (_, response) => response.writeHead(404, { server: 'mockery/5.1' }).end('{}'),
    'answers GET / with 404 (server: mockery/5.1)',
  ],
  [
    'X-Powered-By without Server',
    (_, response) => response.writeHead(200, { 'X-Powered-By': 'Express' }).end('<title>Shop</title>'),
    'answers GET / with 200 (X-Powered-By: Express)',
  ],
  [
    'the title of a page',
    (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html><title>\n Shop </title>'),
    'answers GET / with 200 (Shop)',
  ],
  [
    'the beginning of anything else, sent in parts',
    (_, response) => {
      response.write('{"type":"https://mock.example/errors#NO_PATH"')
      response.end(',"title":"Route not resolved"}')
    },
    'answers GET / with 200 ({"type":"https://mock.example/errors#NO_PATH","title":"Route...)',
  ],
  ['an empty body', (_, response) => response.writeHead(204).end(), 'answers GET / with 204'],
])('of an HTTP server: %s', async (_, listener, expected) => {
  expect(await http(listener)).toBe(expected)
})

test('of a program that speaks first, its first words', async () => {
  expect(await tcp((socket) => socket.end('SSH-2.0-OpenSSH_9.2p1\r\n'))).toBe('answers SSH-2.0-OpenSSH_9.2p1')
})

test('of TLS, its name', async () => {
  const alert = Buffer.from([0x15, 3, 3, 0, 2, 2, 70])
  expect(await tcp((socket) => socket.once('data', () => socket.end(alert)))).toBe('speaks TLS')
})

test('nothing that steers a terminal, forges a line or fills one', async () => {
  const hostile = `HTTP/1.1 200 OK\r\nServer: \u001b[2J\u001b]0;svc\u0007 the sandbox is ready\nhint: ${'x'.repeat(500)}\r\n\r\n`
  const answer = await tcp((socket) => socket.end(hostile))
  expect(answer).toMatch(/^answers GET \/ with 200 \(Server: \\u001b\[2J.{0,60}\)$/)
})

test('a program that takes connections and is silent, or closes them, does not answer HTTP', async () => {
  const silent = 'accepts connections and does not answer HTTP'
  expect(await Promise.all([tcp(() => {}), tcp((socket) => void socket.destroy())])).toEqual([silent, silent])
})

test('an answer without an end is read to 4 kB', async () => {
  let sent = 0
  const answer = await tcp((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nserver: endless\r\n\r\n')
    const more = () => {
      while (socket.write(Buffer.alloc(65_536, 'x'))) sent += 65_536
      socket.once('drain', more)
    }
    more()
  })
  expect(answer).toBe('answers GET / with 200 (server: endless)')
  expect(sent).toBeLessThan(2 ** 27)
})

test('nothing is there where nothing listens', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  expect(await readAnswer('127.0.0.1', port)).toBeNull()
})
