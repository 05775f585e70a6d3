/** What is done to nodes, network and database while clients work: chosen by dice, with its end. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Dice } from '#tests/reliability/dice.ts'
import type { Cluster, Node } from './nodes.ts'
import type { Direction } from './proxy.ts'

/** What can be done to the database. */
export interface DatabaseControl {
  /** Stops it and starts it again: `fast` ends its connections, `immediate` is a crash. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
}

export interface FaultOptions {
  cluster: Cluster
  database: DatabaseControl
  dice: Dice
  /** How far the clock of a node may be ahead that is started again. */
  skews: readonly number[]
  /** How long a node is paused at most: longer than the 10 s that its number is its own, in long runs longer than the 30 s of a callback. */
  pause_ms: number
  /** Called with each fault when it begins. */
  note(text: string): void
}

export interface FaultKind {
  name: string
  run(options: FaultOptions): Promise<void>
}

const directions: readonly Direction[] = ['node', 'database', 'both']

export const faultKinds: readonly FaultKind[] = [
  {
    name: 'delay',
    run: (options) =>
      onNode(options, async ({ proxy }, note) => {
        const ms = options.dice.pick([5, 40, 300])
        note(`is ${ms} ms away from the database`)
        await during(
          options,
          () => proxy.set({ kind: 'delay', ms }),
          () => proxy.set(null),
          3_000,
        )
      }),
  },
  ...(['hold', 'drop', 'halve'] as const).map(
    (kind): FaultKind => ({
      name: kind,
      run: (options) =>
        onNode(options, async ({ proxy }, note) => {
          const from = options.dice.pick(directions)
          note(`${kind}: bytes from ${from}`)
          await during(
            options,
            () => proxy.set({ kind, from }),
            () => proxy.set(null),
            kind === 'halve' ? 400 : 4_000,
          )
        }),
    }),
  ),
  {
    name: 'reset',
    // Of any node: also of one whose responses are late, or which is paused.
    run: async ({ cluster, dice, note }) => {
      const { number, proxy } = dice.pick(cluster.nodes)
      const share = dice.pick([0.5, 1])
      const count = proxy.reset(() => dice.chance(share))
      note(`${count} connections of node ${number} are reset`)
    },
  },
  {
    name: 'partition',
    run: (options) =>
      onNode(options, async ({ proxy }, note) => {
        note('loses its database')
        const cut = () => {
          proxy.set({ kind: 'refuse' })
          proxy.reset()
        }
        await during(options, cut, () => proxy.set(null), 4_000)
      }),
  },
  {
    name: 'pause',
    run: (options) =>
      onNode(options, async (node, note) => {
        const { dice, pause_ms } = options
        const ms = dice.chance(0.5) ? pause_ms : dice.below(3_000)
        note(`is paused for ${ms} ms`)
        node.pause()
        await pause(ms)
        node.resume()
      }),
  },
  {
    name: 'kill',
    run: (options) =>
      onNode(options, async (node, note) => {
        const skew_ms = options.dice.pick(options.skews)
        note(`is killed, and started with a clock that is ${skew_ms / 1_000} s ahead`)
        await node.kill()
        await pause(options.dice.below(1_000))
        await node.start(skew_ms)
      }),
  },
  {
    name: 'restart',
    run: async ({ database, note }) => {
      note('the database is restarted')
      await database.restart('fast')
    },
  },
  {
    name: 'crash',
    run: async ({ database, note }) => {
      note('the database crashes')
      await database.restart('immediate')
    },
  },
]

/** Picks one of the nodes that nothing else is done to. */
async function onNode(
  { cluster, dice, note }: FaultOptions,
  harm: (node: Node, note: (text: string) => void) => Promise<void>,
): Promise<void> {
  const free = cluster.nodes.filter((node) => node.state === 'running' && !harmed.has(node))
  // One node at least is left in peace: clients go on.
  if (free.length < 2) return
  const node = dice.pick(free)
  harmed.add(node)
  try {
    await harm(node, (text) => note(`node ${node.number} ${text}`))
  } finally {
    harmed.delete(node)
  }
}

const harmed = new WeakSet<Node>()

async function during({ dice }: FaultOptions, begin: () => void, end: () => void, longest_ms: number): Promise<void> {
  begin()
  await pause(50 + dice.below(longest_ms))
  end()
}
