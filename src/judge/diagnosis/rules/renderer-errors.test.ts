/** What `svc observe` advises for an error of render.js: the cause that the page shows, and nothing that it does already. */
import { describe, expect, test } from 'vitest'
import type { ReportedError } from '#contract/words/renderer-errors.ts'
import type { RendererError } from '../facts/in-page.ts'
import type { PageSeen, RefusedCall } from '../facts/page.ts'
import { consoleFix, rendererErrors } from './renderer-errors.ts'

const page = (more: Partial<PageSeen> = {}): PageSeen => ({
  url: 'http://localhost:3000/chat',
  files: 1,
  keys: [],
  key_requests: [],
  mounts: [],
  blocked: [],
  other_renderers: [],
  other_frames: [],
  renderer_errors: [],
  is_idle: false,
  has_stub: false,
  waiting_turns: 0,
  refused_calls: [],
  console_errors: [],
  shift: 0,
  screenshot: null,
  slot_pictures: [],
  browser: 'chromium',
  has_early_end: false,
  is_driven: false,
  is_headed: false,
  around_ads: [],
  frame_loads: [],
  interventions: [],
  failed_step: null,
  ...more,
})
const error = (code: string, reported: Partial<ReportedError> = {}): RendererError => ({
  type: 'error',
  code,
  detail: null,
  reported: { code, ...reported },
})
const lost: RendererError = { type: 'beacon', code: 'render', detail: 'network_error' }
const judge = (renderer_errors: RendererError[], more: Partial<PageSeen> = {}) =>
  rendererErrors(page({ ...more, renderer_errors }), 'svc')
const fixes = (...given: Parameters<typeof judge>) => judge(...given).map(({ fix }) => fix)

describe('one cause has one finding', () => {
  const policy = { url: 'http://127.0.0.1:4010/v1/render/', why: 'frame-src of the page', is_enforced: true }

  test.each([
    [
      'a policy that its own rule names',
      [error('csp_blocked', { directive: 'frame-src' }), error('render_timeout'), lost],
      0,
      [policy],
    ],
    ['a policy that blocks the endpoint', [error('csp_blocked', { directive: 'connect-src' }), lost], 1, []],
    ['an activation that failed', [error('activation_failed', { status: 403 }), error('endpoint_missing')], 1, []],
    ['an opaque origin', [error('origin_opaque'), error('endpoint_missing')], 1, []],
    ['an old engine', [error('engine_unsupported', { got: ['fetch'] }), error('endpoint_missing')], 1, []],
    [
      'the same error of two turns',
      [error('target_not_found', { got: ['5'] }), error('target_not_found', { got: ['5'] })],
      1,
      [],
    ],
  ] as const)('%s', (_, errors, count, blocked) => {
    expect(judge([...errors], { blocked })).toHaveLength(count)
  })
})

describe('a policy that blocks the endpoint', () => {
  const blocked = (url: string, directive = 'connect-src http://127.0.0.1:4010') =>
    `Connecting to '${url}' violates the following Content Security Policy directive: "${directive}". The action has been blocked.`
  const fallback = `${blocked('https://api.example/ad', "default-src 'self'")} Note that 'connect-src' was not explicitly set, so 'default-src' is used as a fallback.`
  const judged = (...console_errors: string[]) =>
    judge([error('csp_blocked', { directive: 'connect-src' })], { console_errors })
  const unnamed = { message: expect.stringContaining('does not allow it: connect-src.') }
  const named = {
    message: 'https://api.example/ad was blocked: connect-src of the page.',
    fix: 'Add https://api.example to connect-src of the Content-Security-Policy of the page.',
  }

  test.each([
    ['the console is empty', judged(), unnamed],
    ['it names two', judged(blocked('https://api.example/ad'), blocked('https://stats.example/')), unnamed],
    ['it names a frame', judged(blocked('https://api.example/ad', "frame-src 'self'")), unnamed],
    ['it names one', judged(blocked('https://api.example/ad')), named],
    ['it names the fallback', judged(fallback), named],
  ])('is an error with its directive, and with its address where that is certain: %s', (_, findings, expected) => {
    expect(findings).toEqual([expect.objectContaining({ severity: 'error', ...expected })])
  })

  test('is advised of a request of the page itself too', () => {
    expect(consoleFix(blocked('https://api.example/ad'), page())).toBe(named.fix)
    expect(consoleFix(fallback, page())).toBe(named.fix)
  })
})

describe('an endpoint that refuses', () => {
  const refused = (more: Partial<RefusedCall>) =>
    fixes([error('request_failed', { status: 401 })], {
      refused_calls: [
        { method: 'POST', url: 'https://api.example.com/placement', status: 401, has_cookies: false, ...more },
      ],
    })[0]

  test('on another origin, without cookies, is to get credentials', () => {
    expect(refused({})).toContain("give the turn credentials: 'include'")
  })

  test('that got cookies, or is on the same origin, has another cause', () => {
    expect(refused({ has_cookies: true })).toBe('Look it up: svc docs request_failed')
    expect(refused({ url: 'http://localhost:3000/placement' })).toBe('Look it up: svc docs request_failed')
  })
})

test('a beacon to which something else responded', () => {
  expect(judge([{ ...lost, detail: 'response_not_from_service' }])[0]).toMatchObject({
    message: 'Something else than the service responded to the beacon render: response_not_from_service.',
    fix: expect.stringContaining('service worker'),
  })
})

describe('render.js that is late or blocked', () => {
  test('leaves turns in the stub, which is not what was blocked by a policy', () => {
    expect(judge([], { has_stub: true, waiting_turns: 2 })).toMatchObject([
      { message: 'render.js has not loaded: 2 turns wait for it in the stub of the page.' },
    ])
    const blocked = [{ url: 'http://127.0.0.1:4010/v1/render.js', why: 'script-src of the page', is_enforced: true }]
    expect(judge([], { has_stub: true, waiting_turns: 2, blocked })).toEqual([])
  })

  test.each([
    'SponsoredPlacement is not defined',
    "Can't find variable: SponsoredPlacement",
    "Cannot read properties of undefined (reading 'startTurn')",
    'window.SponsoredPlacement is undefined',
  ])('%s: the stub is advised, unless the page has it', (text) => {
    expect(consoleFix(text, page())).toContain('Put the stub before the code that uses it')
    expect(consoleFix(text, page({ has_stub: true }))).toBe('Move the stub before the code that uses it.')
  })

  test('a function that the stub does not have goes through its queue', () => {
    const text = 'SponsoredPlacement.startTurn is not a function'
    expect(consoleFix(text, page({ has_stub: true }))).toContain('SponsoredPlacement.queue.push')
  })
})

describe('an ad that left the page before it was seen', () => {
  const lostBy = (code: string, isSeen = false, more: Partial<PageSeen> = {}) =>
    rendererErrors(
      page({ ...more, renderer_errors: [{ type: 'cleared', code, detail: 'slot_1 after 0.3 s' }] }),
      'svc',
      isSeen,
    )

  test.each([
    ['another was seen', lostBy('target_removed', true)],
    ['steps used the page', lostBy('target_removed', false, { is_driven: true })],
    ['you used it', lostBy('target_removed', false, { is_headed: true })],
    ['the page was left', lostBy('pagehide')],
    ['the placement expired', lostBy('expired')],
  ])('is no error: %s', (_, [finding]) => {
    expect(finding?.severity).toBeUndefined()
  })

  test('is an error where the page lost all, with the words of the console', () => {
    expect(lostBy('target_removed')).toMatchObject([
      {
        severity: 'error',
        fix: expect.stringContaining('Start the turn again on the new element, with the same turnId'),
      },
    ])
  })
})
