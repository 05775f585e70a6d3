/**
 * Threads, without threads: their file runs in this process, as a module of its own, and what it waits for are tasks of the
 * schedule like all others. So other requests go on while it works, and a crash ends it too.
 */
import { EventEmitter } from 'node:events'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Computer } from './platform.ts'

const require = createRequire(import.meta.url)

let runs = 0
/** One file at a time is loaded: it finds its data where the one before it found its own. */
let loading: Promise<unknown> = Promise.resolve()

/** Replaces the class of `node:worker_threads`. Called once. @param computer returns the one in use */
export function replaceThreads(computer: () => Computer): void {
  const threads = require('node:worker_threads') as Record<string, unknown>
  class ScheduledWorker extends EventEmitter {
    readonly #scheduler = computer().scheduler
    readonly #inside = new EventEmitter()

    constructor(file: string, { workerData }: { workerData: unknown }) {
      super()
      const end = this.#scheduler.startOutside()
      loading = loading.then(() => this.#load(file, workerData)).finally(end)
    }

    async #load(file: string, workerData: unknown): Promise<void> {
      // A thread that waits for messages ends when it closes its port; any other with its result.
      const waits = () => this.#inside.listenerCount('message') > 0
      const parentPort = {
        postMessage: (message: unknown) =>
          this.#later('message', message).then(() => (waits() ? undefined : this.#later('exit', 0))),
        on: (event: string, listener: (message: unknown) => void) => void this.#inside.on(event, listener),
        close: () => void this.#later('exit', 0),
      }
      Object.assign(threads, { workerData, parentPort })
      syncBuiltinESMExports()
      try {
        await import(`${pathToFileURL(file).href}?run=${++runs}.ts`)
      } catch (error) {
        void this.#later('error', error)
      }
    }

    #later(event: string, value: unknown): Promise<void> {
      return new Promise((resolve) => {
        this.#scheduler.add('thread', 0, () => {
          this.emit(event, value)
          resolve()
        })
      })
    }

    postMessage(message: unknown): void {
      this.#scheduler.add('thread', 0, () => {
        try {
          this.#inside.emit('message', message)
        } catch (error) {
          void this.#later('error', error)
        }
      })
    }

    ref(): this {
      return this
    }

    unref(): this {
      return this
    }
  }
  Object.assign(threads, { Worker: ScheduledWorker })
}
