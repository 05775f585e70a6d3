/** What `svc observe` says of an ad in a page: what was seen of it, and what the service says of its bill. */
import { describe, expect, test } from 'vitest'
import type { BillingVerdict } from '#contract/resources/placements.ts'
import type { Mount } from '../facts/mounts.ts'
import type { Facts } from '../rule.ts'
import { pageRules } from './page.ts'

const mount: Partial<Mount> = { slot_id: 'slot_1', width: 300, height: 250, is_drawn: true, in_view_ms: 3_000 }
const visible = {
  hidden_by: null,
  covered_by: null,
  colors: 1,
  shared_id: null,
  label: 'Sponsored',
  seen_share: 1,
  sought_ms: 0,
}
const frame = { method: 'GET', path: '/v1/render/ast_1', status: 200, slot_id: 'slot_1', request_headers: {} }
const price = { metric: 'viewable_impression', gross_cpm: 2.1, currency: 'USD' } as const
const paid: BillingVerdict = { ...price, would_bill: true, explanation: 'One viewable impression counted.' }
const unpaid: BillingVerdict = { ...price, would_bill: false, explanation: 'No viewable impression: too small.' }

const buildFacts = (more: Partial<Mount>, bill?: BillingVerdict) =>
  ({
    page: { mounts: [{ ...mount, ...visible, ...more }] },
    observed: { exchanges: [frame], bills: new Map(bill ? [['slot_1', bill]] : []) },
  }) as unknown as Facts['page']

test.each([
  ['slot-blank', {}, 'The ad of slot_1, 300 × 250, is a single colour.'],
  ['slot-hidden', { width: 5 }, 'The ad of slot_1 is 5 × 250 pixels.'],
  ['label-hidden', { label: null }, 'Nothing visible next to the ad of slot_1 marks it as an ad.'],
] as const)('%s says what the service would bill, in the words of svc explain', (id, more, seen) => {
  const messages = [undefined, paid, unpaid].map(
    (bill) => pageRules[id].judge(buildFacts(more, bill)).findings.map(({ message }) => message)[0],
  )
  expect(messages).toEqual([
    seen,
    `${seen} The service would bill a viewable_impression, 2.1 USD CPM. One viewable impression counted.`,
    `${seen} The service would not bill a viewable_impression, 2.1 USD CPM. No viewable impression: too small.`,
  ])
  // What a rule says of every page must not contradict that.
  expect(pageRules[id].costs).not.toMatch(/paid|billed/)
})

test('slot-blank names what lies over the ad', () => {
  const [finding] = pageRules['slot-blank'].judge(buildFacts({ covered_by: 'div.notice' })).findings
  expect(finding).toMatchObject({
    message: 'The ad of slot_1, 300 × 250, is covered: div.notice lies over it, and shows a single colour.',
    fix: 'Show the ad where nothing lies over it, or once div.notice is gone.',
  })
  expect(pageRules['slot-blank'].judge(buildFacts({ covered_by: 'div.notice', colors: 9 })).findings).toEqual([])
})

describe('no ad in the page', () => {
  const request = { method: 'POST', path: '/v1/placements', status: 200, slot_id: 'slot_1' }
  const unfilled = { decision: { no_fill_reason: 'no_demand' } }
  const page = {
    mounts: [],
    files: 1,
    blocked: [],
    other_frames: [],
    renderer_errors: [],
    console_errors: [],
    waiting_turns: 0,
  }
  const judge = (fill: boolean | null, more: object = {}) =>
    pageRules['page-errors'].judge({
      page: { ...page, ...more },
      observed: {
        exchanges: fill === null ? [] : [{ ...request, response_body: unfilled }],
        placements: fill === null ? [] : [{ slot_id: 'slot_1', fill }],
        command_name: 'svc',
      },
    } as unknown as Facts['page'])
  const report = (type: string, code: string) => [{ type, code, detail: null }]

  test.each([
    ['an ad was there', { mounts: [mount], renderer_errors: report('error', 'request_failed') }],
    ['a user withdrew the consent', { renderer_errors: report('blocked', 'consent_not_granted') }],
    ['a decision came late', { renderer_errors: report('error', 'late_decision') }],
    ['the page ended the turn', { renderer_errors: report('cancelled', 'aborted') }],
  ])('is no error: %s', (_, more) => {
    expect(judge(true, more).findings.map(({ severity }) => severity)).toEqual([undefined])
  })

  test('nor where nothing was reported: a fill of a backend, which no page asked for', () => {
    expect(judge(true).findings).toEqual([])
  })

  test.each([
    ['a route that is not there', 'error', 'request_failed'],
    ['half a response', 'blocked', 'consent_missing'],
  ])("is an error after one that is the page's own: %s", (_, type, code) => {
    const { findings } = judge(true, { renderer_errors: report(type, code) })
    expect(findings).toEqual([expect.objectContaining({ severity: 'error', message: expect.stringContaining(code) })])
  })

  test('is noted where nothing was filled', () => {
    expect(judge(false).notes).toEqual(['1 placement requested, none filled (no_demand): the page had no ad to show.'])
    expect(judge(true).notes).toEqual([])
  })
})

describe('a frame from elsewhere', () => {
  const service = 'http://127.0.0.1:4010/v1/render/ast_1_redacted'
  const given = { method: 'POST', path: '/v1/placements', status: 200, slot_id: 'slot_1' }
  const asked = { ...given, response_body: { placement: { render: { frame_url: service } } } }
  const timeout = { type: 'error', code: 'render_timeout', detail: null, reported: { code: '', slot_id: 'slot_1' } }
  const judge = (urls: readonly string[], exchanges: readonly object[]) => {
    const other_frames = urls.map((url) => ({ slot_id: 'slot_1', url }))
    const page = { mounts: [], files: 1, blocked: [], renderer_errors: [timeout], console_errors: [], waiting_turns: 0 }
    const facts = { page: { ...page, other_frames }, observed: { exchanges, placements: [], command_name: 'svc' } }
    const of = (id: 'frame-blocked' | 'page-errors') => pageRules[id].judge(facts as unknown as Facts['page']).findings
    return { blocked: of('frame-blocked'), errors: of('page-errors') }
  }
  const moved = 'http://localhost:3000/ads/ast_1_redacted'

  test.each([
    ['a proxy loaded it', [moved], [asked, frame]],
    ['the service is known by another name', ['http://localhost:4010/v1/render/ast_1_redacted'], [asked]],
    ['the service did not give it out', [moved], [given]],
    ['it was loaded from the service alone', [], [asked, frame]],
  ])('is none where %s', (_, urls, exchanges) => {
    const { blocked, errors } = judge(urls, exchanges)
    expect(blocked).toEqual([])
    expect(errors).toHaveLength(1)
  })

  test('is one finding, an error, where it never reached the service', () => {
    const { blocked, errors } = judge([moved, moved], [asked])
    expect(blocked).toEqual([
      {
        message: `The frame of slot_1 was loaded from ${moved}, and never from the service, http://127.0.0.1:4010/v1/render/: its frame_url was changed.`,
        fix: 'Let your endpoint, and the page, pass frame_url on unchanged.',
      },
    ])
    expect(errors).toEqual([])
  })
})

test('render.js from elsewhere is a finding only where the service was never asked for it', () => {
  const url = 'http://127.0.0.1:4999/v1/render.js'
  const judge = (other_renderers: readonly string[], paths: readonly string[], response_body?: object) =>
    pageRules['renderer-elsewhere'].judge({
      page: { other_renderers },
      observed: { exchanges: paths.map((path) => ({ method: 'GET', path, slot_id: 'slot_1', response_body })) },
    } as unknown as Facts['page'])
  expect(judge([], ['/v1/render.js'])).toMatchObject({ sample_size: 1, findings: [] })
  // Through a proxy.
  expect(judge([url], ['/v1/render.js']).findings).toEqual([])
  expect(judge([], []).sample_size).toBe(0)
  expect(judge([url, url], ['/v1/placements']).findings).toHaveLength(1)
  const fill = { placement: { render: { frame_url: 'http://127.0.0.1:4010/v1/render/ast_1' } } }
  expect(judge([url], ['/v1/placements'], fill).findings).toMatchObject([
    {
      message:
        'The page loads render.js from http://127.0.0.1:4999, and its placements come from http://127.0.0.1:4010.',
    },
  ])
})
