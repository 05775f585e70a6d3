/**
 * What fake timers replace, taken when the first chunk loads. Fake timers change the modules of Node too, so a chunk that
 * is loaded later must not take them itself.
 */
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import timers from 'node:timers'

export const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = timers
export const { queueMicrotask } = globalThis
export const nextTick = process.nextTick
export const performanceNow = performance.now.bind(performance)
export const { now: dateNow } = Date

/** Replaces AbortSignal.timeout: in a DOM environment that takes the timer of its window, which may be a fake one. */
export function timeoutSignal(delay_ms: number): AbortSignal {
  const controller = new AbortController()
  const message = 'The operation was aborted due to timeout'
  setTimeout(() => controller.abort(new DOMException(message, 'TimeoutError')), delay_ms).unref()
  return controller.signal
}
