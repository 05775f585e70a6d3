/** A real Chromium for tests, with the web's own security: the package's default arguments switch much of it off. */
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

export async function launchChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', '--mute-audio', '--font-render-hinting=none'],
    headless: true,
  })
}
