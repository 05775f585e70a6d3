/**
 * Where keys travel: every source of a key with every source of a base URL, over every way, in every kind of command. The
 * servers record what they receive; none may see a key that was not meant for it.
 */
import dns from 'node:dns'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import tls from 'node:tls'
import { generate } from 'selfsigned'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { noon, svc, temporaryDirectory } from './test-cli.ts'

const sources = ['flag', 'environment', 'config', 'profile', 'sandbox'] as const
type Source = (typeof sources)[number]
/** A name beyond this computer, for which the recorder stands in. */
const remote = 'service.example'
const ways = ['loopback', 'http', 'http allowed', 'https'] as const
type Way = (typeof ways)[number]

/** Command lines, and whether each of them sends or prints the key of the settings. */
const kinds: Readonly<Record<string, boolean>> = {
  'placements create --format banner': true,
  'placements create --consent denied': true,
  'api jobs.create': true,
  'api decisions.get slot_00000000001': true,
  'api consent.set --session-id s --decision granted': true,
  'api projects.config': true,
  'qa run suite.yaml': true,
  'contract check': true,
  'sandbox env': true,
  'placements list': false,
  'requests replay req_00000000001': false,
  'sandbox status': false,
  doctor: false,
}
/** They send many requests: tried over two ways. */
const slow = /^(contract|qa|doctor)/

const key = 'sk_test_key_of_the_case'
const admin_token = 'sbx_token_of_the_sandbox'

export interface DestinationTally {
  cases: number
  sent: number
  refused: number
  problems: string[]
}

export async function walkKeyDestinations({ first = 0, step = 1 } = {}): Promise<DestinationTally> {
  await using recorders = await startRecorders()
  const tally: DestinationTally = { cases: 0, sent: 0, refused: 0, problems: [] }
  let index = 0
  for (const line of Object.keys(kinds)) {
    for (const of_key of sources) {
      for (const of_url of sources) {
        for (const way of ways) {
          const isLeftOut = slow.test(line) && way !== 'loopback' && way !== 'http'
          if (isLeftOut || index++ % step !== first) continue
          await tryOne({ line, of_key, of_url, way }, recorders, tally)
        }
      }
    }
  }
  return tally
}

interface Case {
  line: string
  of_key: Source
  of_url: Source
  way: Way
}

async function tryOne({ line, of_key, of_url, way }: Case, recorders: Recorders, tally: DestinationTally) {
  const url = recorders.urls[way]
  const { decoy } = recorders
  recorders.clear()
  const home = temporaryDirectory()
  const cwd = join(home, 'repository')
  mkdirSync(cwd)
  // Sources that lose against the one of the case name the decoy.
  const urlOf = (source: Source) =>
    source === of_url ? url : sources.indexOf(source) > sources.indexOf(of_url) ? decoy : undefined
  const keyOf = (source: Source) => (source === of_key ? key : undefined)
  const fields = (source: Source) => ({ base_url: urlOf(source), secret_key: keyOf(source) })
  writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(fields('config')))
  writeFileSync(join(home, 'profiles.json'), JSON.stringify({ current: 'mine', profiles: { mine: fields('profile') } }))
  writeFileSync(join(cwd, 'suite.yaml'), suite)
  const sandbox_url = of_key === 'sandbox' ? url : urlOf('sandbox')!
  if (sandbox_url !== undefined)
    await writeLocator(home, locator(sandbox_url, of_key === 'sandbox' ? key : 'sk_test_of_the_decoy'))
  const env: Record<string, string> = {
    SVC_HOME: home,
    SVC_CLIENT_ID: 'proj_demo',
    SVC_ORIGIN: 'http://localhost:3000',
  }
  if (of_url === 'environment') env.SVC_BASE_URL = url
  if (of_key === 'environment') env.SVC_SECRET_KEY = key
  const flags = [
    of_url === 'flag' ? `--base-url ${url}` : '',
    of_key === 'flag' ? `--secret-key ${key}` : '',
    way === 'http allowed' ? '--allow-http' : '',
  ]
  const { code, stdout, stderr } = await svc(`${line} ${flags.join(' ')}`.trim(), { env, cwd })

  tally.cases++
  const isAgreed =
    of_url === 'flag' || of_key === of_url || of_key === 'sandbox' || (of_key === 'flag' && of_url === 'sandbox')
  const mayBeSent = isAgreed && way !== 'http'
  const isUsed = kinds[line]!
  const seen = recorders.seenBy(key)
  const printed = (stdout + stderr).includes(key)
  const name = `svc ${line}: key of ${of_key}, base URL of ${of_url}, ${way}`
  const problem = (text: string) =>
    tally.problems.push(`${name}: ${text}: exit ${code}: ${stderr}${stdout}`.slice(0, 700))
  if (seen.some((each) => each !== url)) problem(`${seen.join(', ')} saw the key`)
  if (recorders.seenBy('sk_test_of_the_decoy').length > 0) problem('a key of the decoy travelled')
  if (way === 'http' && recorders.seenBy(admin_token).length > 0) problem('the admin token was sent without encryption')
  if (!isUsed && seen.length > 0) problem('a command that needs no key sent it')
  if (isUsed && !mayBeSent) {
    if (seen.length > 0 || printed) problem('the key left')
    if (recorders.count() > 0 && !/^qa|^contract/.test(line)) problem('something was sent before the refusal')
    if (code !== 2) problem('not refused')
    if (way !== 'http' && !(stderr.includes(locatePoint(of_url, home)) && stderr.includes(locatePoint(of_key, home))))
      problem('the refusal does not name both places')
    if (!/--base-url|--allow-http/.test(stderr)) problem('the refusal does not say how to go on')
    tally.refused++
  }
  if (isUsed && mayBeSent) {
    if (line === 'sandbox env' ? !printed : seen.length === 0) problem('the key did not arrive')
    tally.sent++
  }
}

function locatePoint(source: Source, home: string): string {
  const places = {
    flag: '--',
    environment: 'SVC_',
    config: join(home, 'repository/svc.config.json'),
    profile: 'profile mine',
    sandbox: 'the running sandbox',
  }
  return places[source]
}

const suite = 'suite: shop\ntitle: A shop\ncases:\n  - name: a placement\n    steps:\n      - placement: {}\n'

function locator(url: string, secret_key: string) {
  const project = {
    client_id: 'proj_demo',
    secret_key,
    live_secret_key: 'sk_live_x',
    publishable_key: 'pk_test_x',
    allowed_origins: [],
  }
  return {
    url,
    inspector_url: url,
    database: ':memory:',
    pid: process.pid,
    version: '0.1.0',
    projects: [project],
    admin_token,
    started_at_ms: noon,
  }
}

interface Recorders extends AsyncDisposable {
  urls: Record<Way, string>
  decoy: string
  clear(): void
  count(): number
  /** Returns the URLs of the servers that received a text in a head or body. */
  seenBy(text: string): string[]
}

export async function startRecorders(): Promise<Recorders> {
  const received: { url: string; text: string }[] = []
  const names = new Map<Server, string>()
  const record = async (request: IncomingMessage, response: ServerResponse, server: Server) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = [request.url, ...request.rawHeaders, Buffer.concat(chunks).toString('utf8')].join('\n')
    received.push({ url: names.get(server)!, text })
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end(
      '{"error":"unauthorized","message":"no","request_id":"req_00000000001","fields":[],"hint":null,"reason_code":null}',
    )
  }
  const { cert, private: privateKey } = await generate([{ name: 'commonName', value: remote }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: remote }] }],
  })
  const before = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...before, cert])
  const lookup = dns.lookup
  const own = ((
    host: string,
    options: dns.LookupOptions,
    done: (error: null, address: unknown, family?: number) => void,
  ) => {
    if (host !== remote) return (lookup as (...args: unknown[]) => void)(host, options, done)
    return options.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
  }) as typeof dns.lookup
  dns.lookup = own

  const servers: Server[] = []
  const listen = async (server: Server, url: (port: number) => string) => {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void record(request, response, server))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
    names.set(server, url((server.address() as AddressInfo).port))
    return names.get(server)!
  }
  const http = await listen(createHttpServer(), (port) => `http://${remote}:${port}`)
  const urls = {
    loopback: await listen(createHttpServer(), (port) => `http://127.0.0.1:${port}`),
    http,
    'http allowed': http,
    https: await listen(createHttpsServer({ cert, key: privateKey }), (port) => `https://${remote}:${port}`),
  }
  const decoy = await listen(createHttpServer(), (port) => `http://127.0.0.1:${port}`)
  return {
    urls,
    decoy,
    clear: () => void received.splice(0),
    count: () => received.length,
    seenBy: (text) => [...new Set(received.filter((each) => each.text.includes(text)).map(({ url }) => url))],
    async [Symbol.asyncDispose]() {
      dns.lookup = lookup
      tls.setDefaultCACertificates(before)
      for (const server of servers) {
        ;(server as import('node:http').Server).closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
}
