/** The document of the demo host. Its script builds everything; its policy lets in nothing from elsewhere. */
import { randomBytes } from 'node:crypto'

/** What the page is told. The secret key is not among it. */
export interface DemoSettings {
  /** Proves to the backend that a write comes from this page. */
  token: string
  client_id: string
  publishable_key: string
  /** The last event before this page: its timeline begins after it. */
  since_seq: number
}

export interface DemoPage {
  headers: Record<string, string>
  html: string
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230b6e4f'/%3E%3Cpath d='M4 5h8v2.500H4zm0 4h5v2H4z' fill='%23fff'/%3E%3C/svg%3E"

export function demoPage(settings: DemoSettings): DemoPage {
  const nonce = randomBytes(16).toString('base64url')
  const json = JSON.stringify(settings).replaceAll('<', '\\u003c')
  return {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy(nonce),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    },
    html: [
      '<!doctype html>',
      '<html lang="en">',
      '<head>',
      '<meta charset="utf-8">',
      '<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">',
      '<meta name="color-scheme" content="light dark">',
      '<title>Demo host</title>',
      `<link rel="icon" href="${icon}">`,
      `<link rel="stylesheet" href="/_sandbox/demo/demo.css" nonce="${nonce}">`,
      `<script type="application/json" id="settings" nonce="${nonce}">${json}</script>`,
      `<script src="/v1/render.js" defer nonce="${nonce}"></script>`,
      `<script src="/_sandbox/demo/demo.js" type="module" nonce="${nonce}"></script>`,
      '</head>',
      '<body><noscript>The demo host needs JavaScript.</noscript></body>',
      '</html>',
      '',
    ].join('\n'),
  }
}

function policy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
