/**
 * One history: nodes are started, clients and followers work while faults happen, everything is healed, and the state is read.
 * The seed decides what is tried, not what comes of it: the processes are real, and run as the computer lets them.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type CheckName, checkHistory, type Problem } from '#tests/histories/checks.ts'
import type { CallbackSeen, History } from '#tests/histories/history.ts'
import { describe } from '#tests/histories/known.ts'
import type { State } from '#tests/histories/state.ts'
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import { createClients } from './clients.ts'
import { type DatabaseControl, type FaultKind, faultKinds } from './faults.ts'
import { compareStates, type ExportedState, readExport, readReported, untilQuiet } from './final-state.ts'
import { follow } from './follower.ts'
import { type Cluster, startCluster } from './nodes.ts'

export interface RunOptions {
  seed: number
  /** How long clients work, milliseconds. */
  duration_ms: number
  /** The URL of the server, by a user who may create databases: tokens are of a whole database, so each history has its own. */
  store: string
  /** The port that the proxies connect to, where something stands between them and the server. Default: that of `store`. */
  port?: number
  database: DatabaseControl
  /** How long a node is paused, milliseconds. */
  pause_ms: number
  /** How long what was left undone may take after all faults have ended. Default: 75 s, since callbacks are given up after 45 s. */
  quiet_ms?: number
  /** Default: all of `faultKinds`. */
  faults?: readonly FaultKind[]
  /** Further variables of the nodes. */
  env?: Readonly<Record<string, string>>
  /** Further flags of `svc start`. */
  flags?: readonly string[]
  /** A module that is run instead of the program, with its arguments. */
  instead?: string
}

/** With what happened to nodes, network and database, and when, in milliseconds. */
export type FaultyHistory = History & { seed: number; faults: readonly { at_ms: number; text: string }[] }

export interface Run {
  history: FaultyHistory
  exported: ExportedState
  reported: State
  /** Of nodes that report different states, too, and of responses. */
  problems: Problem<CheckName | 'nodes' | 'responses'>[]
  /** By kind of fault. */
  counts: Record<string, number>
}

/** How far the clocks of nodes may be ahead: by a minute between two of them, by two, or not at all. */
const clocks = [[-30_000, 0, 30_000], [-30_000, 30_000], [-60_000, 0, 60_000], [0]] as const
const clientCount = 8
const followerCount = 3
const quietMs = 75_000
/**
 * Nodes keep settings and keys, and are notified of changes. A node whose connection for notifications is dead without an end
 * keeps what it has for 4.5 s at most, until the second heartbeat without a response; a slow network adds its delay.
 */
const staleMs = 5_000

export async function runHistory(options: RunOptions): Promise<Run> {
  const { seed, env = {}, flags = [], instead } = options
  const dice = createDice(seed)
  const skews = dice.pick(clocks)
  const skews_ms = Array.from({ length: 2 + dice.below(3) }, () => dice.pick(skews))
  await using receiver = await startReceiver()
  const store = await createDatabase(options)
  const cluster = await startCluster({
    ...{ store, namespace: 'history', skews_ms, env },
    flags: ['--rate-limit', 'off', '--decision-latency', '200', ...flags],
    ...(instead === undefined ? {} : { instead }),
  })
  try {
    return await record(options, { cluster, dice, receiver, skews })
  } finally {
    await cluster.close()
  }
}

/** Resolves to the URL of a new database. Of several servers, the first is the primary. */
async function createDatabase({ store, port }: RunOptions): Promise<string> {
  const name = `svc_${randomBytes(8).toString('hex')}`
  const client = new pg.Client({ connectionString: store.replace(/,[^/]*/, '') })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name}`)
  } finally {
    await client.end()
  }
  const created = store.replace(/^([^/]*\/\/[^/?]*)[^?]*/, `$1/${name}`)
  if (port === undefined) return created
  const moved = new URL(created)
  moved.port = String(port)
  return moved.href
}

interface Parts {
  cluster: Cluster
  dice: Dice
  receiver: { url: string; callbacks: CallbackSeen[] }
  skews: readonly number[]
}

async function record(options: RunOptions, { cluster, dice, receiver, skews }: Parts): Promise<Run> {
  const { seed, duration_ms, quiet_ms = quietMs } = options
  const { nodes, token } = cluster
  const started = performance.now()
  const now = () => performance.now() - started
  const urls = nodes.map(({ url }) => url)
  const clients = createClients({ urls, token, receiver: receiver.url, dice: createDice(dice.below(2 ** 32)), now })
  const followers = Array.from({ length: followerCount }, (_, index) =>
    follow(index, urls, token, createDice(dice.below(2 ** 32))),
  )
  const faults: FaultyHistory['faults'][number][] = []
  const counts: Record<string, number> = {}
  let isOver = false
  const running = Array.from({ length: clientCount }, (_, client) => clients.run(client, () => isOver))
  try {
    await harm(options, {
      cluster,
      dice,
      skews,
      counts,
      until_ms: duration_ms,
      now,
      note: (text) => faults.push({ at_ms: now(), text }),
    })
    await cluster.heal()
    for (const { settle } of followers) settle()
    faults.push({ at_ms: now(), text: 'all faults have ended' })
    // Some operations more: nodes that were cut off have to be of use again.
    await pause(1_000)
    isOver = true
    await Promise.all(running)
    const [one, other] = [dice.pick(urls), dice.pick(urls)]
    await untilQuiet(one, token, quiet_ms)
    const exported = await readExport(one, token)
    const reported = await readReported(other, token, exported)
    await untilCaughtUp(followers, exported.events.at(-1)?.seq ?? 0)
    await Promise.all(followers.map(({ stop }) => stop()))
    const history = {
      ...{ seed, operations: clients.operations, faults, callbacks: receiver.callbacks },
      followed: followers.map(({ followed }) => followed),
      ...{ frames: new Map<string, number>(), stale: staleMs },
    }
    const problems = [
      ...checkHistory(history, reported),
      ...compareStates(exported, reported).map((text) => ({ check: 'nodes' as const, text })),
      ...checkResponses(history).map((text) => ({ check: 'responses' as const, text })),
    ]
    return { history, exported, reported, counts, problems }
  } finally {
    isOver = true
    await Promise.allSettled([...running, ...followers.map(({ stop }) => stop())])
  }
}

/** Whatever fails is a 503 that may be sent again; and nothing that these clients send is wrong. */
export function checkResponses(history: Pick<History, 'operations'>): string[] {
  const bad = history.operations.flatMap(({ outcome, ...operation }) => {
    const name = `${describe({ outcome, ...operation })}, ${operation.action.kind},`
    if (outcome.kind === 'unknown' && /^5(?!03)/.test(outcome.why)) return [`${name} is answered with ${outcome.why}`]
    const isRefusable = operation.action.kind === 'beacon'
    if (outcome.kind !== 'refused' || isRefusable) return []
    return [`${name} is refused with ${outcome.status} ${JSON.stringify(outcome.body)}`]
  })
  const isEmpty = history.operations
    .filter(({ action }) => action.kind === 'place')
    .every(({ outcome }) => outcome.kind !== 'done')
  return isEmpty ? [...bad, 'no placement was acknowledged: there is nothing to check'] : bad
}

interface Harm {
  cluster: Cluster
  skews: readonly number[]
  dice: Dice
  counts: Record<string, number>
  until_ms: number
  now(): number
  note(text: string): void
}

/** Two faults at a time at most, one after the other. */
async function harm(options: RunOptions, { cluster, dice, skews, counts, until_ms, now, note }: Harm): Promise<void> {
  const { database, pause_ms, faults: kinds = faultKinds } = options
  let restarting: Promise<void> = Promise.resolve()
  const oneAtATime: DatabaseControl = {
    restart(mode) {
      restarting = restarting.then(() => database.restart(mode))
      return restarting
    },
  }
  const lane = async () => {
    while (now() < until_ms && kinds.length > 0) {
      await pause(200 + dice.below(1_200))
      const kind = dice.pick(kinds)
      const count = (text: string) => {
        counts[kind.name] = (counts[kind.name] ?? 0) + 1
        note(text)
      }
      await kind.run({ cluster, database: oneAtATime, dice, skews, pause_ms, note: count })
    }
  }
  await Promise.all([lane(), lane(), pause(until_ms)])
}

async function untilCaughtUp(followers: readonly { last: number }[], seq: number): Promise<void> {
  for (const started = performance.now(); performance.now() - started < 60_000; await pause(50)) {
    if (followers.every(({ last }) => last >= seq)) return
  }
}

/** Takes callbacks. */
async function startReceiver() {
  const callbacks: CallbackSeen[] = []
  const server = createServer((incoming, outgoing) => {
    let text = ''
    incoming.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    incoming
      .on('error', () => {})
      .on('end', () => {
        const body = JSON.parse(text) as { slot_id: string }
        callbacks.push({ slot_id: body.slot_id, body })
        outgoing.writeHead(204).end()
      })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/decisions`,
    callbacks,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
