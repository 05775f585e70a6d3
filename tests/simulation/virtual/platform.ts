/**
 * The parts of Node that a simulated process may see of its computer, replaced in this one: clocks, timers, randomness,
 * threads and compression. The product is loaded and runs as it is. Nothing else may run in this process.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Transform } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import { noteFlush } from './disk.ts'
import { replaceFiles } from './files.ts'
import { createScheduler, type Scheduler, type Task } from './scheduler.ts'
import { replaceThreads } from './threads.ts'

const require = createRequire(import.meta.url)

/** What the replaced parts work on: another one for each history. */
export interface Computer {
  scheduler: Scheduler
  /** Of secrets and shares: not those of the schedule, so that a step that is left out changes neither. */
  dice: Dice
  /** Milliseconds that the clock of the computer is ahead of the history. */
  clock_ms: number
}

/** 2026-01-01T12:00:00Z */
const start_ms = Date.UTC(2026, 0, 1, 12)

export function createComputer(seed: number): Computer {
  return { scheduler: createScheduler(createDice(seed)), dice: createDice(seed + 1), clock_ms: start_ms }
}

let current: Computer

export function switchComputer(computer: Computer): void {
  current = computer
}

/** Replaces them for good. Called once, before the product is loaded. */
export function replacePlatform(): void {
  replaceClocks()
  replaceTimers()
  replaceRandomness()
  replaceThreads(() => current)
  replaceFiles(() => current.scheduler, noteFlush)
  replaceCompression()
  syncBuiltinESMExports()
}

function replaceClocks(): void {
  Date.now = () => Math.floor(current.clock_ms + current.scheduler.now_ms)
  performance.now = () => current.scheduler.now_ms
}

class Timer {
  task: Task | undefined
  unref(): this {
    return this
  }
  ref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}

function replaceTimers(): void {
  const later = (kind: 'timer' | 'turn', ms: number, run: () => void) => {
    const timer = new Timer()
    timer.task = current.scheduler.add(kind, ms, run)
    return timer
  }
  const clear = (timer: Timer | undefined | null) => {
    current.scheduler.remove(timer?.task)
    if (timer instanceof Timer) timer.task = undefined
  }
  const repeat = (callback: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
    const timer = new Timer()
    const again = () => {
      timer.task = current.scheduler.add('timer', Math.max(1, ms), () => {
        again()
        callback(...args)
      })
    }
    again()
    return timer
  }
  const afterMs = (callback: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
    later('timer', Math.max(1, ms), () => callback(...args))
  const afterTurn = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
    later('turn', 0, () => callback(...args))
  Object.assign(globalThis, {
    setTimeout: afterMs,
    setInterval: repeat,
    setImmediate: afterTurn,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  })
  Object.assign(require('node:timers/promises'), {
    setTimeout: (ms: number, value: unknown) => new Promise((resolve) => afterMs(() => resolve(value), ms)),
    setImmediate: (value: unknown) => new Promise((resolve) => afterTurn(() => resolve(value))),
  })
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController()
    afterMs(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms)
    return controller.signal
  }
}

function replaceRandomness(): void {
  Math.random = () => current.dice.roll()
  const randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, () => current.dice.below(256)))
  Object.assign(require('node:crypto'), { randomBytes })
}

/** Of Node, it runs on threads whose time is nobody's. */
function replaceCompression(): void {
  const whole = (convert: (bytes: Buffer) => Buffer) => () => {
    const chunks: Buffer[] = []
    return new Transform({
      transform(chunk: Buffer, _encoding, done) {
        chunks.push(chunk)
        done()
      },
      flush(done) {
        try {
          done(null, convert(Buffer.concat(chunks)))
        } catch (error) {
          done(error as Error)
        }
      },
    })
  }
  Object.defineProperties(require('node:zlib'), {
    createGzip: { value: whole((bytes) => gzipSync(bytes, { level: 1 })) },
    createGunzip: { value: whole((bytes) => gunzipSync(bytes)) },
  })
}
