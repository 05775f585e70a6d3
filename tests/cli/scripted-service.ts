/**
 * A service in front of a real sandbox: requests go through, and a script says what clients receive in place of the real
 * response. Text that a script has put into responses is taken out of the requests that bring it back.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { type Json, parseJson } from '#foundation/json.ts'

export interface Received {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string
}

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** Returns what a client receives. `real` is what the sandbox responded. */
export type Script = (real: Answer, endpoint: Endpoint | null) => Answer

export interface ScriptedService extends AsyncDisposable {
  readonly url: string
  readonly received: readonly Received[]
  script: Script
}

export async function startScriptedService(sandbox_url: string, added: string): Promise<ScriptedService> {
  const received: Received[] = []
  const service = {
    url: '',
    received,
    script: ((real) => real) as Script,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const forms = [
    added,
    JSON.stringify(added).slice(1, -1),
    encodeURIComponent(added),
    String(new URLSearchParams({ '': added })).slice(1),
  ]
  const clean = (text: string) => forms.reduce((rest, form) => rest.replaceAll(form, ''), text)

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const body = Buffer.concat(chunks)
    received.push({ method, url, headers, body: body.toString('utf8') })
    const { host: _, connection: __, 'content-length': ___, 'transfer-encoding': ____, ...sent } = headers
    const isText = !(headers['content-type'] ?? '').includes('gzip')
    const ended = new AbortController()
    response.on('close', () => ended.abort())
    const real = await fetch(sandbox_url + clean(url), {
      method,
      headers: sent,
      redirect: 'manual',
      signal: ended.signal,
      ...(body.length === 0 ? {} : { body: isText ? clean(body.toString('utf8')) : body }),
    })
    const endpoint = findEndpoint(method, withoutQuery(clean(url)))
    const kept = Object.fromEntries(
      [...real.headers].filter(
        ([name]) => !/^(content-length|transfer-encoding|connection|content-encoding)$/.test(name),
      ),
    )
    if (kept['content-type']?.includes('event-stream') === true && real.body !== null) {
      response.writeHead(real.status, kept)
      const decoder = new TextDecoder()
      for await (const bytes of real.body) {
        for (const line of decoder.decode(bytes).split(/(?<=\n)/)) {
          const data = /^data: ?(.*)\n$/.exec(line)?.[1]
          if (data === undefined) response.write(line)
          else
            response.write(`data: ${service.script({ status: real.status, headers: kept, body: data }, null).body}\n`)
        }
      }
      response.end()
      return
    }
    const answer = service.script({ status: real.status, headers: kept, body: await real.text() }, endpoint)
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const server = createServer((request, response) => void respond(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return service
}

function findEndpoint(method: string, path: string): Endpoint | null {
  const endpoints = Object.values<Endpoint>(contract)
  return endpoints.find((endpoint) => endpoint.method === method && pathPattern(endpoint.path).test(path)) ?? null
}

/** Returns a script that adds a text to every string, field name and header; `keepsContract` to those that allow it. */
export function addingText(added: string, keepsContract: boolean): Script {
  return (real, endpoint) => {
    const json = parseJson(real.body)
    if (json === undefined) return { ...real, body: real.body + added }
    const schema = endpoint !== null && 'safeParse' in endpoint.response && real.status < 400 ? endpoint.response : null
    const isAllowed = (value: Json) => !keepsContract || schema === null || schema.safeParse(value).success
    let whole: Json = json
    for (const path of stringPaths(json, [])) {
      const changed = withText(whole, path, added)
      if (isAllowed(changed)) whole = changed
    }
    const body =
      keepsContract || typeof whole !== 'object' || whole === null || Array.isArray(whole)
        ? whole
        : { ...whole, [added]: added, nested: { [added]: [added, { [added]: added }] } }
    const latin = added.replace(/[^\u0020-\u007e\u0080-\u00ff]/g, '')
    return {
      ...real,
      headers: { ...real.headers, 'x-sandbox-warning': `odd${latin}`, 'x-request-id': `req_00000000001${latin}` },
      body: JSON.stringify(body),
    }
  }
}

function stringPaths(value: Json, path: readonly (string | number)[]): (string | number)[][] {
  if (typeof value === 'string') return [[...path]]
  if (typeof value !== 'object' || value === null) return []
  const entries = Array.isArray(value) ? [...value.entries()].slice(0, 3) : Object.entries(value)
  return entries.flatMap(([name, inner]) => stringPaths(inner as Json, [...path, name]))
}

function withText(value: Json, [name, ...rest]: readonly (string | number)[], added: string): Json {
  if (name === undefined) return `${String(value)}${added}`
  if (Array.isArray(value)) return value.with(Number(name), withText(value[Number(name)]!, rest, added))
  const fields = value as Readonly<Record<string, Json>>
  return { ...fields, [name]: withText(fields[String(name)]!, rest, added) }
}
