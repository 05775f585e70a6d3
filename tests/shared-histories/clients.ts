/**
 * Clients that send random operations to random nodes, one at a time each, and record what becomes of them. Beacons are sent
 * again as a client does that has no response, also to other nodes, and also when they had one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Action, Operation, Outcome } from '#tests/histories/history.ts'
import type { Dice } from '#tests/reliability/dice.ts'
import { secretKey } from './projects.ts'

interface ClientOptions {
  urls: readonly string[]
  token: string
  /** The address of the receiver of callbacks. */
  receiver: string
  dice: Dice
  /** Milliseconds since the history began. */
  now(): number
}

export interface Clients {
  readonly operations: readonly Operation[]
  /** Sends one operation and records it. */
  send(client: number, node: number, action: Action): Promise<Operation>
  /** Sends random operations until `stop`. */
  run(client: number, isOver: () => boolean): Promise<void>
}

interface KnownSlot {
  slot_id: string
  project: string
  asset_token: string | null
}

/**
 * The clocks of clients are ahead, so that beacons come after decisions by nodes whose clocks are ahead, and are not too far in
 * the future for nodes whose clocks are behind: with a minute between them. With more, such beacons are refused.
 */
const ahead_ms = 30_000
/** A client gives up after that: the operation may still happen. */
const timeoutMs = 4_000
/** A node that did not respond is mostly avoided for as long, and twice as long each time that it does not again. */
const avoidedMs = 500
const longestAvoidedMs = 6_000
/** Sessions are used for a while, by all clients, and then replaced by new ones. */
const sessionsAtOnce = 6
const operationsPerSession = 40
/** Clients refer to those of the newest slots and beacons. */
const newest = 60

export function createClients({ urls, token, receiver, dice, now }: ClientOptions): Clients {
  const operations: Operation[] = []
  const slots: KnownSlot[] = []
  const beacons: Extract<Action, { kind: 'beacon' }>[] = []
  /** The same body each time that it is sent. */
  const occurred = new Map<string, number>()
  const chains = new Map<string, number>()
  const avoided = new Map<number, { until_ms: number; for_ms: number }>()
  let count = 0

  return { operations, send, run }

  async function run(client: number, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const { action, outcome } = await send(client, chooseNode(), chooseAction())
      if (outcome.kind === 'unknown') await pause(dice.below(500))
      if (action.kind === 'beacon' && dice.chance(0.4)) await send(client, chooseNode(), action)
      await pause(dice.below(30))
    }
  }

  async function send(client: number, node: number, action: Action): Promise<Operation> {
    const number = ++count
    const called = now()
    const outcome = await exchange(urls[node]!, request(action))
    const operation = { number, client, node, action, called, ended: now(), outcome }
    operations.push(operation)
    learn(operation)
    return operation
  }

  function chooseNode(): number {
    const all = [...urls.keys()]
    const good = all.filter((node) => (avoided.get(node)?.until_ms ?? 0) < now())
    return good.length === 0 || dice.chance(0.05) ? dice.pick(all) : dice.pick(good)
  }

  function avoid(node: number): void {
    const before = avoided.get(node)
    // Those that were on their way at the same time count once.
    if (before !== undefined && before.until_ms > now()) return
    const for_ms = Math.min(2 * (before?.for_ms ?? avoidedMs / 2), longestAvoidedMs)
    avoided.set(node, { until_ms: now() + for_ms, for_ms })
  }

  function chooseAction(): Action {
    const project = dice.chance(0.7) ? 'proj_demo' : 'proj_other'
    const session = `s-${Math.floor(count / (operationsPerSession * sessionsAtOnce))}-${dice.below(sessionsAtOnce)}`
    const slot = slots.at(-1 - dice.below(Math.min(newest, slots.length)))
    const roll = dice.roll()
    if (roll < 0.3 || slot === undefined) {
      const consent = dice.chance(0.5) ? null : dice.chance(0.7)
      return { kind: 'place', project, session, consent, wait_ms: dice.pick([0, 0, 100, 1_500]) }
    }
    if (roll < 0.48) return { kind: 'poll', slot_id: slot.slot_id, wait_ms: dice.pick([0, 500, 2_000]) }
    if (roll < 0.58) return { kind: 'consent', project, session, decision: dice.pick(['personalized', 'denied']) }
    if (roll < 0.84) return chooseBeacon()
    if (roll < 0.86) return { kind: 'settings', project, change: String(dice.pick([0, 150, 400])) }
    if (roll < 0.9) return { kind: 'read_consent', project, session }
    if (roll < 0.95 && beacons.length > 0) return { kind: 'read_beacon', beacon_id: chooseOld().beacon_id }
    if (roll < 0.97) return { kind: 'read_settings', project }
    return { kind: 'read_chain', project, after_seq: Math.max(0, (chains.get(project) ?? 0) - 50) }
  }

  function chooseOld(): Extract<Action, { kind: 'beacon' }> {
    return beacons.at(-1 - dice.below(Math.min(newest, beacons.length)))!
  }

  function chooseBeacon(): Action {
    const filled = slots.slice(-newest).filter(({ asset_token }) => asset_token !== null)
    if (filled.length === 0 || (beacons.length > 0 && dice.chance(0.3))) {
      return beacons.length > 0 ? chooseOld() : { kind: 'read_settings', project: 'proj_demo' }
    }
    const { slot_id } = dice.pick(filled)
    const event = dice.chance(0.7) ? 'render' : 'click'
    const beacon = { kind: 'beacon', slot_id, beacon_id: `beacon-${beacons.length + 1}`, event } as const
    beacons.push(beacon)
    return beacon
  }

  function request(action: Action): Sent {
    const control = (path: string, method = 'GET', body?: object): Sent => ({
      ...{ method, path: `/_sandbox/${path}`, headers: { 'x-sandbox-token': token } },
      ...(body === undefined ? {} : { body }),
    })
    const bearer = (project: string) => ({ authorization: `Bearer ${secretKey(project)}` })
    switch (action.kind) {
      case 'place': {
        const { project, session: session_id, consent, wait_ms } = action
        const given = consent === null ? {} : { consent: { semantic_targeting: consent, prompt_shared: consent } }
        const calls_back = dice.chance(0.15) ? { callback_url: receiver } : {}
        const job = { client_id: project, session_id, job_type: 'chat', prompt: { topic: 'garden tools' }, wait_ms }
        return {
          method: 'POST',
          path: '/v1/placements',
          headers: bearer(project),
          body: { ...job, ...given, ...calls_back },
        }
      }
      case 'poll': {
        const { project } = slots.find(({ slot_id }) => slot_id === action.slot_id)!
        const path = `/v1/decisions/${action.slot_id}?wait_ms=${action.wait_ms}`
        return { method: 'GET', path, headers: bearer(project) }
      }
      case 'consent': {
        const { project, session: session_id, decision } = action
        const body = { client_id: project, session_id, decision }
        return { method: 'POST', path: '/v1/consent', headers: bearer(project), body }
      }
      case 'beacon': {
        const { slot_id, beacon_id, event } = action
        const { project, asset_token } = slots.find((slot) => slot.slot_id === slot_id)!
        const occurred_at_ms = occurred.get(beacon_id) ?? Date.now() + ahead_ms
        occurred.set(beacon_id, occurred_at_ms)
        const body = { beacon_id, asset_token, event, occurred_at_ms }
        return { method: 'POST', path: '/v1/beacons', headers: bearer(project), body }
      }
      case 'settings':
        return control(`projects/${action.project}`, 'PATCH', { decision_latency_ms: Number(action.change) })
      case 'read_consent':
        return control(`consent?limit=1000&client_id=${action.project}&session_id=${action.session}`)
      case 'read_beacon':
        return control(`beacons?limit=1000&beacon_id=${action.beacon_id}`)
      case 'read_settings':
        return control(`projects/${action.project}`)
      case 'read_chain':
        return control(`projects/${action.project}/evidence?limit=1000&after_seq=${action.after_seq}&checkpoint=false`)
    }
  }

  function learn({ action, outcome, node }: Operation): void {
    if (outcome.kind === 'unknown') avoid(node)
    else avoided.delete(node)
    if (outcome.kind !== 'done') return
    if (action.kind === 'place') {
      const { slot_id, decision } = outcome.body as PlacedBody
      slots.push({ slot_id, project: action.project, asset_token: decision?.asset_token ?? null })
    }
    if (action.kind === 'poll') {
      const slot = slots.find(({ slot_id }) => slot_id === action.slot_id)!
      slot.asset_token ??= (outcome.body as PlacedBody).decision?.asset_token ?? null
    }
    if (action.kind === 'read_chain') {
      const { entries } = outcome.body as { entries: { seq: number }[] }
      chains.set(action.project, Math.max(chains.get(action.project) ?? 0, entries.at(-1)?.seq ?? 0))
    }
  }
}

interface PlacedBody {
  slot_id: string
  decision: { asset_token?: string | null } | null
}

interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body?: object
}

async function exchange(url: string, { method, path, headers, body }: Sent): Promise<Outcome> {
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const received: unknown = await response.json()
    if (response.status < 300) return { kind: 'done', body: received }
    if (response.status < 500) return { kind: 'refused', status: response.status, body: received }
    return { kind: 'unknown', why: `${response.status} ${JSON.stringify(received)}` }
  } catch (error) {
    return {
      kind: 'unknown',
      why: error instanceof Error ? `${error.name} ${String(error.cause ?? error.message)}` : '',
    }
  }
}
