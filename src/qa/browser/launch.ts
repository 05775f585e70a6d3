/** A Chrome or Chromium for the steps that need one: found by the command line, driven by playwright-core. */
import type { Browser, LaunchOptions } from 'playwright-core'

/** Why there is no browser, and what to do about it. */
export class BrowserMissing extends Error {
  override readonly name = 'BrowserMissing'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/**
 * Starts the browser at `path`, without a window. The host page stands at an address that nothing answers at, so the
 * browser cannot tell that it is on this machine: its check of local addresses would only ever see that.
 * @throws BrowserMissing when the package that drives it is missing, or the browser does not start
 */
export async function launchBrowser(path: string): Promise<Browser> {
  const { chromium } = await import('playwright-core').catch(() => {
    throw new BrowserMissing(
      'The package playwright-core is not installed.',
      'Install it: npm install -D playwright-core',
    )
  })
  const options: LaunchOptions = {
    executablePath: path,
    headless: true,
    args: [
      '--mute-audio',
      '--disable-gpu',
      '--font-render-hinting=none',
      '--disable-features=LocalNetworkAccessChecks',
    ],
    // Chromium refuses its own sandbox to root, which is who runs in a container.
    chromiumSandbox: process.getuid?.() !== 0,
  }
  return chromium.launch(options).catch((error: unknown) => {
    const [first = ''] = String((error as Error).message).split('\n')
    throw new BrowserMissing(`${path} does not start: ${first}`, 'Name another one: --browser-path PATH')
  })
}
