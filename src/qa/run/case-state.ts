/** What a case knows while it runs: its session and project, its answers so far, its events. */
import { createHash } from 'node:crypto'
import type { SandboxEvent } from '../../contract/control/events.ts'
import type { Json } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import type { Answer } from '../result.ts'
import type { BuiltIn, Lookup } from '../suite/variables.ts'
import type { EventTap, WantedEvent } from './events.ts'
import type { Target } from './target.ts'

/** What later steps need of a fill. */
export interface Fill {
  asset_token: string
  slot_id: string | null
  format: string | null
  width: number | null
  height: number | null
  /** Of a clip, milliseconds. */
  duration_ms: number | null
}

export type KeyChoice =
  | string
  | { project?: string | undefined; class?: 'secret' | 'publishable' | undefined; mode?: 'test' | 'live' | undefined }

export interface CaseStateOptions {
  target: Target
  /** Makes what is random in this case; the same seed makes the same. */
  seed: string
  case_name: string
  variables: Readonly<Record<string, Json>>
  /** Milliseconds since the epoch, of this machine. */
  machineNow(): number
}

/** A step refers to something that no earlier step has brought about. */
export class MissingError extends Error {
  override readonly name = 'MissingError'
}

export class CaseState {
  readonly session: string
  readonly case_name: string
  client_id: string
  origin: string
  /** Keys of a project that was made for this case. */
  own_keys: { secret_key: string; live_secret_key: string; publishable_key: string } | null = null
  tap: EventTap | null = null
  readonly #options: CaseStateOptions
  readonly #answers = new Map<string, Answer>()
  readonly #slots = new Set<string>()
  readonly #keys = new Map<string, Promise<string>>()
  readonly #closing: (() => Promise<void>)[] = []
  #activation: { token: string; origin: string } | null = null
  #beaconToken: string | null = null
  #last: Answer | null = null
  #lastSlots: string[] = []
  #uuids = 0
  #skew_ms = 0

  constructor(options: CaseStateOptions) {
    this.#options = options
    this.session = `${options.target.session_prefix}${hash(options.seed).slice(0, 16)}`
    this.case_name = options.case_name
    this.client_id = options.target.client_id
    this.origin = options.target.origin
  }

  /** Keeps an answer: under its name, as the last placement, as the activation in use. */
  remember(answer: Answer, name: string | null): void {
    if (name !== null) this.#answers.set(name, answer)
    const slots = [valueAt(answer.body, 'slot_id'), valueAt(answer.body, 'slot_ids')].flat()
    const found = slots.filter((slot): slot is string => typeof slot === 'string')
    if (found.length > 0) this.#lastSlots = found
    for (const slot of found) this.#slots.add(slot)
    if (fillIn(answer) !== null) this.#last = answer
    const token = valueAt(answer.body, 'activation_token')
    if (typeof token === 'string') this.#activation = { token, origin: this.origin }
    const handed = typeof answer.body === 'string' ? /"beacon_token":"(bt_[\w-]+)"/.exec(answer.body)?.[1] : undefined
    if (handed !== undefined) this.#beaconToken = handed
    const seconds = Date.parse(answer.headers.date ?? '')
    if (!Number.isNaN(seconds)) this.#skew_ms = skewOf(seconds - this.#options.machineNow())
  }

  answer(name: string): Answer | undefined {
    return this.#answers.get(name)
  }

  /** The last answer with a fill. */
  lastFill(): Answer {
    return this.#last ?? missing('fill', 'a placement that fills')
  }

  /** Closes something when the case has ended. */
  atEnd(close: () => Promise<void>): void {
    this.#closing.push(close)
  }

  async end(): Promise<void> {
    this.tap?.close()
    for (const close of this.#closing.toReversed()) await close()
  }

  /** The slot of a step by its name, or a slot_id as it is; null or nothing: the last slot. */
  slotOf(name: string | undefined): string {
    if (name === undefined) return this.#lastSlots[0] ?? missing('slot', 'a placement or a job')
    const answer = this.#answers.get(name)
    if (answer === undefined) return name
    const slot = valueAt(answer.body, 'slot_id') ?? valueAt(answer.body, 'slot_ids.0')
    return typeof slot === 'string' ? slot : missing(`slot in ${name}`, 'a placement or a job')
  }

  assetTokenOf(name: string | undefined): string {
    if (name !== undefined && !this.#answers.has(name)) return name
    return this.fillOf(name).asset_token
  }

  /** The fill of a step by its name; nothing: the last fill. Throws where it was none. */
  fillOf(name: string | undefined): Fill {
    if (name === undefined) return (this.#last && fillIn(this.#last)) ?? missing('fill', 'a placement that fills')
    const answer = this.#answers.get(name)
    if (answer === undefined) return { ...noFacts, asset_token: name }
    return fillIn(answer) ?? missing(`fill in ${name}`, 'a placement that fills')
  }

  /** A credential, and the origin that goes with it. null: none is sent. */
  async credential(choice: KeyChoice = 'secret'): Promise<{ token: string; origin: string | null } | null> {
    if (choice === 'none') return null
    if (choice === 'activation') {
      const { token, origin } = this.#activation ?? missing('activation token', 'an activate step')
      return { token, origin }
    }
    if (choice === 'beacon') {
      return { token: this.#beaconToken ?? missing('beacon token', 'a frame step'), origin: this.origin }
    }
    if (typeof choice === 'object') {
      const { project: client_id = null, class: kind = 'secret', mode = 'test' } = choice
      return { token: await this.#options.target.keys.take({ client_id, class: kind, mode }), origin: null }
    }
    if (choice === 'secret' || choice === 'publishable' || choice === 'live') {
      return { token: await this.key(choice), origin: null }
    }
    if (choice === 'other') return { token: await this.#keyOfOther(), origin: null }
    return { token: choice, origin: choice.startsWith('at_') ? this.origin : null }
  }

  /** A key of the project of this case, the same throughout the case. */
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

  /** The time of the service, epoch milliseconds. */
  async now(): Promise<number> {
    const { target, machineNow } = this.#options
    if (target.lacks('control') !== null) return machineNow() + this.#skew_ms
    const clock = (await target.control('clock.show')) as { now_ms: number }
    return clock.now_ms
  }

  newUuid(): string {
    const digits = hash(`${this.#options.seed} ${++this.#uuids}`)
    return [
      digits.slice(0, 8),
      digits.slice(8, 12),
      `4${digits.slice(13, 16)}`,
      `a${digits.slice(17, 20)}`,
      digits.slice(20, 32),
    ].join('-')
  }

  readonly lookup: Lookup = async (name) => {
    const answer = this.#answers.get(name)
    if (answer !== undefined) return answer as unknown as Json
    const { variables } = this.#options
    if (Object.hasOwn(variables, name)) return variables[name]
    return this.#builtIns[name as BuiltIn]?.()
  }

  /** Waits until events of this case have happened in this order. */
  waitForEvents(wanted: readonly WantedEvent[], signal: AbortSignal): Promise<SandboxEvent[]> {
    const types = wanted.map((each) => (typeof each === 'string' ? each : each.type))
    return this.tap!.waitFor(wanted, (event) => this.#isOwn(event, types), signal)
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
    case_name: () => this.case_name,
  }

  async #keyOfOther(): Promise<string> {
    const { target } = this.#options
    const other = target.projects.find((client_id) => client_id !== this.client_id && !client_id.startsWith('proj_qa_'))
    return target.keys.take({
      client_id: other ?? missing('other project', 'a second project'),
      class: 'secret',
      mode: 'test',
    })
  }

  /** An event without slot and session may be of any case: it counts where it is awaited, in a case that runs alone. */
  #isOwn({ slot_id, type, data }: SandboxEvent, awaited: readonly string[]): boolean {
    if (typeof data.session_id === 'string') return data.session_id.startsWith(this.session) || this.#isSlotOwn(slot_id)
    return slot_id === null ? awaited.includes(type) : this.#isSlotOwn(slot_id)
  }

  #isSlotOwn(slot_id: string | null): boolean {
    return slot_id !== null && this.#slots.has(slot_id)
  }
}

const noFacts = { slot_id: null, format: null, width: null, height: null, duration_ms: null }

function fillIn({ body }: Answer): Fill | null {
  const token = valueAt(body, 'placement.asset_token') ?? valueAt(body, 'decision.asset_token')
  // The control plane shows what a token is of, and not the token.
  if (typeof token !== 'string' || token.endsWith('_redacted')) return null
  return {
    asset_token: token,
    slot_id: textOrNull(valueAt(body, 'slot_id')),
    format: textOrNull(valueAt(body, 'decision.format')),
    width: numberOrNull(valueAt(body, 'decision.dimensions.width')),
    height: numberOrNull(valueAt(body, 'decision.dimensions.height')),
    duration_ms: numberOrNull(valueAt(body, 'decision.duration_ms')),
  }
}

/** The Date header counts in whole seconds: clocks that agree so far are taken to agree. */
function skewOf(difference_ms: number): number {
  return Math.abs(difference_ms) < 2_000 ? 0 : difference_ms
}

function missing(what: string, from: string): never {
  throw new MissingError(`There is no ${what} yet: an earlier step must be ${from}.`)
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
