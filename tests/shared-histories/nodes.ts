/** Nodes as processes of the program, each with a proxy to the database and a clock of its own. */

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type Running, spawnSvc } from '#tests/cli/process.ts'
import { freePort } from '#tests/postgres/server.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import type { FaultyProxy } from './proxy.ts'
import { startStoreProxy } from './store-proxy.ts'

export interface Node {
  readonly number: number
  /** The same over all starts. */
  readonly url: string
  readonly proxy: FaultyProxy
  /** How far its clock is ahead. */
  readonly skew_ms: number
  readonly state: 'running' | 'paused' | 'dead'
  /** SIGSTOP and SIGCONT. */
  pause(): void
  resume(): void
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** Starts it again, with that clock. Tries for as long as the database does not respond. */
  start(skew_ms: number): Promise<void>
  /** What the processes have written to stderr. */
  errors(): string
}

export interface Cluster {
  readonly nodes: readonly Node[]
  /** A token of the control plane, for every node. */
  readonly token: string
  /** Resolves when every node runs and is ready, with all faults of its network ended. */
  heal(): Promise<void>
  close(): Promise<void>
}

export interface ClusterOptions {
  /** The URL of a database that is empty, with its password: its port is what the proxies connect to. */
  store: string
  namespace: string
  /** Of each node. */
  skews_ms: readonly number[]
  /** Further flags of `svc start`. */
  flags?: readonly string[]
  /** Further variables of the nodes. */
  env?: Readonly<Record<string, string>>
  /** A module that is run instead of the program, with its arguments. */
  instead?: string
}

/** The most that a node may take to start or to be ready again, while the computer is busy with other work. */
const patienceMs = 90_000

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { skews_ms } = options
  const nodes: (Node & { token: string | null })[] = []
  try {
    for (const [number, skew_ms] of skews_ms.entries()) nodes.push(await createNode(number, skew_ms, options))
    // The first one alone: its line has the token for all of them.
    await nodes[0]!.start(skews_ms[0]!)
    await Promise.all(nodes.slice(1).map((node) => node.start(node.skew_ms)))
  } catch (error) {
    await Promise.allSettled(nodes.map(end))
    throw error
  }
  const { token } = nodes[0]!
  if (token === null) throw new Error('the first node printed no token')
  return {
    nodes,
    token,
    async heal() {
      for (const node of nodes) {
        node.proxy.set(null)
        node.resume()
        if (node.state === 'dead') await node.start(node.skew_ms)
      }
      await Promise.all(nodes.map(untilReady))
    },
    async close() {
      await Promise.all(nodes.map(end))
    },
  }
}

async function end(node: Node): Promise<void> {
  node.resume()
  await node.kill()
  await node.proxy.close()
}

async function untilReady(node: Node): Promise<void> {
  for (const started = performance.now(); ; await pause(50)) {
    const response = await fetch(`${node.url}/_sandbox/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(
      () => null,
    )
    await response?.text()
    if (response?.status === 200) return
    if (performance.now() - started > patienceMs) {
      throw new Error(
        `node ${node.number} is not ready ${patienceMs / 1_000} s after all faults ended\n${node.errors()}`,
      )
    }
  }
}

async function createNode(number: number, first_skew_ms: number, options: ClusterOptions) {
  const { store, namespace, flags = [], env = {}, instead } = options
  const { proxy, store: own } = await startStoreProxy(store)
  const port = await freePort()
  const home = temporaryDirectory()
  let running: Running | null = null
  const texts: string[] = []
  const node = {
    number,
    url: `http://127.0.0.1:${port}`,
    proxy,
    skew_ms: first_skew_ms,
    state: 'dead' as Node['state'],
    token: null as string | null,
    pause() {
      if (node.state !== 'running') return
      running!.child.kill('SIGSTOP')
      node.state = 'paused'
    },
    resume() {
      if (node.state !== 'paused') return
      running!.child.kill('SIGCONT')
      node.state = 'running'
    },
    async kill() {
      if (node.state === 'dead') return
      node.state = 'dead'
      running!.child.kill('SIGKILL')
      await running!.ended
    },
    async start(skew_ms: number) {
      node.skew_ms = skew_ms
      const started = performance.now()
      for (;;) {
        const variables = {
          ...env,
          ...{ SVC_HOME: home, SVC_STORE: own, SKEW_MS: String(skew_ms) },
          NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'skewed-clock.ts')).href}`,
        }
        const args = ['start', '--port', String(port), '--namespace', namespace, '-o', 'json', ...flags]
        running = spawnSvc(args, variables, undefined, instead === undefined ? [] : [process.execPath, instead])
        void running.ended.then(({ stderr }) => texts.push(stderr))
        try {
          const { admin_token } = JSON.parse(await running.firstLine) as { admin_token?: string }
          node.token ??= admin_token ?? null
          node.state = 'running'
          return
        } catch (error) {
          if (performance.now() - started > patienceMs) throw error
          await pause(250)
        }
      }
    },
    errors: () => texts.join('\n'),
  }
  return node
}
