/** Reads, over a few connections that many requests share. */
import { isConnectionFailure, storageError } from '../failures.ts'
import type { Link, Value } from './link.ts'

/** Connections for reading. Their statements are pipelined, so a few serve many requests. */
const maxReaders = 6

/** Statements under way on a reader before another one is opened. */
const busyReader = 4

interface Reader {
  link: Promise<Link>
  /** Statements under way. */
  busy: number
  isBroken(): boolean
}

/** Returns a function that runs a statement on the connection with the fewest statements under way. */
export function pooledReads(connect: () => Promise<Link>, isClosed: () => boolean) {
  const readers: Reader[] = []

  return async <Row>(text: string, values: readonly Value[] = []): Promise<Row[]> => {
    for (let attempt = 1; ; attempt++) {
      const used = findReader()
      used.busy++
      try {
        return await (await used.link).query<Row>(text, values)
      } catch (error) {
        // A read changes nothing, so a broken connection is worth a second attempt.
        if (attempt < 2 && !isClosed() && isConnectionFailure(error)) continue
        throw storageError(error, 'read')
      } finally {
        used.busy--
      }
    }
  }

  function findReader(): Reader {
    for (let index = readers.length - 1; index >= 0; index--) if (readers[index]!.isBroken()) readers.splice(index, 1)
    let best = readers[0]
    for (const other of readers) if (best === undefined || other.busy < best.busy) best = other
    if (best !== undefined && (best.busy < busyReader || readers.length >= maxReaders)) return best
    const added = openReader(connect)
    readers.push(added)
    return added
  }
}

function openReader(connect: () => Promise<Link>): Reader {
  let connected: Link | null = null
  let hasFailed = false
  const link = connect()
  link.then(
    (made) => {
      connected = made
    },
    () => {
      hasFailed = true
    },
  )
  return { link, busy: 0, isBroken: () => hasFailed || connected?.isBroken() === true }
}
