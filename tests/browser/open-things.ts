/** Runs in a page before its own scripts: counts what was opened there and not closed. */
export interface OpenThings {
  timers: number
  intervals: number
  animation_frames: number
  observers: number
  /** Listeners on the window, the document and every AbortSignal. */
  listeners: number
  ports: number
  frames: number
  nodes: number
}

declare global {
  interface Window {
    openThings(): OpenThings
  }
}

export function countOpenThings(): void {
  const open = {
    timers: new Set<number>(),
    intervals: new Set<number>(),
    animation_frames: new Set<number>(),
    observers: new Set<object>(),
    listeners: new Map<EventTarget, { type: string; listener: unknown }[]>(),
    ports: new Set<MessagePort>(),
  }

  type Start = (work: (...given: unknown[]) => void, ...more: unknown[]) => number
  const countStarts = (start: string, stop: string, ids: Set<number>, isOnce: boolean): void => {
    const starting = (Reflect.get(window, start) as Start).bind(window)
    const stopping = (Reflect.get(window, stop) as (id: number) => void).bind(window)
    const patchedStart: Start = (work, ...more) => {
      const id = starting(
        (...given) => {
          if (isOnce) ids.delete(id)
          work(...given)
        },
        ...more,
      )
      ids.add(id)
      return id
    }
    const patchedStop = (id: number): void => {
      ids.delete(id)
      stopping(id)
    }
    Object.assign(window, { [start]: patchedStart, [stop]: patchedStop })
  }
  countStarts('setTimeout', 'clearTimeout', open.timers, true)
  countStarts('setInterval', 'clearInterval', open.intervals, false)
  countStarts('requestAnimationFrame', 'cancelAnimationFrame', open.animation_frames, true)

  for (const { prototype } of [IntersectionObserver, MutationObserver, ResizeObserver]) {
    const observe = prototype.observe as (this: object, ...given: unknown[]) => void
    const disconnect = prototype.disconnect as (this: object) => void
    Object.assign(prototype, {
      observe(this: object, ...given: unknown[]) {
        open.observers.add(this)
        observe.apply(this, given)
      },
      disconnect(this: object) {
        open.observers.delete(this)
        disconnect.call(this)
      },
    })
  }

  const { addEventListener, removeEventListener } = EventTarget.prototype
  const forget = (target: EventTarget, type: string, listener: unknown): void => {
    const left = (open.listeners.get(target) ?? []).filter(
      (known) => known.type !== type || known.listener !== listener,
    )
    if (left.length > 0) open.listeners.set(target, left)
    else open.listeners.delete(target)
  }
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    const target = this ?? window
    const { once = false, signal } = typeof options === 'object' ? options : {}
    if ((target === window || target === document || target instanceof AbortSignal) && !signal?.aborted) {
      forget(target, type, listener)
      open.listeners.set(target, [...(open.listeners.get(target) ?? []), { type, listener }])
      const forgetIt = (): void => forget(target, type, listener)
      if (signal) addEventListener.call(signal, 'abort', forgetIt, { once: true })
      if (once) addEventListener.call(target, type, forgetIt, { once })
    }
    addEventListener.call(target, type, listener, options)
  }
  EventTarget.prototype.removeEventListener = function (type, listener, options) {
    forget(this ?? window, type, listener)
    removeEventListener.call(this ?? window, type, listener, options)
  }

  const Channel = window.MessageChannel
  window.MessageChannel = class extends Channel {
    constructor() {
      super()
      open.ports.add(this.port1)
    }
  }
  const { close } = MessagePort.prototype
  MessagePort.prototype.close = function () {
    open.ports.delete(this)
    close.call(this)
  }

  window.openThings = () => ({
    timers: open.timers.size,
    intervals: open.intervals.size,
    animation_frames: open.animation_frames.size,
    observers: open.observers.size,
    listeners: [...open.listeners.values()].flat().length,
    ports: open.ports.size,
    frames: window.length + window.findAll('iframe').length,
    nodes: document.querySelectorAll('*').length,
  })
}
