/**
 * The benchmark in a browser: from the call of `renderPlacement` to the creative on the screen, and from a complete
 * view to its beacon, next to a plain iframe with the same picture, in one page and one run.
 */
import { cpus } from 'node:os'
import type { Browser, Page } from 'playwright-core'
import { type Client, createClient } from '#client/index.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { SponsoredPlacement } from '#renderer/host/main.ts'
import { launchChromium } from '#tests/browser/chromium.ts'
import {
  type FrameTimes,
  type PlainRound,
  plainRound,
  postBeacons,
  type Round,
  readFrame,
  recordFrame,
  renderRound,
} from './browser-page.ts'
import { type Figures, print, summarize } from './browser-report.ts'
import { sandboxCommand, startServer } from './server.ts'

declare global {
  interface Window {
    SponsoredPlacement?: SponsoredPlacement
  }
}

const rounds = 30
const warmUp = 4
const formats = ['banner', 'native', 'clip'] as const
type Format = (typeof formats)[number]

const demo = {
  client_id: 'proj_demo',
  secret_key: 'sk_test_sandbox_demo',
  publishable_key: 'pk_test_sandbox_demo',
}

/** One placement, and the plain iframe after it. */
interface Measurement {
  round: Round
  frame: FrameTimes
  received_at: number
  document_ms: number
  plain: PlainRound
  plain_frame: FrameTimes
}

const sandbox = await startServer(sandboxCommand)
const host = await startServer(['bench/browser-host.ts', sandbox.url])
const browser = await launchChromium()
try {
  const page = await openPage(browser)
  const client = createClient({ base_url: sandbox.url, credential: demo.secret_key })
  const report: Record<string, Figures> = {}
  for (const format of formats) report[format] = figures(format, await measureAll(page, client, format))
  report['on its own'] = { 'POST of a beacon, by the page': summarize(await measurePosts(page, client)) }
  const machine = `node ${process.version}, Chromium ${browser.version()}, ${cpus().length} x ${cpus()[0]?.model}`
  if (process.argv.includes('json')) console.log(JSON.stringify({ machine, rounds, report }))
  else print(`${machine}, ${rounds} rounds, milliseconds`, report)
} finally {
  await browser.close()
  await host.stop()
  await sandbox.stop()
}

/** The integrator's page at `localhost`, while the emulator and the plain frames are at `127.0.0.1`. */
async function openPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 800, height: 700 } })
  await context.addInitScript(recordFrame)
  const page = await context.newPage()
  await page.goto(host.url.replace('127.0.0.1', 'localhost'))
  return page
}

async function measureAll(page: Page, client: Client, format: Format): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (let round = -warmUp; round < rounds; round++) {
    const measurement = await measure(page, client, format)
    if (round >= 0) measurements.push(measurement)
  }
  return measurements
}

async function measure(page: Page, client: Client, format: Format): Promise<Measurement> {
  const response = await place(client, format)
  const { frame_url, width, height } = response.placement!.render
  const round = await page.evaluate(renderRound, { response })
  const frame = await readFrameAt(page, frame_url)
  await page.evaluate(() => window.SponsoredPlacement!.clearPlacement({ target: '#slot' }))
  const { items } = await client.beacons.list({ query: { slot_id: response.slot_id, event: 'visible' } })

  const began = performance.now()
  const html = await (await fetch(frame_url)).text()
  const document_ms = performance.now() - began

  const src = plainUrl(html)
  const plain = await page.evaluate(plainRound, { src, width, height })
  const plain_frame = await readFrameAt(page, src)
  await page.evaluate(() => document.querySelector('#plain')!.remove())
  return { round, frame, received_at: items[0]!.received_at_ms, document_ms, plain, plain_frame }
}

function place(client: Client, format: Format): Promise<PlacementResponse> {
  return client.placements.create({
    body: {
      client_id: demo.client_id,
      session_id: `bench-${performance.now()}`,
      job_type: 'chat',
      slot_hint: { max_width: 640, max_height: 360 },
      overrides: { allowed_formats: [format] },
    },
  })
}

async function readFrameAt(page: Page, url: string): Promise<FrameTimes> {
  const frame = page.frames().find((frame) => frame.url() === url)
  if (frame === undefined) throw new Error(`there is no frame at ${url}`)
  return frame.evaluate(readFrame)
}

/** A bare frame with the main picture of a frame's document. */
function plainUrl(html: string): string {
  const path = (pattern: RegExp): string | undefined =>
    pattern
      .exec(html)?.[1]
      ?.replace(/^https?:\/\/[^/]+/, '')
      .replaceAll('&amp;', '&')
  const src = path(/<(?:img|video) class="(?:image|video)"[^>]* ?src="([^"]+)"/)
  if (src === undefined) throw new Error('the frame has no picture')
  const poster = path(/ poster="([^"]+)"/)
  return `${host.url}/plain?${new URLSearchParams({ src, ...(poster && { poster }) })}`
}

async function measurePosts(page: Page, client: Client): Promise<number[]> {
  const { decision } = await place(client, 'banner')
  const asset_token = decision?.fill ? decision.asset_token : ''
  const { publishable_key } = demo
  return page.evaluate(postBeacons, { url: sandbox.url, publishable_key, asset_token, times: rounds })
}

function figures(format: Format, measurements: readonly Measurement[]): Figures {
  const of = (pick: (measurement: Measurement) => number) => summarize(measurements.map(pick))
  /** When the view was complete, by the page's own observer and the frame's own video. */
  const complete_at = ({ round, frame }: Measurement): number => {
    if (format !== 'clip') return round.in_view_at + 1_000
    return frame.playing_at.find((at) => at >= round.in_view_at)! + 2_000
  }
  return {
    'call to frame requested': of(({ round, frame }) => frame.document_at - round.called_at),
    'call to document there': of(({ round, frame }) => frame.document_end_at - round.called_at),
    'call to media requested': of(({ round, frame }) => frame.media_at - round.called_at),
    'call to media there': of(({ round, frame }) => frame.media_end_at - round.called_at),
    "call to the frame's load": of(({ round, frame }) => frame.load_at - round.called_at),
    'call to painted': of(({ round, frame }) => frame.painted_at - round.called_at),
    'call to `rendered`': of(({ round }) => round.rendered_at - round.called_at),
    'plain: to painted': of(({ plain, plain_frame }) => plain_frame.painted_at - plain.called_at),
    'plain: to load': of(({ plain }) => plain.load_at - plain.called_at),
    'frame document by node': of(({ document_ms }) => document_ms),
    'view complete to `visible`': of((given) => given.round.visible_at - complete_at(given)),
    'view complete to beacon received': of((given) => given.received_at - complete_at(given)),
    'view complete to beacon answered': of((given) => given.round.answered_at - complete_at(given)),
  }
}
