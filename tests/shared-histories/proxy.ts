/**
 * A TCP proxy between one node and its database, with the faults of a network: it delays, holds back, swallows and cuts
 * in half what passes, and resets connections. Faults are switched on and off while connections pass through it.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** From where the bytes come that a fault concerns. */
export type Direction = 'node' | 'database' | 'both'

export type Fault =
  /** Everything arrives that much later, in order. */
  | { kind: 'delay'; ms: number }
  /** Nothing arrives until the fault ends, then everything does: a network that repeats packets. */
  | { kind: 'hold'; from: Direction }
  /** What is sent meanwhile never arrives. Connections stay open, and are silent for good: a firewall without a memory. */
  | { kind: 'drop'; from: Direction }
  /** Each connection ends with half of the next message, of at most that many bytes. */
  | { kind: 'halve'; from: Direction }
  /** New connections are refused. Open ones go on. */
  | { kind: 'refuse' }

export interface FaultyProxy {
  readonly port: number
  /** Replaces the fault; null: everything passes. */
  set(fault: Fault | null): void
  /** Resets open connections (RST): all of them, or each that `isChosen`. Returns how many. */
  reset(isChosen?: () => boolean): number
  /** Sends later connections to another port of this computer, as after a failover. Open ones stay where they are. */
  retarget(port: number): void
  close(): Promise<void>
}

/** @param to the port of the database on this computer */
export async function startProxy(to: number): Promise<FaultyProxy> {
  const pairs = new Set<Pair>()
  let target = to
  let fault: Fault | null = null
  const server = createServer((node) => {
    if (fault?.kind === 'refuse') {
      node.on('error', () => {})
      node.resetAndDestroy()
      return
    }
    const pair = joinSockets(node, connect(target, '127.0.0.1'), () => fault)
    pairs.add(pair)
    void pair.ended.then(() => pairs.delete(pair))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      fault = next
      for (const pair of pairs) pair.faultChanged()
    },
    reset(isChosen = () => true) {
      const chosen = [...pairs].filter(isChosen)
      for (const pair of chosen) pair.reset()
      return chosen.length
    },
    retarget(port) {
      target = port
    },
    async close() {
      for (const pair of pairs) pair.reset()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The two connections of one client. */
interface Pair {
  ended: Promise<unknown>
  faultChanged(): void
  reset(): void
}

function joinSockets(node: Socket, database: Socket, fault: () => Fault | null): Pair {
  const reset = () => {
    for (const socket of [node, database]) if (!socket.destroyed) socket.resetAndDestroy()
  }
  const pipes = [
    passOn({ source: node, sink: database, from: 'node' }, fault, reset),
    passOn({ source: database, sink: node, from: 'database' }, fault, reset),
  ]
  for (const socket of [node, database]) socket.setNoDelay(true).on('error', () => {})
  const ended = Promise.race([once(node, 'close'), once(database, 'close')]).catch(() => {})
  // What was on its way still arrives, if nothing cuts it.
  void ended.then(() => setTimeout(reset, 100))
  return {
    ended,
    reset,
    faultChanged() {
      for (const pipe of pipes) pipe.faultChanged()
    },
  }
}

interface Way {
  source: Socket
  sink: Socket
  from: 'node' | 'database'
}

function passOn({ source, sink, from }: Way, fault: () => Fault | null, reset: () => void) {
  let queue: { bytes: Buffer; due: number }[] = []
  let timer: NodeJS.Timeout | undefined
  /** Whether bytes are missing: what follows would be read as something else. */
  let isSilent = false
  const concerns = (direction: Direction) => direction === 'both' || direction === from

  source.on('data', (bytes: Buffer) => {
    const present = fault()
    if (isSilent || (present?.kind === 'drop' && concerns(present.from))) {
      isSilent = true
      return
    }
    if (present?.kind === 'halve' && concerns(present.from)) {
      sink.write(bytes.subarray(0, bytes.length >> 1), reset)
      isSilent = true
      return
    }
    queue.push({ bytes, due: performance.now() + (present?.kind === 'delay' ? present.ms : 0) })
    flush()
  })
  source.on('end', () => sink.end())
  source.on('close', () => clearTimeout(timer))
  return { faultChanged: flush }

  function flush(): void {
    clearTimeout(timer)
    const present = fault()
    if (present?.kind === 'hold' && concerns(present.from)) return
    const now = performance.now()
    const later = queue.findIndex(({ due }) => due > now)
    const passing = queue.slice(0, later === -1 ? queue.length : later)
    queue = queue.slice(passing.length)
    for (const { bytes } of passing) sink.write(bytes)
    if (queue.length > 0) timer = setTimeout(flush, queue[0]!.due - now)
  }
}
