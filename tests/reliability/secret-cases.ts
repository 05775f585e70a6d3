/**
 * Keys, tokens and prompt text in every place of every request: fields, names of fields, queries, paths and headers of all
 * endpoints of the contract, plain and encoded. Each has a mark of its own, by which it is found wherever it went.
 */
import { Agent, request } from 'node:http'
import { inspect } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { contractListing } from '#contract/listing.ts'
import { setValue } from '#foundation/json.ts'
import { startSandbox } from '#sandbox/index.ts'
import { storedTexts, storeOfItsOwn } from '#tests/postgres/shared-store.ts'

export const kinds = ['sk', 'at', 'bt', 'ast', 'sbx', 'prompt'] as const
type Kind = (typeof kinds)[number]

export interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

/** One place, and what is sent when a text is put there. */
interface Place {
  name: string
  /** Bodies are JSON: there a text may be escaped. Elsewhere it may be percent-encoded only. */
  isBody: boolean
  send(text: string): Sent
}

const auth = { authorization: 'Bearer sk_test_sandbox_demo' }
export const json = { ...auth, 'content-type': 'application/json' }

/** Values of fields that a request needs, by name, so that it is complete but for the place that is tried. */
function knownValues(asset_token: string, beacon_id: string): Record<string, unknown> {
  return {
    client_id: 'proj_demo',
    session_id: 'sess_1',
    chat_session_id: 'sess_1',
    job_type: 'chat',
    publishable_key: 'pk_test_sandbox_demo',
    asset_token,
    beacon_id,
    event: 'heartbeat',
    beacon_type: 'heartbeat',
    occurred_at_ms: Date.now(),
    occurred_at_ms_client: Date.now(),
  }
}

type JsonSchema = {
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  type?: string
  const?: unknown
  enum?: unknown[]
  minimum?: number
  required?: string[]
  properties?: Record<string, JsonSchema>
}

/** Returns a value for every variant of a schema, with its required fields. */
function smallest(schema: JsonSchema, known: Record<string, unknown>): unknown[] {
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined) return variants.flatMap((variant) => smallest(variant, known))
  if (schema.const !== undefined) return [schema.const]
  if (schema.enum !== undefined) return [schema.enum[0]]
  if (schema.type === 'object') {
    const fields = (schema.required ?? []).map((name): [string, unknown] => [
      name,
      known[name] ?? smallest(schema.properties?.[name] ?? {}, known)[0],
    ])
    const times = ['occurred_at_ms'].filter((name) => name in (schema.properties ?? {}))
    return [Object.fromEntries([...fields, ...times.map((name): [string, unknown] => [name, known[name]])])]
  }
  if (schema.type === 'array') return [[]]
  if (schema.type === 'boolean') return [true]
  if (schema.type === 'integer' || schema.type === 'number') return [Math.max(schema.minimum ?? 1, 1)]
  return ['a/v1']
}

/** Endpoints that would end what the others have stored, or hold the connection. */
const leftOut = new Set(['sandbox.reset', 'snapshots.restore', 'sandbox.import', 'events.stream', 'requests.replay'])

const headerNames = [
  ...['accept', 'accept-language', 'accept-encoding', 'user-agent', 'referer', 'origin', 'cookie', 'from', 'via'],
  ...['if-none-match', 'if-modified-since', 'x-forwarded-for', 'forwarded', 'x-request-id', 'idempotency-key', 'dnt'],
  ...['traceparent', 'tracestate', 'baggage', 'sentry-trace', 'x-csl-wrapper-version', 'x-sandbox-token', 'warning'],
  ...['sec-ch-ua', 'sec-ch-ua-platform', 'sec-fetch-site', 'sec-fetch-dest', 'x-anything', 'x-prompt', 'x-api-key'],
  ...['proxy-authorization', 'last-event-id', 'content-language', 'cache-control', 'content-type', 'authorization'],
]

export function places(asset_token: string): Place[] {
  let beacons = 0
  const all: Place[] = []
  const { endpoints } = contractListing()
  for (const endpoint of Object.values<Endpoint>(contract)) {
    const { id, method, credentials } = endpoint
    const path = endpoint.path.replace('{client_id}', 'proj_demo').replaceAll(/\{\w+\}/g, 'slot_00000000001')
    const headers =
      credentials.length > 0 ? json : { 'content-type': 'application/json', origin: 'http://localhost:3000' }
    const own = id.startsWith('browser.') || credentials.length > 0 ? headers : { 'content-type': 'application/json' }
    const fields = endpoints.find((listed) => listed.id === id)!.fields
    const schema =
      endpoint.body === undefined
        ? null
        : (z.toJSONSchema(endpoint.body, { io: 'input', unrepresentable: 'any' }) as JsonSchema)
    const bases = () => (schema === null ? [] : smallest(schema, knownValues(asset_token, `beacon.${++beacons}`)))
    const count = leftOut.has(id) ? 0 : bases().length
    const base = (variant: number) => {
      const body = structuredClone(bases()[variant]) as Record<string, unknown>
      return id === 'faults.add' ? { path: '/v1/never', ...body } : body
    }
    for (let variant = 0; variant < count; variant++) {
      const into = (name: string, change: (body: Record<string, unknown>, text: string) => void) =>
        all.push({
          name: `${id} ${name}`,
          isBody: true,
          send(text) {
            const body = base(variant)
            change(body, text)
            return { method, path, headers: own, body: JSON.stringify(body) }
          },
        })
      for (const field of fields.filter(({ where }) => where === 'body')) {
        const at = field.path.replaceAll('[]', '.0').split('.')
        into(field.path, (body, text) => setValue(body, at, text))
        into(`${field.path}.0`, (body, text) => setValue(body, at, [text]))
        into(`${field.path}.x`, (body, text) => setValue(body, at, { x: { y: [text] } }))
        into(`${field.path}.NAME`, (body, text) => setValue(body, at, { [text]: 1 }))
      }
      into('unknown field', (body, text) => Object.assign(body, { note: text }))
      into('NAME', (body, text) => Object.assign(body, { [text]: 1 }))
    }
    if (id === 'events.stream' || id === 'sandbox.export') continue
    const bare = (url: (text: string) => string, name: string) =>
      all.push({ name: `${id} ${name}`, isBody: false, send: (text) => ({ method, path: url(text), headers: own }) })
    for (const { path: name } of fields.filter(({ where }) => where === 'query')) {
      bare((text) => `${path}?${name}=${text}`, `query ${name}`)
    }
    bare((text) => `${path}?q=${text}`, 'unknown query')
    bare((text) => `${path}?${text}=1`, 'name of a query')
    bare((text) => `${path}/${text}`, 'path behind it')
    for (const parameter of endpoint.path.match(/\{\w+\}/g) ?? []) {
      bare((text) => endpoint.path.replace(parameter, text).replaceAll(/\{\w+\}/g, 'x'), `path ${parameter}`)
    }
  }
  const pageBodies = {
    slots: { asset_tokens: [] },
    ask: {},
    claim: { grant_id: 'x', secret: 'x' },
    act: { action: 'slow_frame', latency_ms: 1, slot_id: 'slot_00000000000' },
  }
  for (const [name, body] of Object.entries(pageBodies)) {
    const into = (field: string, change: (text: string) => object) =>
      all.push({
        name: `console ${name} ${field}`,
        isBody: true,
        send: (text) => ({
          method: 'POST',
          path: `/_sandbox/console/page/${name}`,
          headers: { 'content-type': 'application/json', origin: 'http://localhost:3000', ...auth },
          body: JSON.stringify({ ...body, ...change(text) }),
        }),
      })
    for (const field of [...Object.keys(body), 'slot_id']) {
      into(field, (text) => ({ [field]: text }))
      into(`${field}.0`, (text) => ({ [field]: [text] }))
    }
    into('NAME', (text) => ({ [text]: 1 }))
  }
  for (const path of ['/', '/v1/', '/v2/placements/', '/public/wrapper/v1/', '/api/', '/v1/render/x/']) {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      all.push({
        name: `${method} ${path}`,
        isBody: false,
        send: (text) => ({ method, path: path + text, headers: auth }),
      })
    }
  }
  const names = Object.values<Endpoint>(contract).flatMap(({ request_headers = {} }) => Object.keys(request_headers))
  for (const header of new Set([...headerNames, ...names.map((name) => name.toLowerCase())])) {
    for (const path of ['/v1/projects/proj_demo/config', '/v1/none']) {
      const send = (text: string): Sent => ({ method: 'GET', path, headers: { ...auth, [header]: text } })
      all.push({ name: `header ${header}`, isBody: false, send })
      const send2 = (text: string): Sent => send(`Bearer ${text}`)
      all.push({ name: `header ${header} with a word before`, isBody: false, send: send2 })
    }
  }
  return all
}

const markPattern = /zq(\d{6})qz/g

function textOf(kind: Kind, index: number): string {
  const mark = `zq${String(index).padStart(6, '0')}qz`
  if (kind === 'prompt') return `my aunt Zephyrine ${mark} asked about a quiet divorce`
  if (kind === 'sbx') return `sbx_${mark.padEnd(32, 'x')}`
  return kind === 'sk' ? `sk_test_${mark}` : `${kind}_0000000000a_${mark.padEnd(43, 'x')}`
}

const hex = (text: string) => [...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')

/** Ways to write a text so that it is still read as what it is. */
const encodings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  underscores: (text) => text.replaceAll('_', '%5F').replaceAll(' ', '%20'),
  everything: hex,
  twice: (text) => hex(text).replaceAll('%', '%25'),
  escaped: (text) => text.replaceAll('_', '\\u005f'),
}

export interface Case {
  name: string
  sent: Sent
}

const spellings = Object.keys(encodings)

/** A text as it is, and encoded in one way or another; inside of other values in one of all ways. */
function listSpellings(place: Place, kind: Kind, index: number): string[] {
  if (kind === 'prompt' && place.isBody) return ['plain']
  const another = spellings[index % spellings.length]!
  if (/\.(0|x|NAME)$/.test(place.name)) return [another]
  return another === 'plain' ? ['plain'] : ['plain', another]
}

/** Returns one case in `every`, 1 for all: those with that remainder. */
export function cases(asset_token: string, every: number, remainder = 0): Map<number, Case> {
  const chosen = new Map<number, Case>()
  let index = 0
  for (const place of places(asset_token)) {
    for (const kind of kinds) {
      for (const how of listSpellings(place, kind, index)) {
        // Scattered, so that every kind is among few.
        if ((Math.imul(++index, 0x9e3779b1) >>> 16) % every !== remainder) continue
        const encode = encodings[how]!
        const encoded = encode(textOf(kind, index))
        const isPath = !place.isBody && !place.name.startsWith('header')
        const sent = place.send(isPath ? encoded.replaceAll(' ', '%20').replaceAll('\\', '%5C') : encoded)
        chosen.set(index, { name: `${kind} ${how}: ${place.name}`, sent })
      }
    }
  }
  return chosen
}

/**
 * Fields whose text is the caller's to choose and is kept as the contract says: topics, names, consent strings, and objects
 * that are stored and not acted on. A prompt that a caller puts there is there; a new field with text is added on purpose.
 */
const keptFields = new Set([
  ...['topic', 'model_id', 'locale', 'generation_id', 'render_instance_id', 'label_text', 'asset_token'],
  // Any text, as the document says; and the ids of old clients.
  ...['session_id', 'chat_session_id', 'beacon_id'],
  ...['tcf_consent_string', 'tcf_string', 'us_privacy', 'gpp_string', 'consent_source', 'callback_url'],
  ...['app_name', 'app_domain', 'app_bundle', 'categories', 'blocked_categories', 'preferred_partner_id'],
  ...['ssp_partner_id', 'candidate_partner_ids', 'slot_id', 'error', 'key'],
  ...['geo', 'device', 'human', 'verification', 'routing', 'targeting', 'pacing', 'brand_safety', 'usage_json'],
  ...['metadata', 'measurements'],
])

/** Whether a prompt was put into a field that keeps what it is given. */
export function isKept({ name }: Case): boolean {
  // Generation events are open objects.
  if (/^prompt plain: (wrapper|browser)?\.?generation(\.report)? (unknown field|NAME)$/.test(name)) return true
  const field = /^prompt plain: [\w.]+ (\S+)$/.exec(name)?.[1]
  return field?.split('.').some((part) => keptFields.has(part)) === true
}

export interface Leak {
  name: string
  /** The surface on which the mark was found. */
  on: string
}

/** Sends one case in `every`, then looks for all of their marks in every byte that the sandbox has stored or sends. */
export async function leaks(every: number, remainder = 0): Promise<{ tried: number; found: Leak[] }> {
  const reports: string[] = []
  const report = (error: unknown) => reports.push(inspect(error, { depth: 9 }))
  const store = await storeOfItsOwn()
  const options = { rate_limit: 'off', report, journal_limit: 100_000, demands_token: false }
  const sandbox = await startSandbox({ ...store, ...options })
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const call = (sent: Sent) => exchange(agent, sandbox.url, sent)
  try {
    const ad = JSON.stringify({ client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' })
    const placement = await call({ method: 'POST', path: '/v1/placements', headers: json, body: ad })
    const { asset_token } = (JSON.parse(placement.toString()) as { decision: { asset_token: string } }).decision
    const all = cases(asset_token, every, remainder)
    const surfaces = new Map<string, Buffer>()
    const received: Buffer[] = []
    await Promise.all(
      Array.from({ length: 4 }, async (_, lane) => {
        for (const [index, { sent }] of all) if (index % 4 === lane) received.push(await call(sent))
      }),
    )
    surfaces.set('responses', Buffer.concat(received))
    const get = (path: string) => call({ method: 'GET', path, headers: {} })
    await call({ method: 'POST', path: '/_sandbox/snapshots/last', headers: { 'content-type': 'application/json' } })
    for (const { id, method, path } of Object.values<Endpoint>(contract)) {
      if (method === 'GET' && path.startsWith('/_sandbox/') && !path.includes('{') && id !== 'sandbox.export') {
        surfaces.set(path, await get(path === '/_sandbox/events' ? `${path}?since_seq=0` : path))
      }
    }
    let cursor: string | null = ''
    for (const query of ['foreign=true&', '']) {
      do {
        const text = (await get(`/_sandbox/requests?${query}details=true&limit=250${cursor}`)).toString()
        surfaces.set(`journal ${query}${cursor}`, Buffer.from(text))
        const { next_cursor } = JSON.parse(text) as { next_cursor: string | null }
        cursor = next_cursor === null ? null : `&cursor=${next_cursor}`
      } while (cursor !== null)
      cursor = ''
    }
    for (const page of ['/_sandbox/', '/_sandbox/demo']) surfaces.set(page, await get(page))
    surfaces.set('export', gunzipSync(await get('/_sandbox/export')))
    surfaces.set('log', Buffer.from(reports.join('\n')))
    for (const [index, text] of (await storedTexts(store)).entries()) {
      surfaces.set(`stored text ${index}`, Buffer.from(text, 'latin1'))
    }
    const found = [...surfaces].flatMap(([on, bytes]) =>
      [...marksIn(bytes)].flatMap((index) => {
        const found = all.get(index)
        if (found !== undefined && isKept(found)) return []
        return [{ name: found?.name ?? `case ${index}`, on }]
      }),
    )
    return { tried: all.size, found }
  } finally {
    agent.destroy()
    await sandbox.close()
  }
}

/** The marks of some bytes, as they are and with their encodings undone. */
export function marksIn(bytes: Buffer): Set<number> {
  const marks = new Set<number>()
  let text = bytes.toString('latin1')
  for (let round = 0; round < 3; round++) {
    for (const [, mark] of text.matchAll(markPattern)) marks.add(Number(mark))
    text = text.replace(/%([0-7][0-9a-f])|\\+u00([0-7][0-9a-f])/gi, (_, one?: string, other?: string) =>
      String.fromCharCode(Number.parseInt(one ?? other!, 16)),
    )
  }
  return marks
}

/** Sends a request and returns the bytes of its response; of an event stream, those of its first 300 ms. */
export function exchange(agent: Agent, url: string, { method, path, headers, body }: Sent): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, method, path, headers }, (incoming) => {
      const chunks: Buffer[] = []
      const end = () => resolve(Buffer.concat(chunks))
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', end)
      if (incoming.headers['content-type'] !== 'text/event-stream') return
      setTimeout(() => {
        end()
        outgoing.destroy()
      }, 300)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
