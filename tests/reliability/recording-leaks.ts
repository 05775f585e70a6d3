/**
 * The matrix of secrets and prompt text through `svc record`: in front of a sandbox, and of a service that repeats in its
 * responses whatever it was sent, in headers, JSON and HTML. No mark may be in any byte of the files.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { escapeHtml } from '#foundation/html.ts'
import { openRecorder } from '#recordings/recorder.ts'
import { createRecordingFile } from '#recordings/recording-file.ts'
import { createSession } from '#recordings/session.ts'
import { startSandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type Case, cases, exchange, isKept, json, type Leak, marksIn } from './secret-cases.ts'

interface Outcome {
  tried: number
  recorded: number
  found: Leak[]
}

/** Sends one case in `every` through a recorder, and looks for all of their marks in its file. */
export async function recordingLeaks(service: 'sandbox' | 'echo', every: number): Promise<Outcome> {
  await using upstream = await (service === 'sandbox' ? openSandbox() : openEcho())
  const all = cases(upstream.asset_token, every)
  const file = join(temporaryDirectory(), `${service}.har`)
  const failures: unknown[] = []
  const session = createSession({
    origin: upstream.url,
    file: createRecordingFile(file, { version: '1', overwrite: false }),
    onEntry: () => undefined,
    onFailure: (error) => failures.push(error),
  })
  const recorder = await openRecorder({
    ...{ upstream: new URL(upstream.url), port: 0, allow_live: false, now: Date.now },
    onExchange: session.add,
    onRefusal: () => session.countRefusal(),
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  try {
    await Promise.all(
      Array.from({ length: 4 }, async (_, lane) => {
        for (const [index, { sent }] of all) if (index % 4 === lane) await exchange(agent, recorder.url, sent)
      }),
    )
  } finally {
    agent.destroy()
    await recorder.close()
  }
  const { exchanges: recorded } = await session.finish()
  if (failures.length > 0) throw failures[0]
  return { tried: all.size, recorded, found: listLeaks(all, readFileSync(file), service) }
}

function listLeaks(all: ReadonlyMap<number, Case>, bytes: Buffer, on: string): Leak[] {
  const encoded = bytes.toString('latin1').match(/[A-Za-z0-9+/]{40,}={0,2}/g) ?? []
  const decoded = Buffer.concat(encoded.map((text) => Buffer.from(text, 'base64')))
  return [...marksIn(bytes), ...marksIn(decoded)].flatMap((index) => {
    const found = all.get(index)
    return found === undefined || isKept(found) ? [] : [{ name: found.name, on }]
  })
}

interface Upstream extends AsyncDisposable {
  url: string
  asset_token: string
}

async function openSandbox(): Promise<Upstream> {
  const sandbox = await startSandbox({ rate_limit: 'off' })
  const body = JSON.stringify({ client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' })
  const response = await fetch(`${sandbox.url}/v1/placements`, { method: 'POST', headers: json, body })
  const { decision } = (await response.json()) as { decision: { asset_token: string } }
  return { url: sandbox.url, asset_token: decision.asset_token, [Symbol.asyncDispose]: () => sandbox.close() }
}

async function openEcho(): Promise<Upstream> {
  const server = createServer((incoming, response) => void echo(incoming, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asset_token: `ast_00000000001_${'t'.repeat(43)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Repeats a request in every part of its response. */
async function echo(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await incoming.toArray()).toString()
  const { url = '', headers } = incoming
  const sent = [...Object.values(headers).flat(), decode(url)].filter(
    (text): text is string => typeof text === 'string',
  )
  const isPage = url.startsWith('/v1/render')
  response.setHeader('content-type', isPage ? 'text/html; charset=utf-8' : 'application/json')
  response.setHeader('x-echo', encodeURIComponent(sent.join(' ')).slice(0, 4_000))
  response.setHeader('location', `/v1/next?from=${encodeURIComponent(url)}`.slice(0, 4_000))
  response.setHeader('set-cookie', `last=${encodeURIComponent(body)}`.slice(0, 4_000))
  const parsed = parse(body)
  response.end(
    isPage
      ? `<p>${escapeHtml(body)}</p>${sent.map((text) => `<q title="${escapeHtml(text)}"></q>`).join('')}`
      : JSON.stringify({ error: 'invalid_request', message: `Not this: ${body}`, sent, parsed }),
  )
}

function decode(url: string): string {
  try {
    return decodeURIComponent(url)
  } catch {
    return url
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
