/**
 * The time of a page, which stands still until its test lets it pass: its timers, its clocks, and the playback of clips in the
 * frames of ads. What a busy machine delays, such as drawing, loading, messages and the reports of observers, is real, and waited for
 * (docs/decisions/036-tests-drive-the-time-of-pages.md).
 */
import type { Page } from 'playwright-core'

declare global {
  interface Window {
    /** Lets time pass in this document and the frames below it, milliseconds, once what has changed before was drawn. */
    passTime(ms: number): Promise<void>
    /** Lets 100 ms pass, unless the renderer waits for a request or a frame. */
    passSome(): Promise<void>
    /** Lets time pass until `isSo`, at most a minute, and none while the renderer waits for a request or a frame. */
    passTimeUntil(isSo: () => boolean): Promise<void>
    /** Lets time pass in this document during which nothing can run, milliseconds. */
    blockTime(ms: number): void
  }
}

/** Lets the time of the documents that are opened from now on stand still. */
export async function holdTime(page: Page): Promise<void> {
  await page.addInitScript(holdTimers)
  await page.addInitScript(holdPlayback)
}

/** Runs in every document before its own scripts. Timers of 0 ms are real: they only wait for their turn. */
function holdTimers(): void {
  if (window !== parent && (location.href === 'about:blank' || location.pathname.startsWith('/v1/render/'))) return
  interface Timer {
    due_ms: number
    every_ms: number | null
    /** Whether it limits how long the renderer waits for a request or a frame. */
    isLimit: boolean
    work: () => void
  }
  const start = window.setTimeout.bind(window) as (work: () => void, ms?: number, ...more: unknown[]) => number
  const stop = window.clearTimeout.bind(window)
  const nextFrame = (): Promise<unknown> => new Promise(window.requestAnimationFrame.bind(window))
  const Channel = window.MessageChannel
  const timers = new Map<number, Timer>()
  /** Frames below this one in which time passes too. */
  const frames = new Set<Window>()
  const monotonic_ms = performance.now()
  const wall = Date.now.bind(Date)
  let passed_ms = 0
  let last_id = 2 ** 30
  performance.now = () => monotonic_ms + passed_ms
  // Servers stamp what they send by real clocks: what passed here is in addition.
  Date.now = () => wall() + passed_ms

  const hold =
    (isRepeated: boolean) =>
    (work: (...given: unknown[]) => void, ms?: number, ...given: unknown[]): number => {
      if (!isRepeated && !(Number(ms) > 0)) return start(work, ms, ...given)
      const every_ms = Math.max(1, Number(ms) || 0)
      last_id += 1
      const due_ms = passed_ms + every_ms
      const isLimit = [3_000, 5_000, 15_000].includes(every_ms) && !isRepeated
      timers.set(last_id, { due_ms, every_ms: isRepeated ? every_ms : null, isLimit, work: () => work(...given) })
      return last_id
    }
  const drop = (id: number | undefined): void => {
    if (!timers.delete(id ?? 0)) stop(id)
  }
  Object.assign(window, { setTimeout: hold(false), setInterval: hold(true), clearTimeout: drop, clearInterval: drop })

  const { port1, port2 } = new Channel()
  const turns: (() => void)[] = []
  port1.onmessage = () => turns.shift()?.()
  /** Lets everything run that waits for its turn. */
  const yieldTurn = (): Promise<void> =>
    new Promise((resolve) => {
      turns.push(resolve)
      port2.postMessage(null)
    })
  /** Whether an observer waits for the report about what it has begun to observe, which comes with what is drawn next. */
  let isAwaited = false
  const prototype = window.IntersectionObserver?.prototype
  const observe = prototype?.observe
  if (observe)
    prototype.observe = function (target) {
      isAwaited = true
      observe.call(this, target)
    }
  const drawn = async (): Promise<void> => {
    isAwaited = false
    await nextFrame()
    await nextFrame()
    await yieldTurn()
  }
  const nextTimer = (until_ms: number): [number, Timer] | undefined =>
    [...timers].filter(([, { due_ms }]) => due_ms <= until_ms).sort(([, a], [, b]) => a.due_ms - b.due_ms)[0]
  async function fireTimers(): Promise<void> {
    for (let next = nextTimer(passed_ms); next; next = nextTimer(passed_ms)) {
      const [id, timer] = next
      if (timer.every_ms === null) timers.delete(id)
      else timer.due_ms = passed_ms + timer.every_ms
      timer.work()
      await yieldTurn()
      if (isAwaited) await drawn()
    }
  }
  const passIn = (frame: Window, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const { port1, port2 } = new Channel()
      let isOver = false
      const end = (): void => {
        isOver = true
        resolve()
      }
      port1.onmessage = end
      frame.postMessage({ pass_ms: ms }, '*', [port2])
      // A frame that is gone will not say so.
      const look = (): void => {
        if (frame.closed) end()
        if (!isOver) start(look, 20)
      }
      look()
    })
  window.passTime = async (ms) => {
    await drawn()
    const end_ms = passed_ms + ms
    await fireTimers()
    while (passed_ms < end_ms) {
      // Frames send messages in between: what happens in them must not come late.
      const longest_ms = frames.size > 0 ? passed_ms + 100 : end_ms
      const until_ms = Math.min(end_ms, longest_ms, nextTimer(end_ms)?.[1].due_ms ?? end_ms)
      const step_ms = until_ms - passed_ms
      passed_ms = until_ms
      await Promise.all([...frames].map((frame) => passIn(frame, step_ms)))
      await yieldTurn()
      await fireTimers()
    }
  }
  window.passSome = async () => {
    await drawn()
    const isBusy = [...timers.values()].some(({ isLimit }) => isLimit)
    if (!isBusy) await window.passTime(100)
  }
  window.passTimeUntil = async (isSo) => {
    const end_ms = passed_ms + 60_000
    while (!isSo() && passed_ms < end_ms) await window.passSome()
  }
  window.blockTime = (ms) => {
    passed_ms += ms
  }
  const onMessage = (event: MessageEvent): void => {
    const { data, source, ports } = event
    if (data === 'time: follows' && source) frames.add(source as Window)
    else if (data?.pass_ms >= 0) void window.passTime(data.pass_ms).then(() => ports[0]!.postMessage(null))
    else return
    event.stopImmediatePropagation()
  }
  window.addEventListener('message', onMessage, true)
  if (window !== parent) parent.postMessage('time: follows', '*')
}

/** Runs in the frames of ads: clips are loaded and drawn as ever, and play on the time that passes in the page around. */
function holdPlayback(): void {
  if (window === parent || !location.pathname.startsWith('/v1/render/')) return
  interface Playback {
    at: number
    rate: number
    is_paused: boolean
    is_playing: boolean
    is_seeking: boolean
    told_ms: number
  }
  const playbacks = new Map<HTMLMediaElement, Playback>()
  const started_ms = performance.now()
  let passed_ms = 0
  performance.now = () => started_ms + passed_ms

  function find(media: HTMLMediaElement): Playback {
    const known = playbacks.get(media)
    if (known) return known
    const fresh = { at: 0, rate: 1, is_paused: true, is_playing: false, is_seeking: false, told_ms: 0 }
    playbacks.set(media, fresh)
    return fresh
  }
  const tell = (media: HTMLMediaElement, ...types: string[]): void => {
    for (const type of types) media.dispatchEvent(new Event(type))
  }
  const isEnded = (media: HTMLMediaElement): boolean => find(media).at >= media.duration
  const seek = (media: HTMLMediaElement, at: number): void => {
    const playback = find(media)
    playback.at = Math.min(Math.max(0, at), media.duration)
    playback.is_seeking = true
    setTimeout(() => {
      tell(media, 'seeking')
      playback.is_seeking = false
      tell(media, 'timeupdate', 'seeked')
    })
  }
  const property = (
    get: (media: HTMLMediaElement) => unknown,
    set?: (media: HTMLMediaElement, to: number) => void,
  ) => ({
    configurable: true,
    get(this: HTMLMediaElement) {
      return get(this)
    },
    set(this: HTMLMediaElement, to: number) {
      set?.(this, to)
    },
  })
  const { prototype } = HTMLMediaElement
  Object.defineProperties(prototype, {
    paused: property((media) => find(media).is_paused),
    ended: property(isEnded),
    seeking: property((media) => find(media).is_seeking),
    currentTime: property((media) => find(media).at, seek),
    playbackRate: property(
      (media) => find(media).rate,
      (media, rate) => {
        find(media).rate = rate
        tell(media, 'ratechange')
      },
    ),
  })
  const load = prototype.load
  prototype.load = function () {
    playbacks.delete(this)
    load.call(this)
  }
  prototype.pause = function () {
    const playback = find(this)
    if (playback.is_paused) return
    playback.is_paused = true
    playback.is_playing = false
    setTimeout(() => tell(this, 'timeupdate', 'pause'))
  }
  prototype.play = async function () {
    const playback = find(this)
    parent.postMessage('time: follows', '*')
    if (!playback.is_paused) return
    if (isEnded(this)) seek(this, 0)
    playback.is_paused = false
    setTimeout(() => tell(this, 'play'))
    while (this.readyState < HTMLMediaElement.HAVE_FUTURE_DATA)
      await new Promise((resolve) => this.addEventListener('canplay', resolve, { once: true }))
    await new Promise((resolve) => setTimeout(resolve))
    if (playback.is_paused) throw new DOMException('interrupted by pause()', 'AbortError')
    playback.is_playing = true
    tell(this, 'playing')
  }

  function advance(media: HTMLMediaElement, playback: Playback, ms: number): void {
    if (!playback.is_playing || playback.is_seeking) return
    playback.at = Math.min(media.duration, playback.at + (ms * playback.rate) / 1_000)
    if (isEnded(media)) {
      playback.is_paused = true
      playback.is_playing = false
      tell(media, 'timeupdate', 'pause', 'ended')
    } else if (passed_ms - playback.told_ms >= 250) {
      playback.told_ms = passed_ms
      tell(media, 'timeupdate')
    }
  }
  const onMessage = (event: MessageEvent): void => {
    const ms = Number(event.data?.pass_ms)
    if (!(ms >= 0)) return
    event.stopImmediatePropagation()
    passed_ms += ms
    for (const [media, playback] of playbacks) advance(media, playback, ms)
    event.ports[0]!.postMessage(null)
  }
  window.addEventListener('message', onMessage, true)
}
