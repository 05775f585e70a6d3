/** A real Chromium for tests, with the web's own security: the package's default arguments switch much of it off. */
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

/** Starts a Chromium of its own. The caller closes it. */
export async function launchChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', '--mute-audio', '--font-render-hinting=none'],
    headless: true,
  })
}

let shared: Promise<Browser> | undefined

/**
 * Returns the Chromium of this worker: its test files follow each other and use the same one, each page in a context of
 * its own. It ends with the worker. Nobody closes it; a test that harms its browser starts one by `launchChromium`.
 */
export function sharedChromium(): Promise<Browser> {
  shared ??= launchChromium()
  return shared
}
