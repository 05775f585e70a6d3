/** A browser with a real extension, where the browser in use can load one: a shell without windows cannot. */

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { listeningPort } from '#foundation/http.ts'
import { stampAttributes } from './content-scripts.ts'

export interface ExtensionBrowser extends Pick<Browser, 'newContext'> {
  close(): Promise<void>
}

const manifest = {
  manifest_version: 3,
  name: 'Stamps every div',
  version: '1',
  content_scripts: [{ matches: ['<all_urls>'], js: ['stamp.js'], run_at: 'document_start', all_frames: true }],
}
const startsWithinMs = 15_000

/** Returns a browser whose pages have the extension, or null when this one does not load it. */
export async function openExtensionBrowser(executablePath: string): Promise<ExtensionBrowser | null> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-extension-'))
  const close = () => rm(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
    await writeFile(join(folder, 'stamp.js'), `(${stampAttributes.toString()})()`)
    const { chromium } = await import('playwright-core')
    const open = (options: BrowserContextOptions = {}) =>
      chromium.launchPersistentContext('', {
        ...options,
        executablePath,
        headless: true,
        timeout: startsWithinMs,
        chromiumSandbox: process.getuid?.() !== 0,
        ignoreDefaultArgs: ['--disable-extensions'],
        args: [
          '--mute-audio',
          '--disable-gpu',
          '--disable-features=LocalNetworkAccessChecks,DisableLoadExtensionCommandLineSwitch',
          `--disable-extensions-except=${folder}`,
          `--load-extension=${folder}`,
        ],
      })
    if (await isLoaded(open)) return { newContext: open, close }
    await close()
    return null
  } catch {
    await close()
    return null
  }
}

/** How long the extension has to stamp the div of a page. */
const stampsWithinMs = 3_000

/** A browser that loads no extensions opens all the same. */
async function isLoaded(open: () => Promise<BrowserContext>): Promise<boolean> {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<div>Page</div>'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const context = await open()
  try {
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${listeningPort(server)}/`)
    const stamped = page.locator('div[bis_skin_checked]').waitFor({ state: 'attached', timeout: stampsWithinMs })
    return await stamped.then(
      () => true,
      () => false,
    )
  } finally {
    await context.close()
    server.close()
  }
}
