/**
 * The document of the hosted frame: one creative, isolated. Pure: data in, headers and HTML out.
 *
 * Nothing in it comes from another origin, only the one script with the nonce runs, and every text of the creative is
 * escaped. The frame's script gets its settings as JSON; the renderer gets everything else over its port.
 */
import { formatFacts } from '#contract/facts/formats.ts'
import { listNeeds, type ViewabilityThresholds } from '#contract/viewability.ts'
import { escapeHtml } from '#foundation/html.ts'
import { isLoopback } from '#foundation/http.ts'
import type { FrameCreative } from '#operations/render.ts'
import { clipStyle, controlsHtml, nativeHtml, nativeStyle, videoHtml } from './creatives.ts'

export interface FramePageInput {
  /** Origin of the emulator: the only one that images and video may come from. */
  base_url: string
  /** Sources of `frame-ancestors`: the pages that may embed the frame. */
  frame_ancestors: readonly string[]
  /** Contents of frame.js. */
  script: string
  nonce: string
  beacon_token: string | null
  server_time_ms: number
  viewability: ViewabilityThresholds
  /** Visible on it: a test substitute, or an ad that was forced. */
  mark: 'TEST' | 'FORCED' | null
  creative: FrameCreative
  sponsor_name: string
  label_text: string
  /** Landing page: https, or http on this machine. Anything else is shown without a link. */
  click_url: string
}

interface FrameProblem {
  status: number
  reason_code: string
  message: string
}

interface FramePage<Status extends number> {
  status: Status
  headers: Record<string, string>
  html: string
}

export function framePage(input: FramePageInput): FramePage<200> {
  const { creative, nonce } = input
  const settings = {
    media_type: formatFacts[creative.format].media_type,
    width: creative.width,
    height: creative.height,
    view_needs: listNeeds(formatFacts[creative.format].plays, input.viewability),
    beacon_token: input.beacon_token,
    server_time_ms: input.server_time_ms,
  }
  const template = creative.format === 'native' ? ` data-template="${creative.template_id}"` : ''
  const label = `<b>${escapeHtml(input.label_text)}</b> <bdi lang="">${escapeHtml(input.sponsor_name)}</bdi>`
  const body = [
    `<p class="preview" hidden>${label}<br>Preview: opened outside a page, so nothing is counted.</p>`,
    `<noscript><p class="preview">${label}<br>Preview: JavaScript is off, so nothing is counted.</p></noscript>`,
    `<div class="creative ${creative.format}"${template}>${creativeHtml(input)}</div>`,
    settingsHtml(settings, nonce),
    `<script nonce="${nonce}">${escapeScript(input.script)}</script>`,
  ]
  return {
    status: 200,
    headers: headers(nonce, new URL(input.base_url).origin, input.frame_ancestors),
    html: documentHtml(`${input.label_text}: ${input.sponsor_name}`, frameStyle(creative), nonce, body),
  }
}

/**
 * Returns the page to show instead of a frame that may not be shown. It shows the reason, and sends it to the renderer.
 */
export function frameProblemPage(
  problem: FrameProblem,
  nonce: string,
  frame_ancestors: readonly string[] | null,
): FramePage<number> {
  const body = [
    `<main class="problem"><p>${escapeHtml(problem.message)}</p><code>${escapeHtml(problem.reason_code)}</code></main>`,
    settingsHtml({ code: problem.reason_code }, nonce),
    `<script nonce="${nonce}">${problemScript}</script>`,
  ]
  return {
    status: problem.status,
    headers: headers(nonce, "'none'", frame_ancestors),
    html: documentHtml('No ad', problemStyle, nonce, body),
  }
}

const problemScript = `document.body.hidden=parent!==window
addEventListener('message',function(e){
if(e.data&&e.data.t==='sp:init'&&e.ports[0])e.ports[0].postMessage({t:'error',code:JSON.parse(document.getElementById('settings').textContent).code})
})`

/**
 * Without a known project (null), any page may embed it: the renderer gets the reason, and nothing in it belongs to a
 * project. A source `*` would leave out the shells with a scheme of their own.
 */
function headers(nonce: string, media: string, frame_ancestors: readonly string[] | null): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    `img-src ${media}`,
    `media-src ${media}`,
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    ...(frame_ancestors === null ? [] : [`frame-ancestors ${frame_ancestors.join(' ') || "'none'"}`]),
    'sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox',
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cross-origin-embedder-policy': 'require-corp',
    'cross-origin-resource-policy': 'cross-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'permissions-policy': closedFeatures.map((feature) => `${feature}=()`).join(', '),
    'cache-control': 'no-store, private',
  }
}

/** Everything a browser can grant, except autoplay, which a muted clip needs. */
const closedFeatures =
  `accelerometer browsing-topics camera clipboard-read clipboard-write display-capture encrypted-media
  fullscreen gamepad geolocation gyroscope hid idle-detection local-fonts magnetometer microphone midi
  payment picture-in-picture publickey-credentials-get screen-wake-lock serial storage-access usb
  window-management xr-spatial-tracking`.split(/\s+/)

function creativeHtml({ creative, sponsor_name, click_url, mark }: FramePageInput): string {
  const test_badge = mark === null ? '' : `<bdi class="test">${mark}</bdi>`
  const size = `width="${creative.width}" height="${creative.height}"`
  switch (creative.format) {
    case 'banner': {
      const image = `<img class="image" src="${escapeHtml(creative.image_url)}" alt="${escapeHtml(sponsor_name)}" ${size}>`
      return surfaceHtml(click_url, '', image) + test_badge
    }
    case 'clip':
      return surfaceHtml(click_url, '', videoHtml(creative), `Visit ${sponsor_name}`) + test_badge + controlsHtml
    case 'native':
      return surfaceHtml(click_url, ofUnknownLanguage, nativeHtml(creative, sponsor_name, test_badge))
  }
}

/** The direction follows the title: the sponsor's name and the badge are in bdi elements, which do not affect it. */
const ofUnknownLanguage = ' lang="" dir="auto"'

/** The clickable surface: all of the creative, as a link where there is a landing page. */
function surfaceHtml(click_url: string, attributes: string, content: string, label = ''): string {
  const target = clickTarget(click_url)
  if (target === null) return `<div class="surface"${attributes}>${content}</div>`
  const labelled = label === '' ? '' : ` aria-label="${escapeHtml(label)}"`
  return `<a class="surface" href="${escapeHtml(target)}" target="_blank" rel="noopener noreferrer sponsored"${attributes}${labelled}>${content}</a>`
}

function clickTarget(click_url: string): string | null {
  if (!URL.canParse(click_url)) return null
  const { protocol, hostname, href } = new URL(click_url)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)) ? href : null
}

function settingsHtml(settings: object, nonce: string): string {
  const json = JSON.stringify(settings).replaceAll('<', '\\u003c')
  return `<script type="application/json" id="settings" nonce="${nonce}">${json}</script>`
}

function documentHtml(title: string, style: string, nonce: string, body: string[]): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="robots" content="noindex, nofollow">',
    `<title>${escapeHtml(title)}</title>`,
    `<style nonce="${nonce}">${style}</style>`,
    '</head>',
    '<body>',
    ...body,
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

/**
 * A script must not contain an end tag or open a comment. They occur in strings, where escaping them changes nothing.
 */
function escapeScript(script: string): string {
  return script.replace(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--')
}

/** Colours on a dark page. A page may be dark where the system is light: it says so when it initialises the frame. */
const dark =
  '--paper:#1c1c20;--ink:#f4f4f6;--soft:#abaab5;--line:#ffffff21;--edge:#ffffff42;--shade:#2b2b31;--shade-hover:#393940;--button:#f4f4f6;--button-hover:#d4d4da;--on-button:#17171a;--focus:#8ab4ff'

/** Styles that all documents of the frame share. */
const base = `
:root{color-scheme:light dark;--paper:#fff;--ink:#17171a;--soft:#5a5a63;--line:#0000001a;--edge:#00000038;--shade:#f3f3f5;--shade-hover:#e8e8eb;--button:#17171a;--button-hover:#35353b;--on-button:#fff;--focus:#2563eb}
@media (prefers-color-scheme:dark){:root:not([data-scheme=light]){${dark}}}
:root[data-scheme=dark]{color-scheme:dark;${dark}}
:root[data-scheme=light]{color-scheme:light}
@media (prefers-contrast:more){:root:root{--soft:var(--ink);--line:var(--ink);--edge:var(--ink)}}
*,*::before,*::after{box-sizing:border-box}
html,body{margin:0;background:transparent}
body{color:var(--ink);font:400 .875rem/1.45 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;-webkit-text-size-adjust:100%;text-size-adjust:100%}
[hidden]{display:none!important}
.surface{display:block;color:inherit;text-decoration:none}
.surface::after{content:'';position:absolute;z-index:1;inset:0;border-radius:inherit;pointer-events:none}
a.surface:focus-visible{outline:2px solid transparent;outline-offset:-2px}
a.surface:focus-visible::after{box-shadow:inset 0 0 0 3px var(--focus),inset 0 0 0 5px var(--paper)}
.test{padding:0 6px;border-radius:4px;background:#facc15;color:#17171a;font:700 10px/16px system-ui,sans-serif;letter-spacing:.08em}
.preview{margin:0;padding:12px 16px;border-bottom:1px solid var(--line);background:var(--shade);color:var(--soft);font-size:.8125rem;text-align:center}
.preview b{color:var(--ink)}
.waiting .creative{visibility:hidden}
.previewing .creative{margin:24px auto}
`

/** Banners and clips fill their frame, which has their aspect ratio. */
const media = `
.creative{position:relative;width:100vw;height:100vh;overflow:hidden}
.surface,.image,.video{display:block;width:100%;height:100%}
.image,.video{object-fit:contain}
.creative>.test{position:absolute;top:0;left:0;border:solid transparent;border-width:0 1px 1px 0;border-radius:0 0 6px;pointer-events:none}
`

function frameStyle(creative: FrameCreative): string {
  const width = `.previewing .creative{width:min(${creative.width}px,calc(100vw - 32px));`
  if (creative.format === 'native') {
    const height = `.previewing .surface{height:auto;min-height:${creative.height}px}.previewing .picture{min-height:140px}`
    return `${base}${nativeStyle(creative.template_id)}${width}}${height}`
  }
  const size = `${width}height:auto;aspect-ratio:${creative.width}/${creative.height}}`
  return creative.format === 'clip' ? `${base}${media}${clipStyle}${size}` : `${base}${media}${size}`
}

const problemStyle = `${base}
.problem{display:grid;gap:4px;place-content:safe center;height:100vh;overflow:auto;padding:8px 16px;border:1px solid var(--line);border-radius:12px;background:var(--paper);text-align:center}
.problem p{margin:0;text-wrap:balance}
.problem code{color:var(--soft);font-size:.75rem;overflow-wrap:anywhere}
@media (max-height:79px){
.problem{gap:0;padding:2px 12px;font-size:.75rem;line-height:1.3}
.problem code{display:none}
}
`
