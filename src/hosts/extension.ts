/** A browser with a real extension, where the browser in use can load one: a shell without windows cannot. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions } from 'playwright-core'
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
const startsWithin_ms = 15_000

/** Returns a browser whose pages have the extension, or null when this one does not load it. */
export async function openExtensionBrowser(executablePath: string): Promise<ExtensionBrowser | null> {
  if (/headless|sparticuz|\/tmp\/chromium$/.test(executablePath)) return null
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
        timeout: startsWithin_ms,
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
    const trial = await open()
    const page = await trial.newPage()
    await page.goto('data:text/html,<body><div></div>')
    await trial.close()
    return { newContext: open, close }
  } catch {
    await close()
    return null
  }
}
