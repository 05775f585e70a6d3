/**
 * Everything that reads and writes in several steps passes this gate. While the whole state is replaced it is closed:
 * what is inside finishes in the old world first, what comes meanwhile waits and sees the new one, and nothing sees half
 * of each.
 */
import { ApiError } from '../../src/contract/errors.ts'

export interface DrainLock {
  /** Runs `work` once the gate is open. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** Runs `work` outside: it waits for others who pass the gate themselves. The caller is inside, by `pass`. */
  runOutside<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Runs `work` while nobody else is inside. The caller is inside itself, by `pass`. `hurry` is called until the others
   * have gone. @throws ApiError 503 when they do not go
   */
  runExclusive<Result>(work: () => Promise<Result>, hurry: () => void): Promise<Result>
}

/** How long those inside may take, and how often they are hurried, milliseconds. */
const patience_ms = 10_000
const hurryEvery_ms = 20

export function createDrainLock(): DrainLock {
  let inside = 0
  /** Settles when the gate opens again; null while it is open. */
  let closed: Promise<void> | null = null
  let onEmpty: (() => void) | null = null

  const leave = () => {
    inside--
    if (inside === 0) onEmpty?.()
  }

  const enter = async () => {
    while (closed !== null) await closed
    inside++
  }

  const empty = (hurry: () => void): Promise<boolean> => {
    hurry()
    if (inside === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const timer = setInterval(hurry, hurryEvery_ms)
      const done = (isEmpty: boolean) => {
        clearInterval(timer)
        clearTimeout(deadline)
        onEmpty = null
        resolve(isEmpty)
      }
      const deadline = setTimeout(() => done(false), patience_ms)
      onEmpty = () => done(true)
    })
  }

  return {
    async run(work) {
      if (closed !== null) await enter()
      else inside++
      try {
        return await work()
      } finally {
        leave()
      }
    },
    async runOutside(work) {
      leave()
      try {
        return await work()
      } finally {
        await enter()
      }
    },
    async runExclusive(work, hurry) {
      // Out first: of two that want to be alone, each would wait for the other to leave.
      leave()
      while (closed !== null) await closed
      let open = () => {}
      closed = new Promise((resolve) => {
        open = resolve
      })
      try {
        if (!(await empty(hurry))) {
          throw new ApiError('storage_unavailable', {
            message: 'Requests under way did not finish in time, so nothing was replaced.',
            hint: 'Wait until they are answered, then try again.',
            retry_after_s: 1,
          })
        }
        return await work()
      } finally {
        closed = null
        inside++
        open()
      }
    },
  }
}
