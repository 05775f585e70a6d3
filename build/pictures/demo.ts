/** The demo host, one picture a surface: opened by its address, photographed when its placement has been viewed. */
import type { Browser } from 'playwright-core'
import { startSandbox } from '#sandbox/index.ts'
import { launchChromium } from '#tests/browser/chromium.ts'
import { keep } from './png.ts'

/** Half of them dark, so that both themes are to be seen. */
const surfaces = [
  { surface: 'chat', theme: 'light' },
  { surface: 'code', theme: 'dark' },
  { surface: 'image', theme: 'light' },
  { surface: 'voice', theme: 'dark' },
  { surface: 'agent', theme: 'light' },
] as const

export async function makeDemo(): Promise<void> {
  await using sandbox = await startSandbox({ seed: 7 })
  const browser = await launchChromium()
  try {
    for (const { surface, theme } of surfaces) {
      await photograph(browser, `${sandbox.url}/_sandbox/demo?surface=${surface}&theme=${theme}`, `demo-${surface}`)
    }
  } finally {
    await browser.close()
  }
}

async function photograph(browser: Browser, url: string, name: string): Promise<void> {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 860 },
    deviceScaleFactor: 1.5,
    colorScheme: null,
  })
  await page.goto(url)
  await page.waitForFunction(
    () => {
      const types = window.SponsoredPlacement?.getEvents().map(({ type }) => type) ?? []
      return types.includes('visible') && types.includes('turn:finished')
    },
    undefined,
    { timeout: 60_000 },
  )
  // The event of the last beacon reaches the timeline a moment later.
  await page.waitForTimeout(1_000)
  await keep(name, page, await page.screenshot())
  await page.close()
}
