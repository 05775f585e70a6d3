/** The conditions under which a page is tried: what each changes, and what it only imitates. */
import { randomBytes } from 'node:crypto'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Blocker } from './blocker.ts'
import { forceDark, hideElements, limitToWebView, lookAtHost, stampAttributes, translate } from './content-scripts.ts'
import type { PassedDocument, PassthroughOptions } from './passthrough.ts'

/** What a condition is made for. */
export interface Scene {
  /** The address of the page. */
  url: string
  /** The origin of the service. */
  service: string
  /** The port of the proxy: it serves pages around the page there. */
  port: number
  blocker: Blocker
}

export interface Condition {
  name: string
  title: string
  /** What is imitated, and how; null for the real thing. */
  simulated: string | null
  /** Tried with a real extension in place of the script, where the browser can load one. */
  isExtension?: true
  context?: BrowserContextOptions
  /** Runs in every document before its own scripts. */
  script?: () => void
  proxy?(scene: Scene): Pick<PassthroughOptions, 'changeDocument' | 'shown_origin' | 'findBlock'>
  /** The address that is opened instead of the page's, with the document that the proxy serves there. */
  around?(scene: Scene): { url: string; html: string }
  prepare?(page: Page, context: BrowserContext): Promise<void>
  /** Called with every look at the page: for what must happen again and again. */
  repeat?(page: Page, scene: Scene): Promise<void>
  /** The network is down for a minute from the moment on at which the ad is painted. */
  isOffline?: true
}

/** The origin that a shell shows in place of the page's. */
export const shellOrigin = 'capacitor://localhost'

const webViewAgent =
  'Mozilla/5.0 (Linux; Android 15; Pixel 9 Build/AP3A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.0.0 Mobile Safari/537.36'

export const conditions: readonly Condition[] = [
  { name: 'plain', title: 'As it is', simulated: null },
  {
    name: 'strict-csp',
    title: 'Strict CSP with nonce and Trusted Types',
    simulated: 'The proxy adds the policy, and its nonce to the scripts and styles of the HTML.',
    proxy: (scene) => ({ changeDocument: (document) => withPolicy(document, scene) }),
  },
  {
    name: 'isolated',
    title: 'COEP require-corp and COOP same-origin',
    simulated: null,
    proxy: () => ({
      changeDocument: ({ html }) => ({
        html,
        headers: { 'cross-origin-embedder-policy': 'require-corp', 'cross-origin-opener-policy': 'same-origin' },
      }),
    }),
  },
  {
    name: 'sandboxed-frame',
    title: 'In a frame with sandbox="allow-scripts"',
    simulated: null,
    around: ({ url, port }) => aroundPage(port, url, 'sandbox="allow-scripts"'),
  },
  {
    name: 'nested-frame',
    title: 'In a frame of a page of another origin',
    simulated: null,
    around: ({ url, port }) => aroundPage(port, url, ''),
  },
  {
    name: 'webview',
    title: 'In the WebView of an app',
    simulated: 'The user agent, no windows, no storage and no service worker; the engine is that of the desktop.',
    context: {
      userAgent: webViewAgent,
      viewport: { width: 412, height: 823 },
      isMobile: true,
      hasTouch: true,
      serviceWorkers: 'block',
    },
    script: limitToWebView,
  },
  {
    name: 'tall-webview',
    title: 'In a WebView as tall as its page',
    simulated: 'A viewport of 390 x 6000 on a screen of 390 x 844; the engine is that of the desktop.',
    context: {
      userAgent: webViewAgent,
      viewport: { width: 390, height: 6_000 },
      screen: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
    },
  },
  {
    name: 'app-scheme',
    title: `From an app with its own scheme, ${shellOrigin}`,
    simulated: 'Served over http; the service sees the origin of the app, and its answers about it are enforced.',
    proxy: () => ({ shown_origin: shellOrigin }),
  },
  {
    name: 'ad-blocker',
    title: 'With an ad blocker',
    simulated: 'The engine of a real blocker at the proxy, instead of an extension.',
    proxy: ({ blocker, url }) => ({
      // The address of the page itself was typed by the user.
      findBlock: (request) => (request.url === url ? null : blocker.findBlock(request)),
    }),
    async repeat(page, { blocker, url }) {
      const { ids, classes } = await page.evaluate(lookAtHost, [])
      const { styles } = blocker.hideRules({ url, ids, classes })
      if (styles !== '') await page.evaluate(hideElements, styles)
    },
  },
  {
    name: 'extension',
    title: 'With an extension that stamps every div',
    simulated: 'The script of such an extension, run before those of the page.',
    script: stampAttributes,
    isExtension: true,
  },
  {
    name: 'dark',
    title: 'Dark mode, also where the page has none',
    simulated: null,
    context: { colorScheme: 'dark' },
    script: forceDark,
    async prepare(page, context) {
      const client = await context.newCDPSession(page)
      await client.send('Emulation.setAutoDarkModeOverride', { enabled: true })
    },
  },
  {
    name: 'translated',
    title: 'Translated by the browser',
    simulated: 'Every text is wrapped in <font> and the language changes; the words stay.',
    script: translate,
  },
  {
    name: 'offline',
    title: 'Offline for a minute, after the ad is painted',
    simulated: 'The browser is offline for four seconds; the clock of the sandbox makes a minute of them.',
    isOffline: true,
  },
  { name: 'reduced-motion', title: 'Reduced motion', simulated: null, context: { reducedMotion: 'reduce' } },
  {
    name: 'zoom',
    title: 'Zoomed to 200 %',
    simulated: 'Half the CSS pixels at twice the density, as zooming does.',
    context: { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
  },
  {
    name: 'narrow',
    title: '320 pixels wide',
    simulated: null,
    context: { viewport: { width: 320, height: 568 }, isMobile: true, hasTouch: true },
  },
]

/** The policy of a careful page: only scripts with the nonce, no strings as code or HTML, and the service where it is needed. */
function withPolicy({ html }: PassedDocument, { service }: Scene): PassedDocument {
  const nonce = /<script[^<>]*\snonce="([^"]+)"/.exec(html)?.[1] ?? randomBytes(12).toString('base64')
  const add = (tag: string) => (/\snonce=/.test(tag) ? tag : `${tag} nonce="${nonce}"`)
  const policy = [
    "default-src 'self'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: https:",
    "font-src 'self' data: https:",
    `connect-src 'self' ws: ${service}`,
    `frame-src 'self' ${service}`,
    "object-src 'none'",
    "base-uri 'self'",
    "require-trusted-types-for 'script'",
  ].join('; ')
  return {
    html: html.replaceAll(/<(?:script|style)\b(?:"[^"]*"|[^>"])*/g, add),
    headers: { 'content-security-policy': policy },
  }
}

/** A page of another origin with the page in a frame of a frame. */
function aroundPage(port: number, url: string, attributes: string): { url: string; html: string } {
  const escaped = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return {
    url: `http://localhost:${port}/around`,
    html: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Around</title><link rel="icon" href="data:,">
<body style="margin:0"><iframe ${attributes} src="${escaped}" style="border:0;width:100%;height:95vh"></iframe></body></html>`,
  }
}
