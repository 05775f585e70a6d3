/**
 * Stands between a project and the sandbox of its grader: the API goes through unchanged, the control plane does not. A program that
 * tries to reset the journal, move the clock or change what bills gets a 403, and the grader is told.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { listeningPort } from '#foundation/http.ts'

export interface Gate extends AsyncDisposable {
  url: string
  /** Requests to the control plane that were refused: method and path. */
  refused: readonly string[]
  /** Where requests go from now on. */
  open(sandbox_url: string): void
}

/** What an agent reads for help, and what the console of a page loads; no grader needs to keep either from it. */
const documentation = /^\/_sandbox\/(docs|mcp|console)\b/

export async function openGate(): Promise<Gate> {
  const refused: string[] = []
  let target: URL | null = null
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://gate').pathname
    if (target === null) return void response.writeHead(503).end()
    if (!/^\/(v1|public|assets)\//.test(path) && !documentation.test(path) && path !== '/llms.txt') {
      refused.push(`${request.method} ${path}`)
      return void response.writeHead(403).end('The grader keeps this to itself.')
    }
    pass(request, response, target)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${listeningPort(server)}`,
    refused,
    open: (sandbox_url) => {
      target = new URL(sandbox_url)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pass(request: IncomingMessage, response: ServerResponse, { hostname, port }: URL): void {
  const { method, url: path, headers } = request
  const onward = send({ hostname, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    answer.pipe(response)
  })
  // A connection that a fault of the sandbox drops is dropped here too.
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}
