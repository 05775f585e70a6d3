/** Waiting for what the renderer emits in a page, while time passes there or not. */
import type { Page } from 'playwright-core'
import type { EventType, RendererEvent } from '#renderer/host/events.ts'

type Match<T extends EventType> = Partial<RendererEvent<T>>

export interface PageEvents {
  /**
   * Waits for `count` matching events, oldest first, and resolves to the last one. Where time is held it passes, at most a minute of
   * it, while the renderer waits for nothing else: no request, no frame.
   */
  waitForEvent<T extends EventType>(type: T, match?: Match<T>, count?: number): Promise<RendererEvent<T>>
  /** The same without any time: for what only has to arrive. */
  emitted<T extends EventType>(type: T, match?: Match<T>, count?: number): Promise<RendererEvent<T>>
  /** Lets time pass in the page, milliseconds, once what has changed before was drawn. */
  pass(ms: number): Promise<void>
}

interface Wanted {
  type: EventType
  match: Record<string, unknown>
  count: number
  isPassing: boolean
}

export function awaitEvents(page: Page): PageEvents {
  const wait = async <T extends EventType>(type: T, match: Match<T>, count: number, isPassing: boolean) => {
    const wanted = { type, match: match as Record<string, unknown>, count, isPassing }
    return (await page.evaluate(awaitEvent, wanted)) as RendererEvent<T>
  }
  return {
    waitForEvent: (type, match = {}, count = 1) => wait(type, match, count, true),
    emitted: (type, match = {}, count = 1) => wait(type, match, count, false),
    pass: (ms) => page.evaluate((ms) => window.passTime(ms), ms),
  }
}

/** Runs in the page. */
async function awaitEvent({ type, match, count, isPassing }: Wanted): Promise<RendererEvent> {
  const { getEvents, on } = window.SponsoredPlacement!
  const find = (): RendererEvent | undefined =>
    getEvents().filter(
      (event) =>
        event.type === type && Object.entries(match).every(([name, value]) => Reflect.get(event, name) === value),
    )[count - 1]
  if (isPassing && 'passTime' in window) {
    await window.passTimeUntil(() => find() !== undefined)
    const found = find()
    if (!found) throw new Error(`no ${type} in a minute: ${JSON.stringify(getEvents())}`)
    return found
  }
  return new Promise((resolve) => {
    const look = (): void => {
      const found = find()
      if (!found) return
      off()
      resolve(found)
    }
    const off = on('*', () => queueMicrotask(look))
    look()
  })
}
