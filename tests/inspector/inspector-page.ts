/** The inspector in a context of its own, with everything that it must not do: problems, and requests to elsewhere. */
import type { BrowserContextOptions, Page, Request } from 'playwright-core'
import { expect } from 'vitest'
import type { Sandbox } from '#sandbox/index.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'

export const phone = { width: 390, height: 844 }
export const desk = { width: 1_280, height: 900 }

export interface Inspector extends AsyncDisposable {
  page: Page
  /** Errors of the console and of scripts, and violations of the policy. */
  problems: string[]
  /** Origins that were asked for something, beside that of the sandbox. */
  strangers: string[]
  /** Opens another address of the inspector, below /_sandbox. */
  goto(path: string): Promise<void>
  /** Waits until nothing is loading. */
  settled(): Promise<void>
}

export interface InspectorOptions extends BrowserContextOptions {
  /** Default: the origin of the sandbox. */
  origin?: string
}

/** Opens an address of the inspector, below /_sandbox: `/placements`. It must have done nothing wrong when it is disposed. */
export async function openInspector(
  sandbox: Pick<Sandbox, 'url'>,
  path = '/',
  { origin = sandbox.url, ...options }: InspectorOptions = {},
): Promise<Inspector> {
  const context = await (await sharedChromium()).newContext({
    viewport: desk,
    // What fades and pulses is drawn for as long, frame by frame, by the processors that the tests share.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(0)
  const problems: string[] = []
  const strangers: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !isExpected(message.text())) problems.push(message.text())
  })
  page.on('request', (request: Request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (protocol !== 'data:' && protocol !== 'blob:' && asked !== origin) strangers.push(request.url())
  })
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI} ${sourceFile}`)
    })
  })
  const settled = async () => {
    await page.locator('h1').first().waitFor()
    await page.waitForFunction(() => document.querySelector('.loading') === null)
  }
  const goto = async (path: string) => {
    await page.goto(`${origin}/_sandbox${path}`)
    await settled()
  }
  await goto(path)
  return {
    page,
    problems,
    strangers,
    goto,
    settled,
    async [Symbol.asyncDispose]() {
      await context.close()
      expect({ problems, strangers }).toEqual({ problems: [], strangers: [] })
    },
  }
}

/** A refused or missing response is shown by the page; the browser notes it in its console all the same. */
function isExpected(text: string): boolean {
  return text.startsWith('Failed to load resource')
}

/** Whether a page is wider than its window. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
}
