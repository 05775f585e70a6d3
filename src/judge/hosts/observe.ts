/** Opens the page under one condition, and collects what the page, the proxy and the sandbox know of its ads. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import type { Client } from '#client/client.ts'
import type { Output } from '#contract/endpoint.ts'
import type { Contract } from '#contract/index.ts'
import { type PageSeen, PageUnreachable, watchPage } from '#diagnosis/facts/page.ts'
import type { PageSteps } from '#qa/browser/page-steps.ts'
import type { Blocker } from './blocker.ts'
import type { Condition, Scene } from './conditions.ts'
import { type HostLook, lookAtHost, recordTrouble } from './content-scripts.ts'
import { openPassthrough, type SeenRequest } from './passthrough.ts'

type Detail = Output<Contract['placements.explain']>

/** Everything that is known about the page under a condition. */
export interface Sighting {
  url: string
  /** Null when it did not open. */
  page: PageSeen | null
  /** Why it did not open. */
  problem: string | null
  /** Of every document of the page, the last look. */
  looks: readonly HostLook[]
  requests: readonly SeenRequest[]
  /** Requests that the browser did not let through, with its error. */
  failures: readonly { url: string; error: string }[]
  /** Placements that the page got, as the sandbox sees them at the end. */
  placements: readonly Detail[]
  /** Rules of the filter list that hide elements. */
  hidden_by: readonly string[]
  /** The console's errors about frames that may not be embedded. */
  refused_frames: readonly string[]
  /** Whether the ad was in the page, displayed and with a size, at any time. */
  was_shown: boolean
  /** Whether its label was, too. */
  was_labelled: boolean
}

export interface ObserveOptions {
  url: string
  /** Base URLs of the service: a page may call it localhost or 127.0.0.1. */
  bases: readonly string[]
  client: Client
  blocker: Blocker
  /** The longest that a condition may take, milliseconds. */
  for_ms: number
  signal: AbortSignal
  /** Uses the page first. */
  drive?: PageSteps | undefined
}

/** Time between two looks. */
const intervalMs = 250
/** After an error or a no-fill, this much longer for what follows. */
const afterEndMs = 1_200
/** How long the browser is offline, and the minute that the sandbox makes of it. */
const offlineMs = 4_000
const offlineMinuteMs = 60_000

/** Resolves with what was seen. Throws what `drive` throws. */
export async function observeUnder(
  condition: Condition,
  browser: Pick<Browser, 'newContext'>,
  options: ObserveOptions,
): Promise<Sighting> {
  const { url, bases, client, blocker, signal } = options
  const isOfService = (address: string) => bases.some((base) => address.startsWith(base))
  const documents: Record<string, string> = {}
  const scene: Scene = { url, service: bases[0] ?? '', port: 0, blocker }
  const proxy = await openPassthrough({
    isOfService,
    origin: new URL(url).origin,
    documents,
    ...condition.proxy?.(scene),
  })
  try {
    const around = condition.around?.({ ...scene, port: proxy.port })
    if (around !== undefined) documents[around.url] = around.html
    const watching = openWatch(condition, scene, options)
    let problem: string | null = null
    const page = await watchPage(browser, {
      url: around?.url ?? url,
      browser_name: 'chromium',
      bases,
      for_ms: 0,
      signal,
      is_headed: false,
      context: { ...condition.context, proxy: { server: proxy.address } },
      prepare: watching.prepare,
      drive: watching.drive,
    }).catch((error: unknown) => {
      if (!(error instanceof PageUnreachable)) throw error
      problem = error.message
      return null
    })
    const placements = await readPlacements(client, watching.slotIds())
    return { url, page, problem, requests: proxy.requests, placements, ...watching.seen() }
  } finally {
    await proxy.close()
  }
}

/** Placements of earlier pages may be gone: then nothing is known of them. */
async function readPlacements(client: Client, slot_ids: readonly string[]): Promise<Detail[]> {
  const details = slot_ids.map((slot_id) => client.placements.explain({ params: { slot_id } }).catch(() => null))
  return (await Promise.all(details)).filter((detail) => detail !== null)
}

/** What has been seen of the page so far. */
interface Seen extends Pick<Sighting, 'was_shown' | 'was_labelled'> {
  looks: Map<string, HostLook>
  failures: { url: string; error: string }[]
  refused_frames: string[]
  hidden_by: Set<string>
  slot_ids: Set<string>
}

function openWatch(condition: Condition, scene: Scene, options: ObserveOptions) {
  const { drive } = options
  const seen: Seen = {
    looks: new Map(),
    failures: [],
    refused_frames: [],
    hidden_by: new Set(),
    slot_ids: new Set(),
    was_shown: false,
    was_labelled: false,
  }
  return {
    async prepare(page: Page): Promise<void> {
      const context = page.context()
      context.on('requestfailed', (request) => {
        seen.failures.push({ url: request.url(), error: request.failure()?.errorText ?? 'unknown' })
      })
      context.on('console', (message) => {
        if (/frame-ancestors|X-Frame-Options/.test(message.text())) seen.refused_frames.push(message.text())
      })
      await context.addInitScript(recordTrouble)
      await drive?.prepare(page)
      if (condition.script !== undefined) await context.addInitScript(condition.script)
      await condition.prepare?.(page, context)
    },
    async drive(page: Page, signal: AbortSignal): Promise<void> {
      await drive?.(page, signal)
      await watchUntilOver(page, signal)
      await look(page, options.bases, seen).catch(() => [])
      if (condition.repeat !== undefined) for (const rule of await hiddenBy(page, scene)) seen.hidden_by.add(rule)
    },
    slotIds: () => [...seen.slot_ids],
    seen() {
      const { looks, hidden_by, slot_ids: _, ...others } = seen
      return { ...others, looks: [...looks.values()], hidden_by: [...hidden_by] }
    },
  }

  async function watchUntilOver(page: Page, signal: AbortSignal): Promise<void> {
    const { bases, client, for_ms } = options
    let ends_at = performance.now() + for_ms
    let isOver = false
    let putBack: (() => Promise<void>) | null = null
    try {
      while (performance.now() < ends_at && !signal.aborted && !page.isClosed()) {
        await condition.repeat?.(page, scene).catch(() => {})
        const events = (await look(page, bases, seen)).flatMap((each) => each.events)
        if ((await readPlacements(client, [...seen.slot_ids])).some(countsView)) return
        if (condition.isOffline && putBack === null && events.some(({ type }) => type === 'rendered')) {
          putBack = await goOffline(page, client, signal)
          ends_at = performance.now() + for_ms
        }
        if (!isOver && events.some(({ type }) => ['error', 'blocked', 'no_fill'].includes(type))) {
          isOver = true
          ends_at = Math.min(ends_at, performance.now() + afterEndMs)
        }
        await sleep(intervalMs, undefined, { signal }).catch(() => {})
      }
    } finally {
      await putBack?.()
    }
  }
}

/** Looks at the documents of the page that are not the service's. */
async function look(page: Page, bases: readonly string[], seen: Seen): Promise<HostLook[]> {
  const own = page.frames().filter((frame) => !bases.some((base) => frame.url().startsWith(base)))
  const found = await Promise.all(
    own.map(async (frame, index) => {
      const found = await Promise.race([frame.evaluate(lookAtHost, bases).catch(() => null), sleep(1_000, null)])
      if (found !== null) seen.looks.set(`${index} ${frame.url()}`, found)
      return found === null ? [] : [found]
    }),
  )
  for (const { frames, events, has_label } of found.flat()) {
    seen.was_shown ||= frames.some(({ is_shown }) => is_shown)
    seen.was_labelled ||= has_label
    // The token in the URL of a frame begins with the identifier of its slot.
    for (const { src } of frames) {
      const id = /\/ast_([0-9a-z]+)_/.exec(src)?.[1]
      if (id !== undefined) seen.slot_ids.add(`slot_${id}`)
    }
    for (const { slot_id } of events) if (slot_id !== undefined) seen.slot_ids.add(slot_id)
  }
  return found.flat()
}

/** Whether the sandbox counts a view of the placement. */
export function countsView({ beacons, billing }: Detail): boolean {
  return billing?.would_bill === true || beacons.some(({ metric }) => metric === 'viewable_impression')
}

/** Returns what puts the clock back. */
async function goOffline(page: Page, client: Client, signal: AbortSignal): Promise<() => Promise<void>> {
  const context = page.context()
  await context.setOffline(true)
  await sleep(offlineMs, undefined, { signal }).catch(() => {})
  // The rest of the minute passes in the sandbox; another service has no clock to advance.
  const by_ms = offlineMinuteMs - offlineMs
  const advanced = await client.clock.advance({ body: { by_ms } }).catch(() => null)
  await context.setOffline(false)
  return async () => {
    if (advanced === null) return
    // A page that does not forward the time of the service would be a minute behind from now on.
    const { offset_ms, now_ms } = await client.clock.show()
    await client.clock.set({ body: { to_ms: offset_ms === by_ms ? null : now_ms - by_ms } })
  }
}

async function hiddenBy(page: Page, { blocker, url }: Scene): Promise<string[]> {
  const found = await page.evaluate(lookAtHost, []).catch(() => null)
  if (found === null) return []
  const { rules } = blocker.hideRules({ url, ids: found.ids, classes: found.classes })
  return page.evaluate((selectors) => selectors.filter((selector) => document.querySelector(selector) !== null), rules)
}
