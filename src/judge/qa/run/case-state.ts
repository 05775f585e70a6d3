/** The state of a running case: its session and project, its responses so far, and its events. */

import { createHash } from 'node:crypto'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { type Json, valueAt } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { KeySource } from '../report/repeat-script.ts'
import type { StepResponse } from '../result.ts'
import type { BuiltIn, Lookup } from '../suite/variables.ts'
import type { EventStream, WantedEvent } from './events.ts'
import type { Target } from './target.ts'

/** The parts of a fill that later steps need. */
export interface Fill {
  asset_token: string
  slot_id: string | null
  format: string | null
  width: number | null
  height: number | null
  /** Of a clip, milliseconds. */
  duration_ms: number | null
}

/** The credential of a request step: `secret`, `none`, ..., a key by project and class, or text that is sent unchanged. */
type KeyChoice =
  | string
  | { project?: string | undefined; class?: 'secret' | 'publishable' | undefined; mode?: 'test' | 'live' | undefined }

export interface ProjectKeys {
  secret_key: string
  live_secret_key: string
  publishable_key: string
}

interface CaseStateOptions {
  target: Target
  /** Determines everything random in this case. */
  seed: string
  case_name: string
  variables: Readonly<Record<string, Json>>
  /** Milliseconds since the epoch, of the host. */
  hostNow(): number
}

/** A step refers to something that no earlier step has made. */
function missing(what: string, source: string): Error {
  return new Error(`There is no ${what} yet: an earlier step must be ${source}.`)
}

export class CaseState {
  readonly session: string
  client_id: string
  origin: string
  /** Keys of a project that was made for this case. */
  own_keys: ProjectKeys | null = null
  /** How a script gets the key of the project; null for that of the first project. */
  key_source: KeySource | null = null
  events: EventStream | null = null
  readonly #options: CaseStateOptions
  readonly #responses = new Map<string, StepResponse>()
  readonly #slots = new Set<string>()
  readonly #keys = new Map<string, Promise<string>>()
  readonly #onEnd: (() => Promise<void>)[] = []
  #activation: { token: string; origin: string } | null = null
  #beaconToken: string | null = null
  #lastFill: StepResponse | null = null
  #lastSlot: string | null = null
  #uuids = 0
  #skew_ms = 0

  constructor(options: CaseStateOptions) {
    const { target, seed } = options
    this.#options = options
    this.session = `${target.session_prefix}${hash(seed).slice(0, 16)}`
    this.client_id = target.client_id
    this.origin = target.origin
  }

  /** Records a response: under its name, as the last slot and fill, as the activation and beacon token in use. */
  recordResponse(response: StepResponse, name: string | null): void {
    const { body, headers } = response
    if (name !== null) this.#responses.set(name, response)
    const slots = [valueAt(body, 'slot_id'), valueAt(body, 'slot_ids')].flat().filter(isText)
    this.#lastSlot = slots[0] ?? this.#lastSlot
    for (const slot of slots) this.#slots.add(slot)
    if (fillIn(response) !== null) this.#lastFill = response
    const token = valueAt(body, 'activation_token')
    if (isText(token)) this.#activation = { token, origin: this.origin }
    const beaconToken = isText(body) ? /"beacon_token":"(bt_[\w-]+)"/.exec(body)?.[1] : undefined
    this.#beaconToken = beaconToken ?? this.#beaconToken
    const date_ms = Date.parse(headers.date ?? '')
    if (!Number.isNaN(date_ms)) this.#skew_ms = measurableSkew(date_ms - this.#options.hostNow())
  }

  /** Returns the response of an earlier step by its name. */
  findResponse(name: string): StepResponse | undefined {
    return this.#responses.get(name)
  }

  /** Returns the last response with a fill. Throws Error. */
  lastFill(): StepResponse {
    if (this.#lastFill === null) throw missing('fill', 'a placement that fills')
    return this.#lastFill
  }

  /** Calls `close` when the case has ended, the last one first. */
  onEnd(close: () => Promise<void>): void {
    this.#onEnd.push(close)
  }

  async end(): Promise<void> {
    this.events?.close()
    for (const close of this.#onEnd.toReversed()) await close()
  }

  /** Returns the slot of a step by its name, a slot_id unchanged, or without a name the last slot. Throws Error. */
  findSlot(name: string | undefined): string {
    const source = 'a placement or a job'
    if (name === undefined) {
      if (this.#lastSlot === null) throw missing('slot', source)
      return this.#lastSlot
    }
    const response = this.#responses.get(name)
    if (response === undefined) return name
    const slot = valueAt(response.body, 'slot_id') ?? valueAt(response.body, 'slot_ids.0')
    if (!isText(slot)) throw missing(`slot in ${name}`, source)
    return slot
  }

  findAssetToken(name: string | undefined): string {
    return this.findFill(name).asset_token
  }

  /** Returns the fill of a step by its name, or the last fill; another text is an asset token. Throws Error. */
  findFill(name: string | undefined): Fill {
    const response = name === undefined ? this.lastFill() : this.#responses.get(name)
    if (response === undefined) return { ...noFacts, asset_token: name ?? '' }
    const fill = fillIn(response)
    if (fill === null) throw missing(`fill in ${name}`, 'a placement that fills')
    return fill
  }

  /** Returns a credential with the origin that goes with it, or null for none. Throws Error. */
  async credential(choice: KeyChoice = 'secret'): Promise<{ token: string; origin: string | null } | null> {
    if (typeof choice === 'object') {
      const { project: client_id = null, class: kind = 'secret', mode = 'test' } = choice
      return { token: await this.#options.target.keys.take({ client_id, class: kind, mode }), origin: null }
    }
    switch (choice) {
      case 'none':
        return null
      case 'activation':
        if (this.#activation === null) throw missing('activation token', 'an activate step')
        return this.#activation
      case 'beacon':
        if (this.#beaconToken === null) throw missing('beacon token', 'a frame step')
        return { token: this.#beaconToken, origin: this.origin }
      case 'secret':
      case 'publishable':
      case 'live':
        return { token: await this.key(choice), origin: null }
      case 'other':
        return { token: await this.#keyOfOtherProject(), origin: null }
      default:
        return { token: choice, origin: choice.startsWith('at_') ? this.origin : null }
    }
  }

  /** Returns a key of the project of this case, the same throughout the case. */
  key(name: 'secret' | 'publishable' | 'live'): Promise<string> {
    if (this.own_keys !== null) {
      const { secret_key, live_secret_key, publishable_key } = this.own_keys
      return Promise.resolve({ secret: secret_key, publishable: publishable_key, live: live_secret_key }[name])
    }
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const { target } = this.#options
    const key = target.keys.take({
      client_id: this.client_id,
      class: name === 'publishable' ? 'publishable' : 'secret',
      mode: name === 'live' ? 'live' : target.summary.key_mode,
    })
    this.#keys.set(name, key)
    return key
  }

  /** Returns the keys and tokens that this case holds. */
  async keysInUse(): Promise<string[]> {
    const taken = await Promise.all([...this.#keys].map(([name, key]) => (name === 'publishable' ? '' : key)))
    const own = this.own_keys === null ? [] : [this.own_keys.secret_key, this.own_keys.live_secret_key]
    return [...taken, ...own, this.#activation?.token ?? ''].filter((key) => key !== '')
  }

  /** Resolves with the time of the service, epoch milliseconds. */
  async now(): Promise<number> {
    const { target, hostNow } = this.#options
    if (target.missing('control') !== null) return hostNow() + this.#skew_ms
    return (await target.control<{ now_ms: number }>('clock.show')).now_ms
  }

  newUuid(): string {
    const digits = hash(`${this.#options.seed} ${++this.#uuids}`)
    return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-4$3-a$4-$5')
  }

  /** Returns the value of a variable: a response, a variable of the suite or its matrix, or a built-in one. */
  readonly lookup: Lookup = async (name) => {
    const response = this.#responses.get(name)
    if (response !== undefined) return response as unknown as Json
    const { variables } = this.#options
    if (Object.hasOwn(variables, name)) return variables[name]
    return findEntry(this.#builtIns, name)?.()
  }

  /** Resolves when events of this case have been emitted in this order. Rejects with MissingEventsError on abort. */
  waitForEvents(wanted: readonly WantedEvent[], signal: AbortSignal): Promise<SandboxEvent[]> {
    const types = wanted.map((each) => (typeof each === 'string' ? each : each.type))
    return this.events!.waitFor(wanted, (event) => this.#isOwn(event, types), signal)
  }

  readonly #builtIns: Record<BuiltIn, () => Json | Promise<Json>> = {
    session: () => this.session,
    client_id: () => this.client_id,
    origin: () => this.origin,
    base_url: () => this.#options.target.base_url,
    secret_key: () => this.key('secret'),
    publishable_key: () => this.key('publishable'),
    now_ms: () => this.now(),
    uuid: () => this.newUuid(),
    beacon_id: () => this.newUuid(),
    index: () => 1,
    case_name: () => this.#options.case_name,
  }

  #keyOfOtherProject(): Promise<string> {
    const { keys, projects } = this.#options.target
    const client_id = projects.find((id) => id !== this.client_id && !id.startsWith('proj_qa_'))
    if (client_id === undefined) throw missing('other project', 'a second project')
    return keys.take({ client_id, class: 'secret', mode: 'test' })
  }

  /** An event without slot and session may belong to any case: it counts when it is awaited, in an exclusive case. */
  #isOwn({ slot_id, type, data }: SandboxEvent, awaited: readonly string[]): boolean {
    if (isText(data.session_id)) return data.session_id.startsWith(this.session) || this.#isOwnSlot(slot_id)
    return slot_id === null ? awaited.includes(type) : this.#isOwnSlot(slot_id)
  }

  #isOwnSlot(slot_id: string | null): boolean {
    return slot_id !== null && this.#slots.has(slot_id)
  }
}

const noFacts = { slot_id: null, format: null, width: null, height: null, duration_ms: null }

function fillIn({ body }: StepResponse): Fill | null {
  const token = valueAt(body, 'placement.asset_token') ?? valueAt(body, 'decision.asset_token')
  // The control plane shows tokens redacted.
  if (!isText(token) || token.endsWith('_redacted')) return null
  const text = (path: string) => [valueAt(body, path)].find(isText) ?? null
  const number = (path: string) => [valueAt(body, path)].find((value) => typeof value === 'number') ?? null
  return {
    asset_token: token,
    slot_id: text('slot_id'),
    format: text('decision.format'),
    width: number('decision.dimensions.width'),
    height: number('decision.dimensions.height'),
    duration_ms: number('decision.duration_ms'),
  }
}

/** The Date header has whole seconds: a smaller difference of the clocks cannot be measured. */
function measurableSkew(difference_ms: number): number {
  return Math.abs(difference_ms) < 2_000 ? 0 : difference_ms
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
