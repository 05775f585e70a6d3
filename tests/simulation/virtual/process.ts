/** A simulated process: the sandbox, started on a disk, a network and a computer of its own, that can be stopped or crash. */
import type { Sandbox, SandboxOptions, startSandbox } from '#sandbox/index.ts'
import type { Disk, End } from './disk.ts'
import type { Network } from './network.ts'
import type { Scheduler } from './scheduler.ts'

export type Start = typeof startSandbox

export interface SimulatedProcess {
  readonly isRunning: boolean
  /** Whether a crash has come, and the process is still to be cleared away. */
  readonly isDead: boolean
  /** Failures that it has reported since the last call. */
  takeReports(): unknown[]
  start(): Promise<void>
  /** An orderly stop. */
  stop(): Promise<void>
  /** How it has ended, until it is cleared away. */
  readonly end: End | null
  /** Ends at once: its connections, and everything that it has not committed. */
  die(end: End): void
  /** After `die`: clears away what is left, so that it can start again. */
  bury(): Promise<void>
}

/** Longer than any stop or start may take, milliseconds. */
const longestMs = 30_000

interface Parts {
  start: Start
  options: SandboxOptions
  scheduler: Scheduler
  network: Network
  disk: Disk
}

export function createProcess({ start, options, scheduler, network, disk }: Parts): SimulatedProcess {
  let sandbox: Sandbox | null = null
  let ended: End | null = null
  let lives = 0
  let reports: unknown[] = []

  return {
    get isRunning() {
      return sandbox !== null && ended === null
    },
    get isDead() {
      return ended !== null
    },
    get end() {
      return ended
    },
    takeReports() {
      const taken = reports
      reports = []
      return taken
    },
    async start() {
      const life = ++lives
      // What a process does after its end is seen by nobody.
      const report = (error: unknown) => void (ended === null && life === lives && reports.push(error))
      const database = options.database ?? disk.database
      sandbox = await scheduler.until(start({ ...options, database, report }), longestMs, 'the start')
    },
    async stop() {
      await scheduler.until(sandbox!.close(), longestMs, 'the stop')
      sandbox = null
    },
    die(end) {
      if (ended !== null) return
      ended = end
      disk.keep(end, scheduler.dice)
      network.cut()
    },
    async bury() {
      await scheduler.discardProcess(async () => {
        await scheduler.rest()
        disk.restoreKept()
      })
      sandbox = null
      ended = null
    },
  }
}
