/** Servers measured in turn, round by round, under the loads of the benchmark. */
import { type Load, loadBeacons, loadPlacements, makeTokens, placementBodies } from './load.ts'
import { median } from './processes.ts'
import { type MeasuredServer, sandboxCommand, startServer } from './server.ts'

export interface Measured extends Load {
  /** Processor time of the server's main thread for each request, microseconds. */
  cpu_us: number
}

/** Requests of a round. */
export interface Amounts {
  placements: number
  slots: number
}

/** The loads: placements as they arrive, with consent in each, for 5,000 sessions, with a large open field; and beacons. */
export const kinds = ['placements', 'consent', 'sessions', 'open', 'beacons'] as const
export type Kind = (typeof kinds)[number]

export interface Servers {
  limit: MeasuredServer
  lean: MeasuredServer
  sandbox: MeasuredServer
  stop(): Promise<void>
}

export async function startServers(): Promise<Servers> {
  const limit = await startServer(['bench/limit-server.ts', '{db}'])
  const lean = await startServer(['bench/limit-server.ts', '{db}', 'lean'])
  const sandbox = await startServer(sandboxCommand)
  const all = [limit, lean, sandbox]
  return { limit, lean, sandbox, stop: async () => void (await Promise.all(all.map((server) => server.stop()))) }
}

/** The figures of one round: every load on the sandbox, and on the servers that it is compared with. */
export interface Round {
  sandbox: Record<Kind, Measured>
  limit: Record<'placements' | 'beacons', Measured>
  lean: Measured
}

export async function measureRound({ limit, lean, sandbox }: Servers, { placements, slots }: Amounts): Promise<Round> {
  const place = (server: MeasuredServer, bodies: readonly string[]) =>
    measure(server, () => loadPlacements(server.url, placements, bodies))
  const { plain, consent, sessions, open } = placementBodies
  const round = {
    limit: await place(limit, plain),
    placements: await place(sandbox, plain),
    lean: await place(lean, plain),
    consent: await place(sandbox, consent),
    sessions: await place(sandbox, sessions),
    open: await place(sandbox, open),
  }
  const tokens = await makeTokens(sandbox.url, slots)
  return {
    limit: { placements: round.limit, beacons: await measure(limit, () => loadBeacons(limit.url, tokens)) },
    sandbox: {
      placements: round.placements,
      consent: round.consent,
      sessions: round.sessions,
      open: round.open,
      beacons: await measure(sandbox, () => loadBeacons(sandbox.url, tokens)),
    },
    lean: round.lean,
  }
}

async function measure(server: MeasuredServer, load: () => Promise<Load>): Promise<Measured> {
  const before = server.mainThread()
  const done = await load()
  if (done.failures > 0) throw new Error('a request failed under load')
  return { ...done, cpu_us: ((server.mainThread() - before) * 1_000) / done.requests }
}

/** The targets: the share of another server's throughput that the sandbox reaches, as a median of the rounds. */
export const shares: readonly { name: string; minRatio: number; of: (round: Round, figure: Figure) => number }[] = [
  {
    name: 'placements, of the limit',
    minRatio: 0.7,
    of: ({ sandbox, limit }, figure) => figure(sandbox.placements) / figure(limit.placements),
  },
  {
    name: 'beacons, of the limit',
    minRatio: 0.7,
    of: ({ sandbox, limit }, figure) => figure(sandbox.beacons) / figure(limit.beacons),
  },
  {
    name: 'consent in every body, of the lean',
    minRatio: 0.5,
    of: ({ sandbox, lean }, figure) => figure(sandbox.consent) / figure(lean),
  },
  {
    name: '5,000 sessions, of the lean',
    minRatio: 0.55,
    of: ({ sandbox, lean }, figure) => figure(sandbox.sessions) / figure(lean),
  },
  {
    name: 'with consent, of without',
    minRatio: 0.85,
    of: ({ sandbox }, figure) => figure(sandbox.consent) / figure(sandbox.placements),
  },
  {
    name: 'with a large open field, of without',
    minRatio: 0.6,
    of: ({ sandbox }, figure) => figure(sandbox.open) / figure(sandbox.placements),
  },
]

export type Figure = (measured: Measured) => number

/** Requests per second of wall-clock time. */
export const perSecond: Figure = ({ per_second }) => per_second
/** Requests per second of main-thread time: other work on the host matters less. */
export const perCpuSecond: Figure = ({ cpu_us }) => 1e6 / cpu_us

export function medianBy(rounds: readonly Round[], pick: (round: Round) => number): number {
  return median(rounds.map(pick))
}
