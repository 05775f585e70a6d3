/**
 * Which of the servers of a store takes writes. After a failover two may: the old primary, started again or never
 * stopped, has a history that ends where the standby was promoted. The promoted one has a higher timeline, and that is
 * what a node keeps to: a server with a lower one than it has seen is refused, and connections to it are cut, so that
 * nothing which only that server has is acknowledged or read.
 */

import { ServerProblem } from '../failures.ts'
import { type Link, sameServer } from './link.ts'

/** How long to wait for other servers once one that takes writes has been found. */
const graceMs = 1_000

/**
 * Returns a function that resolves to the server that takes writes. It looks at all of them, once for as long as `forget` is
 * not called.
 * @param open opens a connection; it throws where the server takes no writes
 */
export function primaryFinder(servers: readonly URL[], open: (server: URL) => Promise<Link>) {
  const [only] = servers
  let found: Promise<URL> | null = null

  return {
    find(): Promise<URL> {
      if (servers.length === 1) return Promise.resolve(only!)
      found ??= findPrimary(servers, open).catch((error: unknown) => {
        found = null
        throw error
      })
      return found
    },
    /** A connection has ended: another server may be the primary. */
    forget(): void {
      found = null
    },
  }
}

interface Candidate {
  server: URL
  link: Link
}

async function findPrimary(servers: readonly URL[], open: (server: URL) => Promise<Link>): Promise<URL> {
  const candidates: Candidate[] = []
  const failures = new Map<URL, unknown>()
  let foundOne = () => {}
  const first = new Promise<void>((resolve) => {
    foundOne = resolve
  })
  let isOver = false
  const tried = servers.map(async (server) => {
    try {
      const link = await open(server)
      if (isOver) return link.end()
      candidates.push({ server, link })
      foundOne()
    } catch (error) {
      failures.set(server, error)
    }
  })
  const all = Promise.all(tried)
  await Promise.race([all, first])
  let timer: NodeJS.Timeout | undefined
  const grace = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs)
  })
  await Promise.race([all, grace])
  clearTimeout(timer)
  isOver = true
  try {
    return chooseNewest(candidates) ?? raise(noPrimary(servers, failures))
  } finally {
    for (const { link } of candidates) link.end()
  }
}

/** @throws ServerProblem when two servers of the same timeline take writes */
function chooseNewest(candidates: readonly Candidate[]): URL | null {
  let best: Candidate | null = null
  for (const other of candidates) {
    const [known, timeline] = [best?.link.server.timeline ?? 0, other.link.server.timeline ?? 0]
    if (best === null || timeline > known) best = other
    // Two addresses may be of one server.
    else if (timeline === known && !sameServer(best.link, other.link)) throw twoPrimaries(best, other)
  }
  return best?.server ?? null
}

function raise(error: Error): never {
  throw error
}

function twoPrimaries(one: Candidate, other: Candidate): ServerProblem {
  return new ServerProblem(
    `${one.server.host} and ${other.server.host} both take writes`,
    'Stop the one that is not the primary, or make it a standby of the other.',
  )
}

function noPrimary(servers: readonly URL[], failures: ReadonlyMap<URL, unknown>): Error {
  const reasons = servers.map((server) => failures.get(server)).filter((error) => error instanceof Error)
  const refused = reasons.find((error) => !(error instanceof ServerProblem))
  const [first] = reasons
  // One that is down says more than a standby, which waits for it to be promoted.
  if (refused !== undefined && !reasons.some((error) => error instanceof ServerProblem)) return refused
  const said = servers.map((server) => describe(server, failures.get(server)))
  return new ServerProblem(
    `none of its servers takes writes: ${said.join('; ')}`,
    'Start the primary, or promote a standby.',
    first,
  )
}

function describe({ host }: URL, error: unknown): string {
  if (error instanceof ServerProblem) return error.message
  const why = error instanceof Error ? error.message || ('code' in error ? String(error.code) : '') : 'no response'
  return `${host} cannot be reached (${why})`
}
