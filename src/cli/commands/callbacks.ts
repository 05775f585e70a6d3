/**
 * `svc sandbox callbacks`: lists and resends them; `listen` receives them, checks their signatures, prints them, and forwards them
 * unchanged.
 */
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import { Argument, InvalidArgumentError, Option } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { describeRecord } from '#cli/endpoint/listed-page.ts'
import { portNumber } from '#cli/endpoint/option-values.ts'
import type { Command, CommandContext, CommandInput, Noun } from '#cli/run/command.ts'
import { noteOtherFolder } from '#cli/run/command-client.ts'
import { noSandboxFor, untilCtrlC } from '#cli/run/errors.ts'
import { permittedSecretKey } from '#cli/settings/settings.ts'
import { ServiceError } from '#client/errors.ts'
import { verifyCallback } from '#client/integration.ts'
import type { CallbackItem } from '#contract/resources/callbacks.ts'
import { listeningPort } from '#foundation/http.ts'
import { parseJson, valueAt } from '#foundation/json.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { CliError } from '#text/cli-error.ts'
import { paintStatus, paintWord } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { formatTime } from '#text/text.ts'

const defaultPort = 4020
const maxBodyBytes = 1_048_576
/** Time limit for the program that callbacks are forwarded to. The sandbox waits 5 s. */
const forwardMs = 10_000
const signatureHeader = 'x-csl-signature'

/** One callback, as printed with `-o json`. */
export interface ReceivedCallback {
  type: 'callback'
  at_ms: number
  /** The path and query that it was sent to. */
  path: string
  slot_id: string | null
  fill: boolean | null
  format: string | null
  no_fill_reason: string | null
  /** `other_key`: valid, but made with a sandbox key other than the one in use. */
  signature: 'verified' | 'other_key' | 'wrong' | 'missing'
  /** The status of the response. */
  status: number
  forwarded_to: string | null
  /** Why forwarding failed. */
  problem: string | null
}

interface Receiver {
  keys: readonly string[]
  forward_to: URL | null
  now(): number
  print(callback: ReceivedCallback): void
}

const listen: Command = {
  name: 'listen',
  summary: 'Receive callbacks here, verify and print them',
  details: [
    'Prints one line for each callback, until Ctrl-C, and verifies its signature with the secret key in use. Send its address as callback_url: svc api jobs.create --callback-url http://localhost:4020',
    'Responds with 200, or with 401 if the signature is wrong. With --forward-to it passes on the exact bytes and headers, and responds with the status that it gets back, or with 502: then the sandbox tries again, as production would.',
  ].join('\n\n'),
  options: [
    new Option('--forward-to <url>', 'pass each callback on to this address of your program, or to its port').argParser(
      forwardUrl,
    ),
    new Option('--port <port>', 'port of 127.0.0.1 and ::1 to listen on; 0 for any free one')
      .argParser(portNumber)
      .default(defaultPort),
  ],
  examples: [
    'sandbox callbacks listen',
    'sandbox callbacks listen --forward-to localhost:3000/hooks/decision -o jsonl',
  ],
  run: (context, { options }: CommandInput<ListenOptions>) => untilCtrlC(receiveAll(context, options)),
}

type ListenOptions = { port: number; forwardTo?: URL }

async function receiveAll(context: CommandContext, { port, forwardTo }: ListenOptions): Promise<number> {
  const { out, system, signal } = context
  const receiver: Receiver = {
    keys: listSigningKeys(context),
    forward_to: forwardTo ?? null,
    now: system.now,
    print: (callback) => out.item(callback, (style) => line(callback, style)),
  }
  const servers = await bind(context, receiver, port)
  const url = `http://localhost:${listeningPort(servers[0]!)}`
  if (out.format === 'json' || out.format === 'jsonl') out.item({ type: 'listening', url }, () => '')
  else out.note(`Listening on ${url}, for jobs with this callback_url. Ctrl-C stops it.`)
  try {
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  }
  throw signal.reason
}

/** Returns the address of a URL, of a host with a port, or of a port of this computer. */
function forwardUrl(text: string): URL {
  // A number alone would be an IPv4 address: http://8930 is http://0.0.34.226.
  const address = /^\d{1,5}$/.test(text) ? `localhost:${text}` : text
  const url = URL.parse(/^[a-z]+:\/\//i.test(address) ? address : `http://${address}`)
  if (url?.protocol === 'http:' && url.hostname !== '') return url
  throw new InvalidArgumentError('It must be an http URL or a port, such as localhost:3000/hooks/decision.')
}

/** Returns the key in use, then the keys that the sandbox was started with. */
function listSigningKeys({ system, settings }: CommandContext): string[] {
  noteOtherFolder(system, settings)
  const { secret_key, sandbox, source } = settings
  if (secret_key === null) {
    if (source.base_url === 'default') throw noSandboxFor(settings, 'Start one: svc start. Or give --secret-key KEY.')
    const hint = 'Set SVC_SECRET_KEY, or give --secret-key KEY.'
    throw new CliError('credentials', 'secret_key_missing', 'No secret key is set to verify signatures with.', hint)
  }
  return [secret_key, ...(sandbox?.projects ?? []).flatMap((project) => [project.secret_key, project.live_secret_key])]
}

/** Listens on both addresses that `localhost` can mean. */
async function bind(context: CommandContext, receiver: Receiver, port: number): Promise<Server[]> {
  const open = async (host: string, at: number) => {
    const server = createServer((incoming, outgoing) => {
      receive(receiver, incoming).then(
        (status) => outgoing.writeHead(status, { 'content-length': 0 }).end(),
        () => outgoing.destroy(),
      )
    })
    server.listen({ host, port: at })
    await once(server, 'listening')
    return server
  }
  try {
    const first = await open('127.0.0.1', port)
    const second = await open('::1', listeningPort(first)).catch(() => null)
    return second === null ? [first] : [first, second]
  } catch (error) {
    if (readErrorCode(error) !== 'EADDRINUSE') throw error
    const { describeHolder } = await import('#cli/process/port-holder.ts')
    const { sandbox } = context.settings
    const sandboxes = sandbox === null ? [] : [sandbox]
    const holder = await describeHolder(context.system, { host: '127.0.0.1', port, sandboxes })
    const hint = `Try: svc sandbox callbacks listen --port ${port + 1}, or --port 0 for any free one.`
    throw new CliError('busy', 'port_in_use', `Port ${port} is taken by ${holder}.`, hint)
  }
}

/** Resolves to the status of the response. */
async function receive(receiver: Receiver, incoming: IncomingMessage): Promise<number> {
  if (incoming.method !== 'POST') return 405
  const body = await readBody(incoming)
  if (body === null) return 413
  const { keys, forward_to } = receiver
  const signature = await verify(body, incoming.headers[signatureHeader], keys)
  const isRight = signature === 'verified' || signature === 'other_key'
  const forwarded = forward_to === null ? null : await forward(forward_to, incoming, body)
  const status = forwarded === null ? (isRight ? 200 : 401) : (forwarded.status ?? 502)
  const decision = parseJson(body.toString('utf8'))
  receiver.print({
    type: 'callback',
    at_ms: receiver.now(),
    path: incoming.url ?? '/',
    slot_id: textAt(decision, 'slot_id'),
    fill: valueAt(decision, 'fill') === true ? true : valueAt(decision, 'fill') === false ? false : null,
    format: textAt(decision, 'creative.type'),
    no_fill_reason: textAt(decision, 'no_fill_reason'),
    signature,
    status,
    forwarded_to: forward_to === null ? null : forward_to.href,
    problem: forwarded?.problem ?? null,
  })
  return status
}

function textAt(value: unknown, path: string): string | null {
  const found = valueAt(value, path)
  return typeof found === 'string' ? found : null
}

async function readBody(incoming: AsyncIterable<Buffer>): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += chunk.length
    if (length > maxBodyBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function verify(
  body: Buffer,
  header: string | string[] | undefined,
  keys: readonly string[],
): Promise<ReceivedCallback['signature']> {
  if (typeof header !== 'string') return 'missing'
  for (const [index, key] of keys.entries()) {
    if (await verifyCallback(body, header, key)) return index === 0 ? 'verified' : 'other_key'
  }
  return 'wrong'
}

/** Headers that belong to one connection, or that Node sets. */
const ownHeaders = /^(host|connection|keep-alive|transfer-encoding|content-length|upgrade|te|trailer)$/i

function forward(
  url: URL,
  { rawHeaders }: IncomingMessage,
  body: Buffer,
): Promise<{ status: number | null; problem: string | null }> {
  const headers: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!ownHeaders.test(rawHeaders[index]!)) headers.push(rawHeaders[index]!, rawHeaders[index + 1]!)
  }
  headers.push('host', url.host, 'content-length', String(body.length))
  return new Promise((resolve) => {
    const sent = httpRequest(url, { method: 'POST', headers, agent: false, timeout: forwardMs }, (incoming) => {
      incoming.resume()
      resolve({ status: incoming.statusCode ?? null, problem: null })
    })
    sent.once('timeout', () => sent.destroy(new Error(`no response within ${forwardMs / 1_000} s`)))
    sent.once('error', (error: Error & { code?: string }) =>
      resolve({ status: null, problem: error.message === '' ? (error.code ?? 'no response') : error.message }),
    )
    sent.end(body)
  })
}

const signatures = {
  verified: ['signature verified', 'green'],
  other_key: ['signature of another key', 'yellow'],
  wrong: ['signature wrong', 'red'],
  missing: ['signature missing', 'red'],
} as const

function line(callback: ReceivedCallback, style: Style): string {
  const { at_ms, slot_id, fill, format, no_fill_reason, signature, status, forwarded_to, problem } = callback
  const what = fill === null ? 'not a decision' : fill ? `fill ${format ?? ''}` : `no fill: ${no_fill_reason ?? ''}`
  const [text, color] = signatures[signature]
  const isOk = status >= 200 && status < 300
  return [
    style.dim(formatTime(at_ms)),
    slot_id ?? 'no slot',
    what,
    style[color](text),
    style[isOk ? 'green' : 'red'](String(status)),
    ...(forwarded_to === null ? [] : [`from ${forwarded_to}`]),
    ...(problem === null ? [] : [problem]),
  ].join('  ')
}

export const callbacks: Noun = {
  summary: 'Receive callbacks, list them with their status, and resend them',
  commands: [
    listen,
    endpointCommand('callbacks.list', {
      empty: 'No callbacks yet. Create one: svc api jobs.create --callback-url URL',
      examples: ['sandbox callbacks list', 'sandbox callbacks list --status failed -o json'],
      columns: [
        { name: 'slot', field: 'slot_id', kind: 'id' },
        { name: 'status', paint: paintWord },
        { name: 'attempts', rank: 3 },
        { name: 'http', field: 'http_status', rank: 2, paint: paintStatus },
        { name: 'url', least: 16 },
        { name: 'problem', least: 12 },
      ],
    }),
    endpointCommand('callbacks.resend', {
      details:
        'Without slot_id: the newest callback. After a restart of the sandbox it is signed with the secret key in use, which must be the one that created the job: --secret-key KEY names another. Exit code 5 if it is not delivered.',
      arguments: [new Argument('[slot_id]', 'Slot of the callback: svc sandbox callbacks list.')],
      options: [],
      examples: ['sandbox callbacks resend', 'sandbox callbacks resend -o json'],
      async run(context, { args }) {
        const item = await resend(context, args[0] ?? (await newest(context)))
        context.out.data(item, (style) => describeRecord(item, style))
        return item.status === 'delivered' ? 0 : 5
      },
    }),
  ],
}

async function newest(context: CommandContext): Promise<string> {
  const { items } = (await callEndpoint(context, 'callbacks.list', { query: { limit: 1 } })).data
  if (items[0] !== undefined) return items[0].slot_id
  const hint = 'Create a job with one: svc api jobs.create --callback-url http://localhost:4020'
  throw new CliError('usage', 'callback_missing', 'There are no callbacks to send again.', hint)
}

/** Resends with the key that the sandbox has, or else with the key in use. */
async function resend(context: CommandContext, slot_id: string): Promise<CallbackItem> {
  const call = async (body: object) =>
    (await callEndpoint(context, 'callbacks.resend', { params: { slot_id }, body })).data
  try {
    return await call({})
  } catch (error) {
    const isLost = error instanceof ServiceError && error.reason_code === 'callback_key_lost'
    const secret_key = isLost ? permittedSecretKey(context.settings) : null
    if (secret_key === null) throw error
    return call({ secret_key })
  }
}
