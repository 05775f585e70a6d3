/**
 * Prism, a validating proxy, between the built-in suites and a sandbox. It reports no response that the document does not
 * describe, and no request that the sandbox accepts and the document forbids.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { startSandbox } from '../../sandbox/index.ts'
import { openapiDocument } from '../../src/core/contract/openapi/document.ts'
import { runCases, withoutBrowser } from '../mutations/suites.ts'
import { environment } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'

interface Violation {
  location: string[]
  severity: string
  message: string
}

interface Exchange {
  /** Method, path and query. */
  line: string
  status: number
  violations: Violation[]
  /** Whether it went past Prism. */
  isDirect: boolean
}

const program = join(inject('tools'), 'node_modules/@stoplight/prism-cli/dist/index.js')

/** Starts Prism in front of `upstream`, and resolves with its address. */
async function startPrism(upstream: string, document = openapiDocument({ server_url: upstream })) {
  const directory = temporaryDirectory()
  const file = join(directory, 'openapi.json')
  writeFileSync(file, JSON.stringify(document))
  const args = ['proxy', file, upstream, '--host', '127.0.0.1', '--port', '0', '--cors=false']
  const child = spawn(process.execPath, [program, ...args], {
    cwd: directory,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let log = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-10_000)
      const [, address] = /listening on (http:\S+)/.exec(log) ?? []
      if (address !== undefined) resolve(address)
    })
    child.once('exit', (code) => reject(new Error(`Prism ended with ${code}\n${log}`)))
  })
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

/** Requests that Prism cannot pass on unchanged: streams, files, and what the document leaves out. */
function isPassedBy(method: string, path: string, templates: readonly RegExp[]): boolean {
  if (method === 'OPTIONS' || method === 'HEAD') return true
  if (/^\/_sandbox\/(events|export|import)$/.test(path)) return true
  return !templates.some((template) => template.test(path))
}

/** Starts a server in front of Prism, which records each exchange and what Prism says about it. */
async function startRecorder(prism_url: string, sandbox_url: string) {
  const exchanges: Exchange[] = []
  const paths = Object.keys(openapiDocument({ server_url: '/' }).paths as object)
  const templates = paths.map((path) => new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`))
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/' } = incoming
    const isDirect = isPassedBy(method, url.replace(/\?.*/, ''), templates)
    const { authorization, ...others } = incoming.headers
    // Prism knows the scheme by its capital letter alone, and sends the Host it is called by.
    const bearer = authorization === undefined ? {} : { authorization: authorization.replace(/^bearer /, 'Bearer ') }
    const headers = isDirect ? incoming.headers : { ...others, ...bearer, host: new URL(sandbox_url).host }
    const options = { method, path: url, headers }
    const forwarded = send(isDirect ? sandbox_url : prism_url, options, (response) => {
      const { 'sl-violations': violations, ...own } = response.headers
      exchanges.push({
        line: `${method} ${url}`,
        status: response.statusCode ?? 0,
        violations: isDirect || violations === undefined ? [] : (JSON.parse(String(violations)) as Violation[]),
        isDirect,
      })
      outgoing.writeHead(response.statusCode ?? 0, own)
      response.pipe(outgoing)
      response.on('error', () => outgoing.destroy())
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Suites of requests that are broken on their way, or no JSON, which Prism refuses itself; and of a thousand that are the same. */
const leftOut: readonly string[] = ['errors', 'faults', 'snapshots', 'cors', 'rates']

/** Returns what Prism found, without what it finds by design: a request that the sandbox refuses is meant to be wrong. */
function findings({ line, status, violations }: Exchange): string[] {
  return violations
    .filter(({ location: [side] }) => side === 'response' || status < 400)
    .filter(({ message }) => !(message.startsWith('Unable to match the returned status code') && ofAnyPath.has(status)))
    .map(({ location, message }) => `${line} ${status}: ${location.join('.')}: ${message}`)
}

/** Statuses that the document names once for all paths. */
const ofAnyPath: ReadonlySet<number> = new Set([404, 405, 413, 415, 421])

// Thousands of requests, one after the other, each through a validator.
test('Prism reports nothing between the suites and the sandbox', async () => {
  await using sandbox = await startSandbox({ seed: 1 })
  await using prism = await startPrism(sandbox.url)
  await using recorder = await startRecorder(prism.url, sandbox.url)
  const { url, exchanges } = recorder
  const cases = withoutBrowser.filter(({ suite }) => !leftOut.includes(suite.name))
  const keys = { secret_key: 'sk_test_sandbox_demo', publishable_key: 'pk_test_sandbox_demo' }
  // Whether a case passes is tested without a proxy, whose delays some of them notice.
  await runCases(cases, { url, keys }, { bail: false })
  expect(exchanges.flatMap(findings)).toEqual([])
  const seen = exchanges.filter(({ isDirect }) => !isDirect)
  expect(seen.filter(({ status }) => status < 300).length).toBeGreaterThan(1_500)
  expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200, 201, 304, 400, 401, 403, 404]))
})

test('Prism reports a response that the document does not describe, and a request that it forbids', async () => {
  await using sandbox = await startSandbox({ seed: 1 })
  const document = openapiDocument({ server_url: sandbox.url })
  const schemas = (document.components as { schemas: Record<string, { properties: Record<string, unknown> }> }).schemas
  schemas.PlacementResponse!.properties.slot_id = { type: 'integer' }
  schemas.PlacementRequest!.properties.session_id = { type: 'string', maxLength: 3 }
  await using prism = await startPrism(sandbox.url, document)
  await using recorder = await startRecorder(prism.url, sandbox.url)
  await fetch(`${recorder.url}/v1/placements`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: 'proj_demo', session_id: 'interop', job_type: 'chat' }),
  })
  expect(recorder.exchanges.flatMap(findings)).toEqual([
    expect.stringMatching(
      /^POST \/v1\/placements 200: request\.body\.session_id: .* must NOT have more than 3 characters$/,
    ),
    expect.stringMatching(/^POST \/v1\/placements 200: response\.body\.slot_id: .* must be integer$/),
  ])
})
