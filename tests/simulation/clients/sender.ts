/** Requests of all clients: sent over the network, and learnt from. */
import type { Acknowledged } from '../acknowledged.ts'
import type { Arrival } from '../learning/arrival.ts'
import type { Learner } from '../learning/learner.ts'
import type { Problem } from '../problem.ts'
import type { Project, RequestAction } from '../steps/steps.ts'
import { atOnce, type Network, type Outcome, type Received, type Sent, type Travel } from '../virtual/network.ts'
import type { Scheduler } from '../virtual/scheduler.ts'
import type { Follower } from './follower.ts'

const origin = 'http://localhost:3000'
const strictOrigin = 'https://app.example.com'

export const secretKey = (project: Project) => `sk_test_sandbox_${project.slice('proj_'.length)}`
export const publishableKey = (project: Project) => `pk_test_sandbox_${project.slice('proj_'.length)}`
export const findOrigin = (project: Project) => (project === 'proj_strict' ? strictOrigin : origin)

/** What a client does in a step. */
export type RequestStep = RequestAction & { travel: Travel }

export class NoResponse extends Error {}

export interface SenderParts {
  acknowledged: Acknowledged
  network: Network
  scheduler: Scheduler
  learner: Learner
  /** The follower of all events. */
  follower: Follower
  log(line: string): void
  report(problem: Problem): void
}

type Message = Omit<Sent, 'body'> & { body?: object | Buffer | string }

export interface Sender extends SenderParts {
  /** Sends a request of a step. */
  call(step: RequestStep, message: Message): Promise<Outcome>
  /** Sends a request to the control plane, which nothing disturbs. */
  control(step: RequestStep, path: string, body?: object, method?: string): Promise<Outcome>
  /** Sends a read of the control plane that nothing disturbs. @throws NoResponse when the process dies */
  read(path: string): Promise<Received>
  /** The time that a client takes for the sandbox's, from the last response. */
  now(): number
  /** Resolves when this time has passed. */
  wait(ms: number): Promise<void>
  /** The fills so far, newest first. */
  filled(): Acknowledged['slots']
}

export function createSender(parts: SenderParts): Sender {
  const { acknowledged, network, scheduler, learner, log } = parts
  let requests = 0
  let clock = { date_ms: 0, at_ms: 0 }

  return {
    ...parts,
    call,
    control: (step, path, body, method = 'POST') =>
      call(
        { ...step, travel: { ...step.travel, again_ms: null, loses: null, leaves_ms: null } },
        { method, path: `/_sandbox/${path}`, headers: {}, ...(body === undefined ? {} : { body }) },
      ),
    async read(path) {
      const outcome = await scheduler.until(
        network.send({ method: 'GET', path, headers: {}, body: '' }, atOnce),
        20_000,
        `GET ${path}`,
      )
      if (outcome === 'lost') throw new NoResponse(`GET ${path} has no response`)
      return outcome
    },
    now: () => clock.date_ms + (scheduler.now_ms - clock.at_ms),
    wait: (ms) => new Promise((resolve) => void scheduler.add('network', ms, resolve)),
    filled: () => acknowledged.slots.filter(({ asset_token }) => asset_token !== null).toReversed(),
  }

  function call(step: RequestStep, message: Message): Promise<Outcome> {
    const { body: sent } = message
    const body =
      sent === undefined ? '' : Buffer.isBuffer(sent) || typeof sent === 'string' ? sent : JSON.stringify(sent)
    const headers = { ...(body === '' ? {} : { 'content-type': 'application/json' }), ...message.headers }
    return send({ ...message, headers, body }, step.travel, (arrival) => learner.learn(step, arrival))
  }

  async function send(sent: Sent, travel: Travel, learn: (arrival: Arrival) => (received: Received) => void) {
    const number = ++requests
    const text = typeof sent.body === 'string' ? sent.body : `${sent.body.length} bytes`
    log(`  ${number} ${sent.method} ${sent.path} ${text}`)
    const outcome = await network.send(sent, travel, () => {
      const arrival = learner.arrive(sent)
      const onReceived = learn(arrival)
      return (received) => {
        learner.leave(arrival, received !== null)
        log(`  ${number} ${describe(received ?? 'lost', sent)}`)
        if (received === null) return
        const date = Date.parse(received.headers.date ?? '')
        if (!Number.isNaN(date)) clock = { date_ms: date, at_ms: scheduler.now_ms }
        learner.checkResponse(sent, arrival, received)
        onReceived(received)
      }
    })
    if (outcome === 'lost') log(`  ${number} no response`)
    return outcome
  }
}

/** Returns the headers of a credential: an activation token as its page sends it, or the secret key of a project. */
export function credential(
  project: Project,
  activation: { token: string; project: Project } | null,
): Record<string, string> {
  if (activation === null) return { authorization: `Bearer ${secretKey(project)}` }
  return { authorization: `Bearer ${activation.token}`, origin: findOrigin(activation.project) }
}

export function pick<Item>(items: readonly Item[], position: number): Item | null {
  return items.length === 0 ? null : items[position % items.length]!
}

/** Returns the body of a response that is JSON; null for anything else. */
export function readJson<Body>(outcome: Outcome): Body | null {
  if (outcome === 'lost' || outcome.headers['content-type']?.startsWith('application/json') !== true) return null
  return JSON.parse(outcome.body.toString('utf8')) as Body
}

/** A response as the history has it: the whole of what is JSON, without the tokens of no interest. */
function describe(outcome: Outcome, { path }: Sent): string {
  if (outcome === 'lost') return 'ended without a response'
  const { status, headers, body } = outcome
  const isText = headers['content-type']?.startsWith('application/json') === true
  // A snapshot has the time of a real file.
  if (!isText || path.startsWith('/_sandbox/snapshots')) return String(status)
  return `${status} ${body.toString('utf8').slice(0, 400)}`
}
