import { describe, expect, test } from 'vitest'
import { viewability } from '#contract/viewability.ts'
import { type FramePageInput, framePage, frameProblemPage } from './page.ts'

const banner: FramePageInput = {
  base_url: 'http://127.0.0.1:4010',
  frame_ancestors: ['http://localhost:*', 'https://app.example.com'],
  script: 'console.log(1)',
  nonce: 'bm9uY2U',
  beacon_token: 'bt_1_secret',
  viewability,
  server_time_ms: 1_790_000_000_000,
  mark: null,
  creative: { format: 'banner', image_url: 'http://127.0.0.1:4010/a.png?x=1&y=2', width: 300, height: 250 },
  sponsor_name: 'Larkfield Coffee',
  label_text: 'Sponsored',
  click_url: 'https://larkfield.example/beans',
}
const native: FramePageInput = {
  ...banner,
  creative: {
    format: 'native',
    template_id: 'card',
    assets: { title: 'Beans', image_url: '/image', icon_url: '/icon', cta_text: 'Try' },
    width: 320,
    height: 400,
  },
}

describe('the frame page', () => {
  test('carries exactly the headers that isolate it', () => {
    const { status, headers } = framePage(banner)
    expect(status).toBe(200)
    expect(headers['permissions-policy']).toMatch(/^accelerometer=\(\), /)
    expect({ ...headers, 'permissions-policy': '' }).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'nonce-bm9uY2U'; style-src 'nonce-bm9uY2U'; img-src http://127.0.0.1:4010; media-src http://127.0.0.1:4010; connect-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors http://localhost:* https://app.example.com; sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox",
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'permissions-policy': '',
      'cache-control': 'no-store, private',
    })
  })

  test('escapes every text of the creative', () => {
    const evil = `"'><img src=x onerror=alert(1)></script><script>`
    const { html } = framePage({
      ...native,
      sponsor_name: evil,
      label_text: evil,
      beacon_token: evil,
      creative: {
        ...native.creative,
        assets: { title: evil, image_url: evil, icon_url: evil, cta_text: evil, description: evil },
      } as FramePageInput['creative'],
    })
    expect(html).not.toContain('<img src=x')
    expect(html.match(/<script/g)).toHaveLength(2)
    expect(html.match(/<\/script/g)).toHaveLength(2)
  })

  test('keeps an end tag inside its script from ending it', () => {
    const { html } = framePage({ ...banner, script: 'const a="</script><!--"' })
    expect(html).toContain('const a="<\\/script><\\!--"')
  })

  test.each(['javascript:alert(1)', 'http://evil.example/', 'data:text/html,x', '', '//evil.example'])(
    'shows a creative without a link for the click address %j',
    (click_url) => {
      expect(framePage({ ...banner, click_url }).html).not.toContain('<a ')
    },
  )

  test.each(['https://larkfield.example/beans', 'http://localhost:3000/', 'http://127.0.0.1:3000/'])(
    'links to %s',
    (click_url) => {
      const { html } = framePage({ ...banner, click_url })
      expect(html).toContain(`href="${click_url}" target="_blank" rel="noopener noreferrer sponsored"`)
    },
  )

  test('may be embedded by no page without an allowed origin', () => {
    const { headers } = framePage({ ...banner, frame_ancestors: [] })
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none';")
  })

  test('marks test substitutes', () => {
    expect(framePage(banner).html).not.toContain('>TEST<')
    expect(framePage({ ...banner, mark: 'TEST' }).html).toContain('>TEST<')
    expect(framePage({ ...native, mark: 'TEST' }).html).toContain('>TEST<')
  })

  test('declares neither language nor direction of a card, so both follow its title', () => {
    expect(framePage(native).html).toContain('sponsored" lang="" dir="auto">')
    expect(framePage({ ...native, click_url: '' }).html).toContain('<div class="surface" lang="" dir="auto">')
  })

  test('gives a clip a poster where there is one, and a link that says where it leads', () => {
    const clip = {
      format: 'clip',
      video_url: '/v',
      poster_url: '/p',
      width: 640,
      height: 360,
      duration_ms: 6_000,
    } as const
    const { html } = framePage({ ...banner, creative: clip })
    expect(html).toContain('poster="/p"')
    expect(html).toContain('aria-label="Visit Larkfield Coffee"')
    expect(framePage({ ...banner, creative: { ...clip, poster_url: null } }).html).not.toContain('poster')
  })

  test('leaves out a missing description and uses no style attribute', () => {
    const { html } = framePage(native)
    expect(html).not.toContain('class="description"')
    expect(html).not.toContain('style=')
  })
})

describe('the problem page', () => {
  test('is as isolated as the frame and may be embedded anywhere when the project is unknown', () => {
    const page = frameProblemPage(
      { status: 404, reason_code: 'asset_token_invalid', message: 'No such <ad>.' },
      'bm9uY2U',
      null,
    )
    expect(page.status).toBe(404)
    expect(page.headers['content-security-policy']).toContain("img-src 'none'; media-src 'none';")
    expect(page.headers['content-security-policy']).not.toContain('frame-ancestors')
    expect(page.html).toContain('No such &lt;ad&gt;.')
    expect(page.html).toContain('{"code":"asset_token_invalid"}')
  })

  test('stays within the project when it is known', () => {
    const page = frameProblemPage({ status: 403, reason_code: 'consent_expired', message: 'No.' }, 'bm9uY2U', [
      'https://app.example.com',
    ])
    expect(page.status).toBe(403)
    expect(page.headers['content-security-policy']).toContain('frame-ancestors https://app.example.com;')
  })
})
