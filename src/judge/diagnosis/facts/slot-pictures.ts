/** A picture of each ad of a page, with the outline and the verdict that the console of the page draws around it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Screenshot } from '#qa/result.ts'

const maxPictures = 10
/** The outline and the chip of an ad stand around it, CSS pixels. */
const marginPx = 28
/** The console draws again this often, and a bit. */
const drawnMs = 350
const maxWaitMs = 3_000

/** What render.js has on a page, as far as it is called here. */
interface ConsoleApi {
  openConsole?(options: { marksOnly: true }): Promise<unknown>
}

/**
 * Opens the console, without its panel, and takes the pictures. None where render.js is of another service, or the page lets no
 * console in. The page scrolls.
 */
export async function takeSlotPictures(page: Page): Promise<Screenshot[]> {
  const opening = page.evaluate(async () => {
    const api = (window as { SponsoredPlacement?: ConsoleApi }).SponsoredPlacement
    return (await api?.openConsole?.({ marksOnly: true })) != null
  })
  const isOpen = await Promise.race([opening.catch(() => false), sleep(maxWaitMs, false, { ref: false })])
  if (!isOpen) return []
  const pictures: Screenshot[] = []
  for (const ad of (await page.locator('[data-sp-placement]').all()).slice(0, maxPictures)) {
    // An ad that its page has removed in the meantime has no picture.
    await ad.scrollIntoViewIfNeeded({ timeout: maxWaitMs }).catch(() => {})
    await sleep(drawnMs)
    const box = await ad.boundingBox({ timeout: maxWaitMs }).catch(() => null)
    const view = page.viewportSize()
    if (box === null || view === null || box.width < 1 || box.height < 1) continue
    const left = Math.max(0, Math.floor(box.x - marginPx))
    const top = Math.max(0, Math.floor(box.y - marginPx))
    const width = Math.min(view.width, Math.ceil(box.x + box.width + marginPx)) - left
    const height = Math.min(view.height, Math.ceil(box.y + box.height + marginPx)) - top
    if (width < 1 || height < 1) continue
    const png = await page.screenshot({ clip: { x: left, y: top, width, height } }).catch(() => null)
    const address = await ad
      .locator('iframe')
      .getAttribute('src', { timeout: 1_000 })
      .catch(() => null)
    const [, slot = null] = /\/v1\/render\/ast_([0-9a-z]{11})_/.exec(address ?? '') ?? []
    if (png !== null) pictures.push({ name: slot === null ? 'an ad' : `slot_${slot}`, png, width, height })
  }
  return pictures
}
