/**
 * Code that runs in the page and in its frames. Every time is wall-clock, milliseconds with fractions, so the page, its
 * frames and the emulator on the same host can be compared.
 */

import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { RendererEvent } from '#renderer/host/events.ts'

/** One placement as the page saw it. */
export interface Round {
  called_at: number
  rendered_at: number
  /** When at least half came into view, by the page's own observer. */
  in_view_at: number
  visible_at: number
  /** When the page received the emulator's response to the beacon `visible`. */
  answered_at: number
}

/** The record of the frame's own document. */
export interface FrameTimes {
  document_at: number
  document_end_at: number
  media_at: number
  media_end_at: number
  load_at: number
  /** Its picture, or the clip's poster, on the screen. */
  painted_at: number
  /** Each time its video started to play. */
  playing_at: number[]
}

declare global {
  interface Window {
    bench?: { paints: number[]; plays: number[] }
  }
}

/** Runs in every document before its own scripts: records when the picture or poster is on the screen. */
export function recordFrame(): void {
  const paints: number[] = []
  const plays: number[] = []
  window.bench = { paints, plays }
  const mark = (): void => {
    for (const picture of document.querySelectorAll('img:not(.icon), video')) {
      picture.setAttribute('elementtiming', 'creative')
    }
  }
  new MutationObserver(mark).observe(document, { childList: true, subtree: true })
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) paints.push((entry as PerformanceEntry & { renderTime: number }).renderTime)
  }).observe({ type: 'element', buffered: true })
  document.addEventListener('playing', () => plays.push(performance.now()), { capture: true })
}

/** Runs in a frame. */
export function readFrame(): FrameTimes {
  let wall = Date.now()
  for (const before = wall; wall === before; wall = Date.now());
  const origin = wall - performance.now()
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const resources = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
  const picture = document.querySelector<HTMLImageElement | HTMLVideoElement>('img:not(.icon), video')
  const media = resources.find(({ name }) => name === picture?.currentSrc)
  const { paints, plays } = window.bench!
  return {
    document_at: origin + navigation!.requestStart,
    document_end_at: origin + navigation!.responseEnd,
    media_at: origin + (media?.startTime ?? Number.NaN),
    media_end_at: origin + (media?.responseEnd ?? Number.NaN),
    load_at: origin + navigation!.loadEventStart,
    painted_at: origin + (paints[0] ?? Number.NaN),
    playing_at: plays.map((time) => origin + time),
  }
}

/** Mounts in view, scrolls away once rendered, scrolls back, and waits until the view is counted. */
export async function renderRound({ response }: { response: PlacementResponse }): Promise<Round> {
  let wall = Date.now()
  for (const before = wall; wall === before; wall = Date.now());
  const origin = wall - performance.now()
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
  const box = document.querySelector('#box')!
  const placements = window.SponsoredPlacement!
  /** Resolves to the time of an event, as its source reports it. */
  const emitted = (isIt: (event: RendererEvent) => boolean): Promise<number> =>
    new Promise((resolve, reject) => {
      const off = placements.on('*', (event) => {
        if (event.type === 'error') reject(new Error(event.code))
        if (!isIt(event)) return
        off()
        resolve(origin + performance.now())
      })
    })

  box.scrollTop = 0
  const rendered = emitted(({ type }) => type === 'rendered')
  const visible = emitted(({ type }) => type === 'visible')
  const answered = emitted((event) => event.type === 'beacon' && event.event === 'visible' && event.accepted)
  const called_at = origin + performance.now()
  placements.renderPlacement({ target: '#slot', response })
  const rendered_at = await rendered
  await sleep(300)
  box.scrollTop = box.scrollHeight
  await sleep(200)
  const frame = document.querySelector('#slot [data-sp-placement]')!.shadowRoot!.querySelector('iframe')!
  const inView = new Promise<number>((resolve) => {
    const observer = new IntersectionObserver(
      (entries) => {
        const entry = entries.find(({ intersectionRatio }) => intersectionRatio >= 0.5)
        if (entry === undefined) return
        observer.disconnect()
        resolve(origin + entry.time)
      },
      { threshold: 0.5 },
    )
    observer.observe(frame)
  })
  await sleep(50)
  box.scrollTop = 0
  return { called_at, rendered_at, in_view_at: await inView, visible_at: await visible, answered_at: await answered }
}

export interface PlainRound {
  called_at: number
  load_at: number
}

/** A plain iframe in the same place, until it has loaded. */
export async function plainRound(given: { src: string; width: number; height: number }): Promise<PlainRound> {
  let wall = Date.now()
  for (const before = wall; wall === before; wall = Date.now());
  const origin = wall - performance.now()
  document.querySelector('#box')!.scrollTop = 0
  const frame = document.createElement('iframe')
  const called_at = origin + performance.now()
  const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
  Object.assign(frame, { ...given, id: 'plain' })
  frame.style.border = '0'
  document.querySelector('#slot')!.append(frame)
  await loaded
  const load_at = origin + performance.now()
  await new Promise((resolve) => setTimeout(resolve, 300))
  return { called_at, load_at }
}

/** Milliseconds of each of `times` beacons, one after the other, sent by the page itself. */
export async function postBeacons(given: {
  url: string
  publishable_key: string
  asset_token: string
  times: number
}): Promise<number[]> {
  const post = (path: string, body: object, token?: string): Promise<Response> =>
    fetch(`${given.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    })
  const activation = await post('/v1/browser/activate', { publishable_key: given.publishable_key })
  const { activation_token } = (await activation.json()) as { activation_token: string }
  const times: number[] = []
  for (let turn = -3; turn < given.times; turn++) {
    const beacon_id = `bench-post-${turn + 3}`
    const began = performance.now()
    const answer = await post(
      '/v1/beacons',
      { beacon_id, asset_token: given.asset_token, event: 'heartbeat', occurred_at_ms: Date.now() },
      activation_token,
    )
    await answer.json()
    if (!answer.ok) throw new Error(`a beacon was answered ${answer.status}`)
    if (turn >= 0) times.push(performance.now() - began)
  }
  return times
}
