/** The console on a page, one picture a state: a page of an integrator's app, photographed when its slot is in that state. */
import type { BrowserContextOptions } from 'playwright-core'
import { type Host, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { keep } from './png.ts'

interface State {
  name: string
  context?: BrowserContextOptions
  place?: PlaceOptions
  /** Of the turn. */
  turn?: Record<string, unknown>
  /** What lies over the slot. */
  cover?: string
  /** Prepares the page before its turn. */
  before?: (host: Host) => Promise<unknown>
  /** What the chip of the slot says when it is photographed. */
  chip: string
  /** Acts before the photograph. */
  after?: (host: Host, stage: Stage) => Promise<unknown>
}

const dark: BrowserContextOptions = { colorScheme: 'dark' }
const never = new Promise(() => {})

/** Half of them dark, so that both themes are to be seen. */
const states: readonly State[] = [
  { name: 'viewed', chip: 'viewed', after: (host) => host.waitForEvent('beacon', { event: 'visible' }) },
  { name: 'pending', context: dark, chip: 'pending', before: hold },
  { name: 'no-fill', place: { more: { overrides: { bidfloor: 1_000 } } }, chip: 'no-fill' },
  { name: 'blocked', context: dark, turn: { authoritative_consent: null }, chip: 'blocked' },
  { name: 'error', turn: { endpoint: '/api/none' }, chip: 'error' },
  {
    name: 'covered',
    context: dark,
    chip: 'fill',
    cover: '<aside>We use cookies to remember your grinder.</aside>',
  },
  {
    name: 'page-only',
    chip: 'viewed',
    before: (host) => host.page.route('**/console/page/*', (route) => route.abort()),
  },
  { name: 'phone', context: { viewport: { width: 390, height: 760 } }, chip: 'viewed' },
  { name: 'actions', context: dark, chip: 'viewed', after: askForGrant },
]

export async function makeConsole(): Promise<void> {
  await using stage = await openStage({ seed: 7 })
  for (const state of states) await photograph(stage, state)
}

async function photograph(stage: Stage, state: State): Promise<void> {
  const { name, place = { format: 'banner' }, cover = '', chip } = state
  const viewport = { width: 880, height: 640 }
  const context = { viewport, deviceScaleFactor: 1.5, ...state.context }
  await using host = await stage.open({ html: article(cover), context })
  const { page } = host
  await state.before?.(host)
  await page.evaluate(() => void window.SponsoredPlacement!.openConsole())
  await page.evaluate((options) => void window.SponsoredPlacement!.startTurn(options as never), {
    target: '#ad',
    endpoint: host.endpoint,
    body: host.body(place),
    turnId: 'message-17',
    keepMounted: true,
    ...state.turn,
  })
  await page.locator('svc-console .mark-chip', { hasText: chip }).waitFor()
  await state.after?.(host, stage)
  // What the sandbox knows of the last beacon arrives a moment later.
  await page.waitForTimeout(1_500)
  await keep(`console-${name}`, page, await page.screenshot())
}

const article = (cover: string): string => `
<style>
  :root { color-scheme: light dark }
  body { margin: 0; background: light-dark(#fff, #1b1b1f); color: light-dark(#222, #ddd); font: 15px/1.6 system-ui }
  main { position: relative; width: 326px; margin: 28px 24px }
  h1 { margin: 0 0 8px; font-size: 24px; line-height: 1.3 }
  aside { position: absolute; top: 190px; right: -8px; left: -8px; height: 260px; padding: 20px; border-radius: 12px;
    background: light-dark(#eef, #2b2b3d); box-sizing: border-box }
</style>
<main><h1>Roasting at home</h1><p>Good beans and a heavy pan are enough. Keep them moving, and listen for the first crack.</p>
<div id="ad"></div><p>Let them cool fast, on a metal tray.</p>${cover}</main>`

async function hold(host: Host): Promise<void> {
  host.backend_responses.push({ body: '{}', after: never })
}

async function askForGrant({ page }: Host): Promise<void> {
  await page.getByRole('button', { name: 'No-fill' }).click()
  await page.locator('svc-console output').waitFor()
}
