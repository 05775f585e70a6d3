/** Waiting for what the renderer emits in a page: as it comes, or letting time pass until it does. */
import type { Page } from 'playwright-core'
import type { EventType, RendererEvent } from '#renderer/host/events.ts'

type Match<T extends EventType> = Partial<RendererEvent<T>>

export interface PageEvents {
  /** Waits for `count` matching events. Resolves to the last one. No time passes: for what takes some, see `passUntil`. */
  waitForEvent<T extends EventType>(type: T, match?: Match<T>, count?: number): Promise<RendererEvent<T>>
  /** Lets time pass in the page, milliseconds, once what has changed before was drawn. */
  pass(ms: number): Promise<void>
  /** Lets time pass, at most a minute of it, until there are `count` matching events. Resolves to the last one. */
  passUntil<T extends EventType>(type: T, match?: Match<T>, count?: number): Promise<RendererEvent<T>>
  /** Lets time pass until `count` ads were viewed, once they are rendered, and waits for the responses to their beacons. */
  viewed(match?: Match<'beacon'>, count?: number): Promise<RendererEvent<'beacon'>>
}

interface Wanted {
  type: EventType
  match: Record<string, unknown>
  count: number
  /** At most this much time passes meanwhile, milliseconds. */
  pass_ms: number
}

export function awaitEvents(page: Page): PageEvents {
  const wait = async <T extends EventType>(type: T, match: Match<T>, count: number, pass_ms: number) =>
    (await page.evaluate(awaitEvent, {
      type,
      match: match as Record<string, unknown>,
      count,
      pass_ms,
    })) as RendererEvent<T>
  const events: PageEvents = {
    waitForEvent: (type, match = {}, count = 1) => wait(type, match, count, 0),
    pass: (ms) => page.evaluate((ms) => window.passTime(ms), ms),
    passUntil: (type, match = {}, count = 1) => wait(type, match, count, 60_000),
    viewed: async (match = {}, count = 1) => {
      const { turn_id } = match
      const scope = turn_id === undefined ? {} : { turn_id }
      await events.waitForEvent('rendered', scope, count)
      await events.passUntil('visible', scope, count)
      return events.waitForEvent('beacon', { event: 'visible', ...match }, count)
    },
  }
  return events
}

/** Runs in the page. */
async function awaitEvent({ type, match, count, pass_ms }: Wanted): Promise<RendererEvent> {
  const { getEvents, on } = window.SponsoredPlacement!
  const find = (): RendererEvent | undefined =>
    getEvents().filter(
      (event) =>
        event.type === type && Object.entries(match).every(([name, value]) => Reflect.get(event, name) === value),
    )[count - 1]
  for (let passed_ms = 0; passed_ms < pass_ms; passed_ms += 250) {
    const found = find()
    if (found) return found
    await window.passTime(250)
  }
  if (pass_ms > 0 && !find()) throw new Error(`no ${type} in a minute: ${JSON.stringify(getEvents())}`)
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
