/**
 * Virtual time, and the order in which things happen. Everything that waits in a simulated process, a timer, a turn of the
 * event loop, a message of a thread, and everything on its way over the network, is a task here. One task runs at a time,
 * and seeded dice choose the next one among those that Node could run next: turns of the event loop in their order, timers
 * in the order of their times, and messages of the network in any order.
 */
import type { Dice } from '#tests/reliability/dice.ts'

export interface Task {
  id: number
  kind: 'timer' | 'turn' | 'network' | 'thread'
  at_ms: number
  run(): void
  /** Whether it dies with the process. */
  isOfProcess: boolean
}

/** Of Node itself, taken before they are replaced. */
const realTurn = globalThis.setImmediate

export interface Scheduler {
  /** Milliseconds since the start of the history. */
  readonly now_ms: number
  /** Tasks that have run. */
  readonly count: number
  /** The dice of the current step: each step has its own, so that a step that is left out changes no other. */
  dice: Dice
  add(kind: Task['kind'], delay_ms: number, run: () => void): Task
  remove(task: Task | undefined): void
  /** Runs one task, and all that follows from it without another; moves time ahead when nothing can run now. */
  next(): Promise<void>
  /** Runs tasks until the promise is resolved or rejected. @throws Error after `limit_ms` of virtual time */
  until<Result>(promise: Promise<Result>, limit_ms: number, what: string): Promise<Result>
  /** Runs what happens in the next milliseconds. */
  pass(ms: number): Promise<void>
  /** Ends every task of the process; until `work` is done, no new one is taken. */
  discardProcess(work: () => Promise<void>): Promise<void>
  /** Resolves when nothing can go on without another task. */
  rest(): Promise<void>
  /** Marks work that happens outside: no task runs until it has ended. */
  startOutside(): () => void
}

export function createScheduler(dice: Dice): Scheduler {
  const queues: Record<Task['kind'], Task[]> = { timer: [], turn: [], network: [], thread: [] }
  let now_ms = 0
  let ids = 0
  let count = 0
  let outside = 0
  let isDiscarding = false

  const scheduler: Scheduler = {
    dice,
    get now_ms() {
      return now_ms
    },
    get count() {
      return count
    },
    add,
    remove(task) {
      if (task === undefined) return
      const queue = queues[task.kind]
      const index = queue.indexOf(task)
      if (index !== -1) queue.splice(index, 1)
    },
    next,
    async until(promise, limit_ms, what) {
      let isDone = false
      const end = () => {
        isDone = true
      }
      promise.then(end, end)
      const limit = now_ms + limit_ms
      await rest()
      while (!isDone) {
        if (now_ms > limit) throw new Error(`${what} takes longer than ${limit_ms} ms`)
        await next()
      }
      return promise
    },
    async pass(ms) {
      const end = now_ms + ms
      while (earliest() <= end) await next()
      now_ms = Math.max(now_ms, end)
    },
    async discardProcess(work) {
      for (const kind of ['timer', 'turn', 'network', 'thread'] as const) {
        queues[kind] = queues[kind].filter(({ isOfProcess }) => !isOfProcess)
      }
      isDiscarding = true
      await work()
      await rest()
      isDiscarding = false
    },
    rest,
    startOutside() {
      outside++
      return () => {
        outside--
      }
    },
  }
  return scheduler

  function add(kind: Task['kind'], delay_ms: number, run: () => void): Task {
    const task: Task = { id: ++ids, kind, at_ms: now_ms + Math.max(0, delay_ms), run, isOfProcess: kind !== 'network' }
    if (isDiscarding && task.isOfProcess) return task
    const queue = queues[kind]
    // In the order of their times: later ones of the same time come after.
    let place = queue.length
    while (place > 0 && queue[place - 1]!.at_ms > task.at_ms) place--
    queue.splice(place, 0, task)
    return task
  }

  function earliest(): number {
    return Math.min(...Object.values(queues).map((queue) => queue[0]?.at_ms ?? Number.POSITIVE_INFINITY))
  }

  async function next(): Promise<void> {
    const task = take()
    count++
    task.run()
    await rest()
  }

  function take(): Task {
    const ready = candidates()
    if (ready.length === 0) {
      const then = earliest()
      if (then === Number.POSITIVE_INFINITY) throw new Error('nothing is left that could happen')
      now_ms = then
      return take()
    }
    const task = scheduler.dice.pick(ready)
    scheduler.remove(task)
    // Work takes time, mostly little.
    if (scheduler.dice.chance(0.1)) now_ms += scheduler.dice.below(4)
    return task
  }

  function candidates(): Task[] {
    const first = [queues.turn[0], queues.timer[0], queues.thread[0]]
    return [...first, ...queues.network].filter((task) => task !== undefined && task.at_ms <= now_ms) as Task[]
  }

  /** A turn of the real event loop: microtasks, and what Node itself has put off, have run then. */
  async function rest(): Promise<void> {
    do await new Promise<void>((resolve) => realTurn(resolve))
    while (outside > 0)
  }
}
