/**
 * A lock around everything that reads and writes in several steps. While the whole state is replaced the lock is closed:
 * work that has started finishes on the old state, new work waits and sees the new state, and nothing sees half of each.
 */
import { ApiError } from '#contract/errors.ts'

export interface DrainLock {
  /**
   * Starts work, and returns a promise only while the lock is closed. Call `leave` afterwards, even when the work
   * fails.
   */
  enter(): void | Promise<void>
  /** Ends the work that `enter` started. */
  leave(): void
  /** Runs `work` when the lock is open. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** Inside `run`: releases the lock while `work` waits for other work that takes the lock itself. */
  runOutside<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Inside `run`: runs `work` when nothing else runs. `hurry` is called until the others have finished.
   * @throws ApiError 503 when they do not finish in time
   */
  runExclusive<Result>(work: () => Promise<Result>, hurry: () => void): Promise<Result>
}

/** How long running work may take to finish, and the interval of `hurry`, milliseconds. */
const drainTimeoutMs = 10_000
const hurryIntervalMs = 20

export function createDrainLock(): DrainLock {
  const running = countRunning()
  /** Resolves when the lock opens again; null while it is open. */
  let closed: Promise<void> | null = null

  const enter = () => {
    if (closed !== null) return enterLater()
    running.start()
  }

  const enterLater = async () => {
    while (closed !== null) await closed
    running.start()
  }

  return {
    enter,
    leave: running.end,
    async run(work) {
      await enter()
      try {
        return await work()
      } finally {
        running.end()
      }
    },
    async runOutside(work) {
      running.end()
      try {
        return await work()
      } finally {
        await enter()
      }
    },
    async runExclusive(work, hurry) {
      // Leaves first: two callers that want to be exclusive would wait for each other.
      running.end()
      while (closed !== null) await closed
      let open = () => {}
      closed = new Promise((resolve) => {
        open = resolve
      })
      try {
        if (!(await running.drain(hurry))) throw createTimeoutError()
        return await work()
      } finally {
        closed = null
        running.start()
        open()
      }
    },
  }
}

/** Counts the work that has started and not finished. */
function countRunning() {
  let running = 0
  let onDrained: (() => void) | null = null

  return { start, end, drain }

  function start(): void {
    running++
  }

  function end(): void {
    running--
    if (running === 0) onDrained?.()
  }

  /** Resolves to whether all running work finished in time. */
  function drain(hurry: () => void): Promise<boolean> {
    hurry()
    if (running === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const timer = setInterval(hurry, hurryIntervalMs)
      const done = (isDrained: boolean) => {
        clearInterval(timer)
        clearTimeout(deadline)
        onDrained = null
        resolve(isDrained)
      }
      const deadline = setTimeout(() => done(false), drainTimeoutMs)
      onDrained = () => done(true)
    })
  }
}

function createTimeoutError(): ApiError {
  return new ApiError('storage_unavailable', {
    message: 'Other requests did not finish in time, so nothing was replaced.',
    hint: 'Wait until they have finished, then try again.',
    retry_after_s: 1,
  })
}
