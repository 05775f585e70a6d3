/** A service with faults: a proxy in front of a sandbox, which alters its responses. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A response to alter. `json` is its body where that is JSON, to be changed in place. */
export interface Passing {
  method: string
  path: string
  /** The body of the request as JSON; null where it is none. */
  sent: Record<string, unknown> | null
  request_headers: Readonly<Record<string, string | string[] | undefined>>
  status: number
  headers: Record<string, string>
  text: string
  json: (Record<string, unknown> & { placement: object; decision: object }) | null
}

export interface BrokenProxy {
  url: string
  /** Count of requests. */
  count: number
  /** Errors that `alter` has thrown, for the test to check. */
  failures: unknown[]
  alter(passing: Passing): void
  [Symbol.asyncDispose](): Promise<void>
}

export async function startProxy(target: string): Promise<BrokenProxy> {
  const server = createServer(async (request, response) => {
    proxy.count++
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
    const answer = await fetch(target + request.url, {
      method: request.method as string,
      headers: headers as Record<string, string>,
      ...(body.length === 0 ? {} : { body }),
    })
    const text = await answer.text()
    const passing: Passing = {
      method: request.method as string,
      path: request.url as string,
      sent: parse(body.toString()),
      request_headers: request.headers,
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      text,
      json: parse(text) as Passing['json'],
    }
    const before = JSON.stringify(passing.json)
    try {
      proxy.alter(passing)
    } catch (error) {
      proxy.failures.push(error)
    }
    const {
      'content-length': _length,
      'transfer-encoding': _coding,
      'content-encoding': _encoding,
      ...kept
    } = passing.headers
    response.writeHead(passing.status, kept)
    const isSame = passing.json === null || JSON.stringify(passing.json) === before
    response.end(isSame ? passing.text : JSON.stringify(passing.json))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: BrokenProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: 0,
    failures: [],
    alter: () => {},
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return null
  }
}
