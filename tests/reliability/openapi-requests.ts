/**
 * Requests made from the OpenAPI document alone: its examples, and its links, by which a value of a response becomes a
 * parameter of a later request.
 */
import { isObject, type Json, type JsonObject, parseJson, setValue, valueAt } from '#foundation/json.ts'
import type { Dice } from './dice.ts'
import { hostileBytes, hostileJson, hostileTexts } from './hostile-values.ts'

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  example: string
}

export interface Operation {
  id: string
  /** Its id in the contract: `placements.create`. */
  endpoint_id: string
  method: string
  path: string
  credentials: readonly string[]
  parameters: readonly Parameter[]
  /** Examples of its body; empty when it takes none. */
  bodies: readonly Json[]
  /** Where its response has the parameter of an operation that follows: a path as of `valueAt`. */
  links: readonly { follows: string; parameter: string; path: string }[]
}

export interface Sent {
  operation: Operation
  method: string
  /** With its query. */
  path: string
  headers: Record<string, string>
  body: string | null
  /** What is wrong with it; empty when nothing is meant to be. */
  odd: string
}

/** Returns every operation of a document, in its order. */
export function readOperations(document: JsonObject): Operation[] {
  return children(document.paths).flatMap(([path, item]) =>
    children(item).map(([method, operation]): Operation => {
      const content = valueAt(operation.requestBody, 'content')
      const json = isObject(content) ? content['application/json'] : undefined
      const examples = children(valueAt(json, 'examples')).map(([, example]) => example.value ?? {})
      return {
        id: String(operation.operationId),
        endpoint_id: String(operation['x-endpoint-id']),
        method: method.toUpperCase(),
        path,
        credentials: objects(operation.security).flatMap((one) => Object.keys(one)),
        parameters: objects(operation.parameters).map(readParameter),
        bodies: json === undefined ? [] : examples.length > 0 ? examples : [{}],
        links: children(operation.responses).flatMap(([, response]) => children(response.links).flatMap(readLink)),
      }
    }),
  )
}

function readParameter(parameter: JsonObject): Parameter {
  const { name, in: where, required, example } = parameter
  return {
    name: String(name),
    in: where === 'path' || where === 'header' ? where : 'query',
    required: required === true,
    example: String(example),
  }
}

function readLink([follows, link]: [string, JsonObject]): Operation['links'] {
  return Object.entries(isObject(link.parameters) ? link.parameters : {}).map(([parameter, expression]) => ({
    follows,
    parameter,
    path: String(expression).replace('$response.body#/', '').replaceAll('/', '.'),
  }))
}

function children(value: Json | undefined): [string, JsonObject][] {
  return Object.entries(isObject(value) ? value : {}).filter((entry): entry is [string, JsonObject] =>
    isObject(entry[1]),
  )
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isObject(item)) : []
}

/** The page of every request with a token of a browser. */
const origin = 'http://localhost:3000'

/** Values of earlier responses, the newest first. */
const remembered = ['slot_id', 'asset_token', 'job_id', 'request_id', 'activation_token', 'key', 'publishable_key']

/** A conversation with a sandbox: each request may use what earlier responses said. */
export class Conversation {
  readonly #operations: readonly Operation[]
  readonly #dice: Dice
  /** By operation and parameter, from links. */
  readonly #linked = new Map<string, string[]>()
  /** By name of a field, wherever a response had it. */
  readonly #fields = new Map<string, string[]>([['activation_token', []]])
  #count = 0

  constructor(operations: readonly Operation[], dice: Dice) {
    this.#operations = operations
    this.#dice = dice
  }

  /** Returns a random request that may succeed, and by chance one with something wrong in it. */
  next(now_ms: number): Sent {
    const sent = this.request(this.#dice.pick(this.#operations), now_ms)
    return this.#dice.chance(0.25) ? this.#dice.pick(this.hostile(sent)) : sent
  }

  /** Returns a request of an operation, with values of earlier responses where the document links them. */
  request(operation: Operation, now_ms: number): Sent {
    const query = new URLSearchParams()
    const headers: Record<string, string> = {}
    let { path } = operation
    for (const { name, in: where, required, example } of operation.parameters) {
      if (!required && where === 'query' && this.#dice.chance(0.8)) continue
      const value = this.#pickValue(operation, name) ?? example
      if (where === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
      else if (where === 'header') headers[name.toLowerCase()] = value
      else query.set(name, name === 'wait_ms' ? '0' : value)
    }
    const credential = this.#credential(operation)
    if (credential !== null) headers.authorization = `Bearer ${credential}`
    if (/^[ab]t_/.test(credential ?? '')) headers.origin = origin
    const body = operation.bodies.length === 0 ? null : this.#body(operation, now_ms)
    if (body !== null) headers['content-type'] = 'application/json'
    const search = query.size === 0 ? '' : `?${query}`
    return { operation, method: operation.method, path: `${path}${search}`, headers, body, odd: '' }
  }

  /** Returns copies of a request, each with one hostile value in one of its parameters or fields. */
  hostile(sent: Sent): Sent[] {
    const { operation, path, headers, body } = sent
    const all: Sent[] = []
    const texts = { ...encoded(hostileTexts), ...hostileBytes }
    for (const parameter of operation.parameters) {
      const { name, in: where } = parameter
      if (where === 'header') {
        all.push(...hostileHeaders(sent, name))
        continue
      }
      for (const [what, text] of Object.entries(texts)) {
        const odd = `${where} ${name} is ${what}`
        all.push({
          ...sent,
          odd,
          path: where === 'path' ? inPath(operation, path, name, text) : inQuery(path, name, text),
        })
      }
      if (where === 'query') {
        const odd = `query ${name} occurs twice`
        all.push({ ...sent, odd, path: `${inQuery(path, name, 'a')}&${name}=b` })
      }
    }
    const whole = body === null ? undefined : parseJson(body)
    if (isObject(whole)) {
      for (const field of fieldPaths(whole)) {
        for (const value of hostileJson) {
          const copy = structuredClone(whole)
          setValue(copy, field, value)
          const odd = `body ${field.join('.')} is ${JSON.stringify(value)?.slice(0, 80)}`
          all.push({ ...sent, headers, odd, body: JSON.stringify(copy) })
        }
      }
    }
    return all.length === 0 ? [{ ...sent, odd: 'unknown query', path: inQuery(path, 'unknown', 'a%00b') }] : all
  }

  /** Keeps what a response has for later requests. */
  learn({ operation }: Sent, status: number, text: string): void {
    const value = status < 300 ? parseJson(text) : undefined
    if (value === undefined) {
      const [token] = /bt_[0-9a-z]{11}_[A-Za-z0-9_-]{43}/.exec(status < 300 ? text : '') ?? []
      if (token !== undefined) keep(this.#fields, 'beacon_token', token)
      return
    }
    for (const { follows, parameter, path } of operation.links) {
      const linked = valueAt(value, path)
      if (typeof linked === 'string') keep(this.#linked, `${follows} ${parameter}`, linked)
    }
    for (const [name, field] of fields(value)) {
      // Journals have redacted tokens, the document has made-up ones.
      if (remembered.includes(name) && !/redacted|example/.test(field)) keep(this.#fields, name, field)
    }
  }

  #pickValue({ id }: Operation, parameter: string): string | undefined {
    const values = this.#linked.get(`${id} ${parameter}`) ?? this.#fields.get(parameter) ?? []
    return values.length === 0 ? undefined : this.#dice.pick(values)
  }

  #credential({ credentials }: Operation): string | null {
    if (credentials.length === 0 || credentials.includes('admin_token')) return null
    const kind = this.#dice.pick(credentials)
    const [token] = this.#fields.get(kind) ?? []
    return kind === 'secret_key' ? 'sk_test_sandbox_demo' : (token ?? 'sk_test_sandbox_demo')
  }

  /** An example of the document, with identifiers, tokens and times of this sandbox. */
  #body(operation: Operation, now_ms: number): string {
    this.#count += 1
    const own: Record<string, Json> = {
      beacon_id: `fuzz-${this.#count}`,
      client_id: operation.endpoint_id === 'projects.create' ? `proj_fuzz_${this.#count}` : 'proj_demo',
      publishable_key: 'pk_test_sandbox_demo',
      occurred_at: new Date(now_ms).toISOString(),
      occurred_at_ms: now_ms,
      wait_ms: 0,
    }
    return JSON.stringify(this.#dice.pick(operation.bodies), (name, value: unknown) => {
      if (Object.hasOwn(own, name)) return own[name]
      const values = typeof value === 'string' ? this.#fields.get(name) : undefined
      return values === undefined || values.length === 0 ? value : this.#dice.pick(values)
    })
  }
}

function keep(map: Map<string, string[]>, name: string, value: string): void {
  map.set(name, [value, ...(map.get(name) ?? []).filter((other) => other !== value)].slice(0, 5))
}

/** Returns every text in a value with the name of its field. */
function fields(value: Json): [string, string][] {
  if (!isObject(value) && !Array.isArray(value)) return []
  return Object.entries(value).flatMap(([name, inner]): [string, string][] =>
    typeof inner === 'string' ? [[name, inner]] : fields(inner),
  )
}

/** Returns the path of every field of a body, of those inside too. */
function fieldPaths(value: JsonObject | Json[], above: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = [...above, name]
    return isObject(inner) || Array.isArray(inner) ? [path, ...fieldPaths(inner, path)] : [path]
  })
}

/** Escapes texts for a URL; a lone surrogate has no UTF-8, and is sent as the bytes that a careless client writes. */
function encoded(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, text.isWellFormed() ? encodeURIComponent(text) : 'a%ED%A0%80b']),
  )
}

/** Returns copies with each text in a header, as bytes of UTF-8, where a header may have them. */
function hostileHeaders(sent: Sent, name: string): Sent[] {
  return Object.entries(hostileTexts).flatMap(([what, text]) => {
    const value = Buffer.from(text).toString('latin1')
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) return []
    return [{ ...sent, odd: `header ${name} is ${what}`, headers: { ...sent.headers, [name.toLowerCase()]: value } }]
  })
}

function inPath({ path: template }: Operation, path: string, name: string, text: string): string {
  const at = template.split('/').indexOf(`{${name}}`)
  const [place = '', search] = path.split('?')
  const segments = place.split('/')
  segments[at] = text
  return `${segments.join('/')}${search === undefined ? '' : `?${search}`}`
}

function inQuery(path: string, name: string, text: string): string {
  const [place, search = ''] = path.split('?')
  const others = search.split('&').filter((part) => part !== '' && !part.startsWith(`${name}=`))
  return `${place}?${[...others, `${name}=${text}`].join('&')}`
}
