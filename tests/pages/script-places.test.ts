/** Where the script may live: in a bundle of the page, below policies about integrity, and with ads in windows of their own. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Host, openStage, type Stage } from '#tests/browser/stage.ts'
import { startTurn } from '#tests/browser/turns.ts'
import { root } from '#tests/cli/process.ts'

let stage: Stage
let script: string
beforeAll(async () => {
  stage = await openStage({}, undefined, 'flows')
  script = await readFile(join(root, 'dist/renderer/render.js'), 'utf8')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const banner = { place: { format: 'banner' }, keepMounted: true } as const
const viewed = ['render accepted OK', 'visible accepted OK +viewable_impression']

/** Opens a page without any script, so that a test adds the renderer as it is meant to come. */
async function openBare(headers: Record<string, string>, html = ''): Promise<Host> {
  const before = (page: Page) =>
    page.route('**/v1/render.js', (route) => (route.request().url().includes('?') ? route.continue() : route.abort()))
  return stage.open({ headers, html: `<div id="slot"></div>${html}`, before })
}

/** Runs the script as a bundler inlines it: no element of the page has its address. */
function inline({ page }: Host): Promise<void> {
  return page.evaluate((script) => {
    for (const element of document.querySelectorAll('script')) element.remove()
    new Function(script)()
  }, script)
}

async function countView(host: Host): Promise<void> {
  await host.waitForEvent('beacon', { event: 'visible' })
  expect(await host.ledger()).toEqual(viewed)
}

describe.concurrent('bundled with the page', () => {
  test('it loads its parts from where the placement says the service is', async () => {
    await using host = await openBare({ 'x-test': '1' })
    await inline(host)
    await startTurn(host, banner)
    await countView(host)
  })

  test('it refuses parts that are not of its own build', async () => {
    await using host = await openBare({ 'x-test': '1' })
    await host.context.route('**/assets/render/mounts.js', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: `window.isForeign=1;${await response.text()}` })
    })
    await inline(host)
    await startTurn(host, banner)
    const { message } = await host.waitForEvent('error', { code: 'script_incomplete' })
    expect(message).toMatch(/mounts\.js did not load, or is of another version$/)
    expect(await host.page.evaluate(() => 'isForeign' in window)).toBe(false)
  })

  test('without a placement that names the service, it says so', async () => {
    await using host = await openBare({ 'x-test': '1' })
    await inline(host)
    const { publishable_key } = stage.sandbox.keys
    await host.page.evaluate(
      (publishableKey) => window.SponsoredPlacement!.activate({ publishableKey }),
      publishable_key,
    )
    const { message } = await host.waitForEvent('error', { code: 'script_incomplete' })
    expect(message).toBe('Error: nothing says where its other parts are')
  })
})

test.each([
  ['an Integrity-Policy', { 'integrity-policy': 'blocked-destinations=(script)' }],
  ['a nonce alone', { 'content-security-policy': "script-src 'nonce-n' 'unsafe-eval'" }],
  ['trusted types', { 'content-security-policy': "require-trusted-types-for 'script'" }],
])('below %s it loads its parts, with their hashes', async (_, headers) => {
  const integrity = `sha256-${createHash('sha256').update(script).digest('base64')}`
  const element = `<script nonce="n" crossorigin integrity="${integrity}" src="${stage.sandbox.url}/v1/render.js?1"></script>`
  await using host = await openBare(headers, element)
  await startTurn(host, banner)
  await countView(host)
})

describe('an ad in a window of its own', () => {
  /** Puts a slot into another window, and a turn on it. Returns nothing: what it does is in the events. */
  async function showIn(host: Host, window_: 'popup' | 'picture-in-picture'): Promise<void> {
    const response = await host.place({ format: 'banner' })
    await host.page.evaluate(
      ({ kind, response }) => {
        const show = (other: Window): void => {
          Object.assign(window, { other })
          const target = other.document.body.appendChild(other.document.createElement('div'))
          window.SponsoredPlacement!.renderPlacement({ target, response })
        }
        const { documentPictureInPicture: pip } = window as unknown as {
          documentPictureInPicture: { requestWindow(size: object): Promise<Window> }
        }
        document.onclick = () => {
          if (kind === 'popup') show(open('', '', 'width=500,height=500')!)
          else void pip.requestWindow({ width: 400, height: 400 }).then(show)
        }
      },
      { kind: window_, response },
    )
    await host.page.mouse.click(5, 5)
  }

  test.each(['popup', 'picture-in-picture'] as const)('finds its page from a %s, and counts there', async (kind) => {
    await using host = await stage.open()
    await showIn(host, kind)
    await countView(host)
  })

  test('counts nothing while its popup is hidden', async () => {
    await using host = await stage.open()
    await host.page.evaluate(() => {
      const { open } = window
      window.open = (...given) => {
        const other = open(...given)!
        let state = 'hidden'
        Object.defineProperty(other.document, 'visibilityState', { get: () => state })
        Object.assign(window, {
          showPopup: () => {
            state = 'visible'
            other.document.dispatchEvent(new Event('visibilitychange'))
            return Date.now()
          },
        })
        return other
      }
    })
    await showIn(host, 'popup')
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    const shown_ms = await host.page.evaluate(() => (window as unknown as { showPopup(): number }).showPopup())
    const { at_ms } = await host.waitForEvent('visible')
    expect(at_ms - shown_ms).toBeGreaterThanOrEqual(990)
    await countView(host)
  })

  test('is not taken over by a page that has opened its page', async () => {
    await using host = await stage.open({ html: '<div id="slot" style="margin-top:3000px"></div>' })
    const opened = host.page.waitForEvent('popup')
    const { placement } = await host.place({ format: 'banner' })
    // Another origin: it opens a page that embeds the frame, and asks the frame for its token.
    await host.page.evaluate(
      ({ url, page }) => {
        const other = open(page)!
        Object.assign(window, { other, url, heard: [] })
      },
      {
        url: placement!.render.frame_url,
        page: `${stage.host_url.replace('localhost', '127.0.0.1')}${new URL(host.page.url()).pathname}`,
      },
    )
    const page = await opened
    await page.waitForLoadState()
    await page.evaluate((url) => {
      const frame = document.body.appendChild(document.createElement('iframe'))
      frame.src = url
      return new Promise((resolve) => {
        frame.onload = resolve
      })
    }, placement!.render.frame_url)
    const hello = { t: 'sp:init', v: 1, nonce: 'n', instance_id: 'i' }
    await host.page.evaluate((hello) => {
      const { other, heard } = window as unknown as { other: Window; heard: unknown[] }
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = ({ data }) => heard.push(data)
      other.frames[0]!.postMessage(hello, '*', [port2])
    }, hello)
    // It still waits for its own page, whose message comes later.
    const own = await page.evaluate((hello) => {
      const { port1, port2 } = new MessageChannel()
      frames[0]!.postMessage(hello, '*', [port2])
      return new Promise((resolve) => {
        port1.onmessage = ({ data }) => resolve(data.t)
      })
    }, hello)
    expect(own).toBe('ready')
    expect(await host.page.evaluate(() => Reflect.get(window, 'heard'))).toEqual([])
  })
})

const stuck = { contentType: 'text/html', body: '<p>Something else<img alt="" src="/hangs">' }

test.each(['about:blank', '/stuck'])(
  'a frame that shows %s after it was rendered, before its load, counts nothing more',
  async (address) => {
    await using host = await stage.open({ html: '<div id="slot" style="margin-top:3000px"></div>' })
    // Its icon keeps the load of the frame away.
    for (const hanging of ['**/icon.webp', '**/hangs']) await host.context.route(hanging, () => {})
    await host.context.route('**/stuck', (route) => route.fulfill(stuck))
    await startTurn(host, { place: { format: 'native' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    await host.page.evaluate((address) => {
      const [frame] = window.findAll('iframe') as HTMLIFrameElement[]
      frame!.src = address
      document.querySelector('#slot')!.scrollIntoView()
    }, address)
    await host.waitForEvent('error', { code: 'frame_reloaded' })
    expect(await host.ledger()).toEqual(['render accepted OK'])
  },
)
