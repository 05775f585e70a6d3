/** The rules about requests, once when nothing is wrong and once for each thing that can be wrong. */
import { describe, expect, test } from 'vitest'
import { type Endpoint, listFailures } from '#contract/endpoint.ts'
import { errorCodes, reasonCodes } from '#contract/errors.ts'
import { v1 } from '#contract/index.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import { stubLines } from '#foundation/page-snippet.ts'
import { tableNames } from '#foundation/table-entry.ts'
import type { JournaledExchange } from '../exchange.ts'
import { hasStub, unguardedUses } from '../facts/renderer-use.ts'
import { type ServedFiles, secretKeysIn } from '../facts/served-files.ts'
import type { Judgement, Observed, RuleText } from '../rule.ts'
import { fieldMeant } from './beacons/fields.ts'
import { type JournalRuleId, journalRules } from './index.ts'
import { difference } from './origins.ts'
import { servedRules } from './page.ts'

const noon = 1_769_860_800_000
let exchanges = 0

function exchange(
  route: string,
  { detail = {}, ...given }: Partial<JournaledExchange> & { detail?: Partial<JournaledExchange> } = {},
): JournaledExchange {
  const [method = '', path = ''] = route.split(' ')
  return {
    request_id: `req_${++exchanges}`,
    at_ms: noon - 60_000,
    method,
    path,
    status: 200,
    reason_code: null,
    duration_ms: 1,
    key: null,
    key_id: null,
    client_id: 'proj_demo',
    session_id: null,
    slot_id: null,
    request_headers: {},
    response_headers: {},
    request_body: null,
    response_body: null,
    ...given,
    ...detail,
  }
}

/** The rules about one subject. */
const subjects = {
  keys: ['credential-refused', 'secret-key-in-browser', 'test-outcome-live', 'live-key'],
  origins: ['origin-refused', 'token-mixed'],
  config: ['wrong-project', 'config-not-found', 'config-stale'],
  fields: ['unknown-fields', 'request-refused', 'token-mixed', 'beacon-clock', 'content-type', 'old-names'],
  retries: ['retry-after-ignored', 'retried-in-vain', 'retry-without-backoff'],
  polling: ['pending-given-up', 'polled-once', 'busy-polling', 'polled-after-ready'],
  views: ['view-not-counted', 'shown-twice', 'frame-without-room', 'ads-never-seen'],
} as const satisfies Record<string, readonly JournalRuleId[]>

/** Returns what the rules about a subject, or one rule, find in a journal; without a finding, whether they hold. */
function find(about: keyof typeof subjects | JournalRuleId, seen: Observed) {
  const ids: readonly JournalRuleId[] =
    about in subjects ? subjects[about as keyof typeof subjects] : [about as JournalRuleId]
  const judged = ids.map((id) => ({ rule: journalRules[id], judgement: journalRules[id].judge(seen) }))
  const found = judged.flatMap(({ rule, judgement }) => listFindings(rule, judgement))
  if (found.length > 0) return found
  const isSeen = judged.some(({ judgement }) => judgement.sample_size > 0)
  return [{ level: isSeen ? 'holds' : 'not_seen', message: '', fix: '' }]
}

function listFindings({ severity, fix }: RuleText, { findings }: Judgement) {
  return findings.map((finding) => ({
    level: finding.severity ?? severity,
    message: finding.message,
    fix: finding.fix ?? fix,
  }))
}

function journal(list: readonly JournaledExchange[], more: Partial<Observed> = {}): Observed {
  return {
    exchanges: list,
    callbacks: [],
    placements: [],
    beacons: [],
    own_requests: 0,
    projects: [{ client_id: 'proj_demo', allowed_origins: ['http://localhost:*'], config_revision: 3 }],
    now_ms: noon,
    client_id: 'proj_demo',
    command_name: 'svc',
    is_ended: false,
    is_whole: false,
    ...more,
  }
}

const beacon = (slot_id: string, event: BeaconItem['event']): BeaconItem => ({
  beacon_id: 'beacon_1',
  slot_id,
  client_id: 'proj_demo',
  session_id: 's1',
  format: 'banner',
  event,
  verdict: 'accepted',
  reason_code: 'OK',
  would_bill: false,
  metric: null,
  occurred_at_ms: noon,
  received_at_ms: noon,
  metadata: null,
})

const frame = (slot_id: string, more: Partial<JournaledExchange> = {}) =>
  exchange('GET /v1/render/ast_1', { slot_id, ...more, detail: {} })

test('without a request no rule holds', () => {
  for (const id of tableNames(journalRules))
    expect([id, find(id, journal([]))]).toMatchObject([id, [{ level: 'not_seen' }]])
})

describe('key type', () => {
  test.each([
    'key_class',
    'secret_key_in_browser',
    'publishable_key_malformed',
    'token_in_wrong_place',
    'test_outcome_requires_test_key',
    'key_unknown',
    'key_revoked',
    'credential_missing',
  ] as const)('%s', (reason_code) => {
    const refused = exchange('POST /v1/placements', { status: 403, reason_code })
    expect(find('keys', journal([refused, refused]))).toMatchObject([
      {
        level: 'error',
        message: `POST /v1/placements was refused 2 times with 403 ${reason_code}.`,
        fix: expect.stringMatching(/\S/),
      },
    ])
  })

  test('a secret key from a page of a project that accepts it', () => {
    const detail = { response_headers: { 'x-sandbox-warning': 'secret_key_in_browser' } }
    expect(find('keys', journal([exchange('POST /v1/placements', { detail })]))).toMatchObject([{ level: 'error' }])
  })
})

describe('personal data', () => {
  const email = 'ann@example.org'
  const sent = (request_body: unknown, detail: Partial<JournaledExchange> = {}) =>
    exchange('POST /v1/placements', { detail: { request_body, ...detail } })

  test('each field is named with what it seems to contain and how often, never with its value', () => {
    const requests = [
      sent({ session_id: email }),
      sent({ session_id: email, prompt: { topic: 'pay DE71 2730 0837 1247 1406 44' } }),
      exchange('POST /v1/beacons', { detail: { request_body: { metadata: { [email]: { phone: '5551234567' } } } } }),
      sent({ session_id: 's1', prompt: { topic: 'ISBN 978-3-16-148410-0' } }),
    ]
    const found = find('personal-data-sent', journal(requests))
    expect(found.map(({ level, message }) => [level, message])).toEqual([
      ['warning', 'session_id of POST /v1/placements seems to contain an e-mail address (2 times).'],
      ['warning', 'prompt.topic of POST /v1/placements seems to contain an IBAN (once).'],
      ['warning', 'metadata.[name] of POST /v1/beacons seems to contain an e-mail address (once).'],
      ['warning', 'metadata.[name].phone of POST /v1/beacons seems to contain a telephone number (once).'],
    ])
    expect(JSON.stringify(found)).not.toMatch(/ann@|DE71|555/)
  })

  test('of a refused request the response says which field it was', () => {
    const fields = [{ path: 'prompt.topic', message: 'seems to contain a key', expected: 'no personal data' }]
    const body = { prompt: { topic: '[removed: 30 characters]' } }
    const reason_code = 'personal_data_in_field'
    const refused = sent(body, { status: 400, reason_code, response_body: { reason_code, fields } })
    expect(find('personal-data-sent', journal([refused]))).toMatchObject([
      { level: 'error', message: 'prompt.topic of POST /v1/placements seems to contain a key, refused (once).' },
    ])
  })

  test('without a body there is nothing to check', () => {
    expect(find('personal-data-sent', journal([exchange('GET /v1/decisions/slot_1')]))).toMatchObject([
      { level: 'not_seen' },
    ])
    expect(find('personal-data-sent', journal([sent({ session_id: 's1' })]))).toMatchObject([{ level: 'holds' }])
  })
})

describe('allowed origins', () => {
  const refused = (origin: string) =>
    exchange('POST /v1/browser/activate', {
      status: 403,
      reason_code: 'origin_not_allowed',
      client_id: null,
      detail: { request_headers: { origin } },
    })

  test('a refused origin comes with the command that allows it', () => {
    expect(find('origins', journal([refused('https://shop.example')]))).toEqual([
      {
        level: 'error',
        message:
          'https://shop.example was refused once (POST /v1/browser/activate): proj_demo allows http://localhost:*.',
        fix: 'svc sandbox projects update proj_demo --set "allowed_origins=http://localhost:*,https://shop.example"',
      },
    ])
  })

  test('null can never be allowed', () => {
    expect(find('origins', journal([refused('null')]))).toEqual([
      {
        level: 'error',
        message:
          'A page without its own origin (null) was refused once (POST /v1/browser/activate): no project can allow it.',
        fix: 'Serve the page from http://localhost, not as a file; a sandboxed iframe around it needs allow-same-origin.',
      },
    ])
  })

  test('the difference from an allowed one is named', () => {
    expect(find('origins', journal([refused('https://localhost:3000')]))[0]?.message).toContain(
      'http://localhost:* is allowed, the scheme differs',
    )
    expect(difference('http://localhost:3000', 'http://127.0.0.1:3000')).toBe(
      'http://127.0.0.1:3000 is allowed, the host differs',
    )
    expect(difference('https://shop.example:8443', 'https://shop.example')).toBe(
      'https://shop.example is allowed, the port differs',
    )
    expect(difference('https://shop.example', 'https://news.example')).toBeNull()
    expect(difference('null', 'https://news.example')).toBeNull()
  })

  test.each(['origin_mismatch', 'origin_missing'] as const)('%s', (reason_code) => {
    const seen = journal([exchange('POST /v1/jobs', { status: 403, reason_code })])
    expect(find('origins', seen)).toMatchObject([{ level: 'error' }])
  })
})

describe('stored project config', () => {
  const read = (detail: Partial<JournaledExchange>, status = 200) =>
    exchange('GET /v1/projects/proj_demo/config', { status, detail })

  test("a project that does not exist, or is not the key's", () => {
    const asked = (client_id: string) => exchange(`GET /v1/projects/${client_id}/config`, { status: 404 })
    expect(find('config', journal([asked('proj_old')]))).toEqual([
      {
        level: 'error',
        message: 'The config of proj_old was requested, but there is no such project here.',
        fix: 'Set client_id to the project of the key. Projects here: proj_demo.',
      },
    ])
    expect(find('config', journal([asked('proj_demo')]))).toMatchObject([
      { level: 'error', message: 'The config of proj_demo was requested with a key of another project.' },
    ])
    const mismatch = exchange('POST /v1/placements', { status: 403, reason_code: 'project_mismatch' })
    expect(find('config', journal([mismatch]))).toMatchObject([{ level: 'error' }])
  })

  test('is older than the current one, by its body or by its ETag', () => {
    const old = [
      read({ response_body: { config_revision: 2 } }),
      read({ response_headers: { etag: 'W/"2-test-1.0.0"' } }, 304),
    ]
    for (const last of old) {
      expect(find('config', journal([last]))).toMatchObject([
        { level: 'warning', message: 'The config of proj_demo was last read at revision 2; it is now at 3.' },
      ])
    }
    const again = read({ response_body: { config_revision: 3 } })
    expect(find('config', journal([...old, again]))).toMatchObject([{ level: 'holds' }])
  })
})

test('a mistyped path comes with the endpoint that was probably meant', () => {
  const stray = exchange('POST /v1/beacon', { status: 404, reason_code: 'not_found' })
  expect(find('path-unknown', journal([stray]))).toEqual([
    { level: 'error', message: 'There is no POST /v1/beacon: 404, once.', fix: 'Send it to POST /v1/beacons.' },
  ])
  const unknownSlot = exchange('GET /v1/decisions/slot_1', { status: 404, reason_code: 'not_found' })
  expect(find('path-unknown', journal([unknownSlot]))).toMatchObject([{ level: 'holds' }])
})

test('every part of a request that the API refuses is found', () => {
  // A fault rule is intended, and a limit is judged by how the client reacts.
  const ofService = ['rate_limited', 'injected_fault', 'ticket_invalid']
  // The config of an unknown project has its own check; a slot may simply be gone.
  const gone = ['not_found']
  const overlooked = Object.values<Endpoint>(v1).flatMap((endpoint) => {
    const route = `${endpoint.method} ${endpoint.path.replaceAll(/\{\w+\}/g, 'x')}`
    const causes = listFailures(endpoint).filter((reason_code) => ![...ofService, ...gone].includes(reason_code))
    return causes
      .filter((reason_code) => {
        const status = errorCodes[reasonCodes[reason_code].error].status
        const refused = exchange(route, { status, reason_code, request_headers: { origin: 'https://shop.example' } })
        const seen = journal([refused])
        return Object.values(journalRules).every((rule) => rule.judge(seen).findings.length === 0)
      })
      .map((reason_code) => `${route}: ${reason_code}`)
  })
  expect(overlooked).toEqual([])
})

describe('beacon field names', () => {
  const refused = (path: string, message: string, expected = 'a field of the contract') =>
    exchange('POST /v1/beacons', {
      status: 400,
      reason_code: 'field_unknown',
      detail: { response_body: { fields: [{ path, message, expected }] } },
    })

  test('a wrong name comes with the right one', () => {
    const seen = journal([refused('assetToken', 'is unknown'), refused('assetToken', 'is unknown')])
    expect(find('fields', seen)).toEqual([
      {
        level: 'error',
        message: 'A beacon has assetToken, which the contract does not define (2 times).',
        fix: 'Its name is asset_token.',
      },
    ])
    expect(fieldMeant('beaconId')).toBe('beacon_id')
    expect(fieldMeant('timestamp')).toBe('occurred_at_ms')
    expect(fieldMeant('eventType')).toBe('event')
    expect(fieldMeant('visibleRatio')).toBe('measurements.visible_ratio')
    expect(fieldMeant('colour')).toBeNull()
  })

  test('a name that resembles none, and a known one with a wrong value', () => {
    expect(find('fields', journal([refused('colour', 'is unknown')]))).toMatchObject([
      { level: 'error', fix: expect.stringContaining('put it into metadata') },
    ])
    expect(find('fields', journal([refused('beacon_id', 'is missing', 'text')]))).toMatchObject([
      { level: 'error', message: "A beacon's beacon_id is missing (once).", fix: 'Send beacon_id: it must be text.' },
    ])
    expect(find('fields', journal([refused('event', 'is missing', 'one of render, visible')]))).toMatchObject([
      {
        level: 'error',
        message: "A beacon's event is missing (once).",
        fix: 'Send one of render, visible, click, completion, heartbeat, play_started, play_completed.',
      },
    ])
  })

  test.each([
    'occurred_at_in_seconds',
    'beacon_stale',
    'beacon_in_future',
    'beacon_before_decision',
    'occurred_at_conflict',
    'batch_not_supported',
    'content_type_unsupported',
  ] as const)('%s', (reason_code) => {
    const seen = journal([exchange('POST /v1/beacons', { status: 400, reason_code })])
    expect(find('fields', seen)).toMatchObject([{ level: 'error' }])
  })

  test('an old spelling of an event is accepted, and reported', () => {
    const seen = journal([exchange('POST /v1/beacons', { detail: { request_body: { event: 'clicked' } } })])
    expect(find('fields', seen)).toEqual([
      { level: 'warning', message: 'The event clicked is an old spelling, accepted once.', fix: 'Send click.' },
    ])
  })
})

describe('error envelopes', () => {
  const failed = (status: number, at_ms: number, more: Partial<JournaledExchange> = {}) =>
    exchange('POST /v1/placements', {
      status,
      at_ms,
      reason_code: status === 429 ? 'rate_limited' : 'schema_invalid',
      detail: { request_body: { session_id: 's1' }, ...more },
    })
  const limited = (at_ms: number) => failed(429, at_ms, { response_headers: { 'retry-after': '2' } })

  test('a request is repeated before Retry-After has passed', () => {
    expect(find('retries', journal([limited(noon), limited(noon + 500)]))).toMatchObject([
      {
        level: 'error',
        message: expect.stringContaining('was repeated once before the 2 s of Retry-After had passed (429)'),
      },
    ])
    expect(find('retries', journal([limited(noon), limited(noon + 2_000)]))).toMatchObject([{ level: 'holds' }])
  })

  test('a request that cannot succeed is repeated unchanged', () => {
    expect(find('retries', journal([failed(400, noon), failed(400, noon + 500)]))).toMatchObject([
      {
        level: 'warning',
        message: expect.stringContaining('was repeated unchanged once after 400 schema_invalid'),
      },
    ])
    const corrected = failed(200, noon + 500, { request_body: { session_id: 's2' } })
    expect(find('retries', journal([failed(400, noon), corrected]))).toMatchObject([{ level: 'holds' }])
  })
})

describe('polling', () => {
  const pending = exchange('POST /v1/placements', {
    detail: { response_body: { slot_id: 'slot_1', status: 'pending' } },
  })
  const job = exchange('POST /v1/jobs', { status: 201, detail: { response_body: { slot_ids: ['slot_2', 'slot_3'] } } })

  test('a pending slot is never polled', () => {
    const seen = journal([pending, job, exchange('GET /v1/decisions/slot_2?wait_ms=10')])
    expect(find('polling', seen)).toMatchObject([
      { level: 'warning', message: 'A pending slot was never polled, 2 times: slot_1, slot_3.' },
    ])
  })

  test('each is polled, or it is too early to judge', () => {
    expect(find('polling', journal([pending, exchange('GET /v1/decisions/slot_1')]))).toMatchObject([
      { level: 'holds' },
    ])
    expect(find('polling', journal([{ ...pending, at_ms: noon - 10 }]))).toMatchObject([{ level: 'holds' }])
  })
})

test('a request that is repeated right after a no-fill', () => {
  const asked = (at_ms: number, session_id = 's1') =>
    exchange('POST /v1/placements', {
      at_ms,
      session_id,
      detail: { response_body: { decision: { fill: false, no_fill_reason: 'no_demand' } } },
    })
  expect(find('no-fill-retried', journal([asked(noon), asked(noon + 10)]))).toMatchObject([
    {
      level: 'warning',
      message: expect.stringContaining('The same request followed a no-fill (no_demand) within a second, once.'),
    },
  ])
  expect(find('no-fill-retried', journal([asked(noon), asked(noon + 5_000)]))).toMatchObject([{ level: 'holds' }])
  expect(find('no-fill-retried', journal([asked(noon), asked(noon + 10, 's2')]))).toMatchObject([{ level: 'holds' }])
})

describe('frames', () => {
  test('a frame is refused', () => {
    const refused = frame('slot_1', { status: 404 })
    expect(find('expired-ad', journal([refused]))).toMatchObject([
      { level: 'error', message: `A frame was refused once, last with 404 (${refused.request_id}).` },
    ])
  })

  test('a beacon that was refused unread may be that of a loaded frame', () => {
    const seen = [
      frame('slot_1'),
      exchange('POST /v1/beacons', { status: 415, reason_code: 'content_type_unsupported' }),
    ]
    expect(find('beacon-missing', journal(seen))[0]?.level).toBe('holds')
  })

  test('a loaded frame sends no render, and a program that reads one shows it to nobody', () => {
    const frames = [frame('slot_1'), frame('slot_2'), frame('slot_3', { at_ms: noon - 10 })]
    expect(find('beacon-missing', journal(frames, { beacons: [beacon('slot_2', 'visible')] }))).toMatchObject([
      { level: 'error', message: 'A frame sent beacons but no render, once: slot_2.' },
    ])
    const preview = frame('slot_1', { request_headers: { 'sec-fetch-dest': 'document' } })
    expect(find('beacon-missing', journal([preview]))).toMatchObject([{ level: 'not_seen' }])
  })

  test('a request that failed inside the sandbox, unless a fault rule made it fail', () => {
    const failed = (response_headers: Record<string, string>) =>
      exchange('POST /v1/placements', { status: 500, reason_code: 'internal_error', response_headers })
    expect(find('service-failed', journal([failed({})]))).toMatchObject([{ level: 'error' }])
    expect(find('service-failed', journal([failed({ 'x-sandbox-fault': 'fault_1' })]))).toMatchObject([
      { level: 'not_seen' },
    ])
  })

  test.each([
    ['image', [], 'A frame was loaded as an image and no beacon arrived', 'not a picture'],
    ['empty', [], 'A frame was loaded by a script of the page and no beacon arrived', 'Its HTML does nothing'],
    [
      'iframe',
      [],
      'A frame was loaded in a page that loaded no render.js and no beacon arrived',
      'An iframe alone sends',
    ],
    ['iframe', ['script'], 'A frame was loaded and no beacon arrived', 'connect-src of its CSP'],
  ])('how a silent frame was loaded is named: %s %j', (destination, others, message, fix) => {
    const loaded = frame('slot_1', { request_headers: { 'sec-fetch-dest': destination } })
    const scripts = others.map((each) => exchange('GET /v1/render.js', { request_headers: { 'sec-fetch-dest': each } }))
    expect(find('beacon-missing', journal([...scripts, loaded]))).toMatchObject([
      { level: 'error', message: `${message}, once: slot_1.`, fix: expect.stringContaining(fix) },
    ])
  })

  test('a view that was accepted but does not count', () => {
    const visible = (slot_id: string, reason_code: BeaconItem['reason_code']) => ({
      ...beacon(slot_id, 'visible'),
      reason_code,
    })
    const beacons = [
      visible('slot_1', 'VISIBILITY_UNMEASURED'),
      visible('slot_2', 'BELOW_THRESHOLD'),
      visible('slot_2', 'OK'),
      visible('slot_3', 'VISIBILITY_UNMEASURED'),
    ]
    expect(find('views', journal([], { beacons }))).toEqual([
      {
        level: 'warning',
        message:
          'visible of slot_1, slot_3 was accepted but does not count, VISIBILITY_UNMEASURED: the visible beacon has no measurements.visible_ratio or visible_ms, or its visibility_check is none.',
        fix: 'Send measurements.visible_ratio and measurements.visible_ms with visible. With visibility_check none, this browser cannot tell whether something covers the ad.',
      },
    ])
    expect(find('views', journal([], { beacons: beacons.slice(1, 3) }))).toMatchObject([{ level: 'holds' }])
  })

  test('an ad was mounted twice', () => {
    const rendered = (slot_id: string, render_instance_id: string) =>
      exchange('POST /v1/beacons', { slot_id, detail: { request_body: { event: 'render', render_instance_id } } })
    const mounted = (slot_id: string) => ['ri_1', 'ri_2'].flatMap((id) => [frame(slot_id), rendered(slot_id, id)])
    const views = (...sent: JournaledExchange[]) => find('views', journal(sent))
    expect(views(frame('slot_1'), rendered('slot_1', 'ri_1'))).toMatchObject([{ level: 'holds' }])
    expect(views(...mounted('slot_1'))).toMatchObject([
      {
        level: 'error',
        message: 'The frame of slot_1 was loaded 2 times, and reported as rendered by 2 mounts.',
        fix: expect.stringContaining('turnId'),
      },
    ])
    const many = ['slot_1', 'slot_2', 'slot_3', 'slot_4'].flatMap(mounted)
    expect(views(...many)).toMatchObject([
      {
        message:
          'The frames of slot_1, slot_2, slot_3 and 1 more were each loaded 2 times, and reported as rendered by 2 mounts.',
      },
    ])
  })

  test('a rendered ad is shown too small to count, by its declared size', () => {
    const answer = (width: number, height: number) =>
      exchange('POST /v1/placements', { slot_id: 'slot_1', response_body: { placement: { width, height } } })
    const measured = (event: string, width_px: number, height_px: number) =>
      exchange('POST /v1/beacons', {
        slot_id: 'slot_1',
        detail: { request_body: { event, measurements: { width_px, height_px } } },
      })
    const room = (...sent: JournaledExchange[]) => find('frame-without-room', journal(sent))
    expect(room(answer(320, 50), measured('render', 160, 25))).toMatchObject([{ level: 'holds' }])
    expect(room(answer(300, 250), measured('render', 60, 50))).toMatchObject([{ level: 'holds' }])
    expect(room(answer(300, 250), measured('render', 40, 33), measured('heartbeat', 300, 250))).toMatchObject([
      { level: 'holds' },
    ])
    // Its declared size is not known; a view of it has the rule of views that do not count.
    expect(room(measured('render', 40, 33))).toMatchObject([{ level: 'holds' }])
    expect(room(answer(300, 250), measured('visible', 40, 33))).toMatchObject([{ level: 'holds' }])
    expect(room(answer(300, 250), measured('render', 40, 33))).toMatchObject([
      {
        level: 'error',
        message:
          'A rendered ad was 40 × 33 pixels when it was last measured, too small to count as seen, once: slot_1.',
        fix: expect.stringContaining('at least 50 px'),
      },
    ])
  })

  describe('beacons from before the frame was loaded', () => {
    const asked = exchange('POST /v1/placements', { slot_id: 'slot_1' })
    let at_ms = noon - 60_000
    const next = (each: JournaledExchange) => ({ ...each, at_ms: ++at_ms })
    const sent = (event: string, more: Partial<JournaledExchange> = {}) =>
      exchange('POST /v1/beacons', {
        ...{ slot_id: 'slot_1', key: 'sk_test', ...more },
        detail: { request_body: { event, beacon_id: event } },
      })
    const loaded = (headers: Record<string, string> = {}) =>
      frame('slot_1', {
        request_headers: { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site', ...headers },
      })
    const judge = (...list: JournaledExchange[]) => find('beacon-before-render', journal(list.map(next)))

    test.each([
      ['of the frame', [asked, loaded(), sent('render'), sent('visible')]],
      ['of a mount again, the first of which is older than the watch', [sent('render'), loaded()]],
      ['of a client that draws by itself', [asked, sent('render'), sent('visible')]],
      [
        'of such a client, whose frame a developer opens',
        [asked, sent('render'), loaded({ 'sec-fetch-dest': 'document' })],
      ],
      [
        'of such a client, whose frame the inspector shows',
        [asked, sent('render'), loaded({ 'sec-fetch-site': 'same-origin' })],
      ],
      ['of a program that reads the frame first', [asked, frame('slot_1'), sent('render'), loaded()]],
      ['with the token that a frame hands out', [asked, sent('render', { key: 'bt' }), loaded()]],
    ])('are none: %s', (_, list) => {
      expect(judge(...list)).toMatchObject([{ level: 'holds' }])
    })

    test('are those of the backend, and of no mount', () => {
      const list = [asked, sent('render'), sent('visible'), loaded(), sent('render', { key: 'bt' })].map(next)
      expect(find('beacon-before-render', journal(list))).toMatchObject([
        {
          level: 'error',
          message:
            'render and visible of slot_1 came before the frame had been loaded: reported by the backend, not by the frame.',
          fix: expect.stringContaining('Leave beacons to the frame'),
        },
      ])
      const beacons = [{ ...beacon('slot_1', 'visible'), beacon_id: 'visible', reason_code: 'MEASUREMENT_IMPLAUSIBLE' }]
      for (const id of [
        'shown-twice',
        'counted-twice',
        'ads-never-seen',
        'view-not-counted',
        'beacon-missing',
      ] as const)
        expect([id, find(id, journal(list, { beacons: beacons as BeaconItem[] }))]).not.toMatchObject([
          id,
          [{ level: 'error' }],
        ])
      expect(find('view-not-counted', journal(list, { beacons: beacons as BeaconItem[] }))).toMatchObject([
        { level: 'not_seen' },
      ])
    })
  })

  test('a rendered ad has no pixels, unless it was collapsed after it was seen', () => {
    const measured = (event: string, width_px: number) =>
      exchange('POST /v1/beacons', {
        slot_id: 'slot_1',
        detail: { request_body: { event, measurements: { width_px, height_px: 50 } } },
      })
    const views = (...sent: JournaledExchange[]) => find('views', journal(sent))
    expect(views(measured('render', 0))).toMatchObject([
      { level: 'error', message: 'A rendered ad had no pixels when it was last measured, once: slot_1.' },
    ])
    expect(views(measured('render', 0), measured('visible', 0))).toMatchObject([{ level: 'error' }])
    expect(views(measured('render', 320), measured('heartbeat', 0))).toMatchObject([{ level: 'error' }])
    expect(views(measured('render', 0), measured('heartbeat', 320))).toMatchObject([{ level: 'holds' }])
    expect(views(measured('visible', 320), measured('heartbeat', 0))).toMatchObject([{ level: 'holds' }])
  })

  describe('no ad was seen, and the last measurement says why', () => {
    const measured = (event: string, visible_ratio: number, more: object = {}, slot_id = 'slot_1') =>
      exchange('POST /v1/beacons', {
        slot_id,
        detail: {
          request_body: {
            event,
            measurements: { visible_ratio, visible_ms: 0, width_px: 300, height_px: 250, page_visible: true, ...more },
          },
        },
      })
    const views = (...sent: JournaledExchange[]) => find('views', journal(sent))

    test.each([
      ['in the background', [measured('render', 1, { page_visible: false })], 'Bring the page to the front'],
      ['Less than half', [measured('render', 0)], 'below the fold'],
      ['Less than half', [measured('render', 1), measured('heartbeat', 0.2)], 'cuts it off'],
      ['for seconds, and hidden', [measured('render', 1), measured('heartbeat', 1)], 'opacity: 0'],
      ['gone or hidden before it could count', [measured('render', 1)], 'Keep it in the page'],
      [
        'gone or hidden before it could count',
        [measured('render', 1), measured('play_started', 1)],
        'or two for a clip',
      ],
    ])('%s', (what, sent, fix) => {
      expect(views(...sent)).toMatchObject([
        { level: 'warning', message: expect.stringContaining(what), fix: expect.stringContaining(fix) },
      ])
    })

    test('one that was seen is enough, and a young one is not judged', () => {
      expect(views(measured('render', 0), measured('visible', 1, {}, 'slot_2'))).toMatchObject([{ level: 'holds' }])
      const now_ms = noon - 50_000
      expect(find('ads-never-seen', journal([measured('render', 1)], { now_ms }))).toMatchObject([
        { level: 'not_seen' },
      ])
    })

    test('the number is that of all rendered ads, also of those of which the cause is not known', () => {
      const old = [measured('render', 0), measured('render', 0, {}, 'slot_2')]
      const young = { ...measured('render', 0, {}, 'slot_3'), at_ms: noon - 1_000 }
      const { findings } = journalRules['ads-never-seen'].judge(journal([...old, young]))
      expect(findings.map(({ message }) => message)).toEqual([
        'None of 3 rendered ads was reported as seen. Less than half of it was in the window when it was last measured, 2 times: slot_1, slot_2. Why the other one was not seen is not known.',
      ])
      const { sample_size, notes } = journalRules['ads-never-seen'].judge(journal([young]))
      expect([sample_size, notes]).toEqual([0, [expect.stringContaining('The rendered ad was not reported as seen; ')]])
    })

    test('a browser that had it in view for seconds, and ended, shows that it cannot be seen', () => {
      const young = { ...measured('render', 1), at_ms: noon - 5_000 }
      const watch = (in_view_ms: number, codes: readonly string[] = []) => {
        const page = { mounts: [{ slot_id: 'slot_1', in_view_ms }], renderer_errors: codes.map((code) => ({ code })) }
        return find('ads-never-seen', journal([young], { page: page as unknown as NonNullable<Observed['page']> }))
      }
      expect(watch(1_000)).toMatchObject([{ level: 'not_seen' }])
      expect(watch(3_000, ['unmeasurable'])).toMatchObject([{ level: 'not_seen' }])
      expect(watch(3_000)).toMatchObject([{ level: 'warning', message: expect.stringContaining('and hidden, once') }])
    })
  })
})

test('pages that are not on this machine need the permission of Local Network Access', () => {
  const from = (...origins: string[]) =>
    find(
      'local-network',
      journal(origins.map((origin) => exchange('GET /v1/render.js', { detail: { request_headers: { origin } } }))),
    )
  expect(from('http://localhost:3000', 'http://app.localhost', 'http://[::1]:1')).toMatchObject([{ level: 'holds' }])
  expect(from('https://shop.example', 'https://shop.example')).toMatchObject([
    { level: 'warning', fix: expect.stringContaining('Allow local network access') },
  ])
  expect(from('http://192.168.1.7:3000')).toMatchObject([{ level: 'error' }])
  expect(from('null')).toMatchObject([{ level: 'warning', message: expect.stringContaining('(null)') }])
})

test('a route of old clients that a strict sandbox does not have is not a mistyped path', () => {
  const sent = { alias: 'wrapper.job', status: 404, reason_code: 'not_found' } as const
  expect(find('path-unknown', journal([exchange('POST /public/wrapper/v1/jobs', sent)]))).toMatchObject([
    { level: 'error', fix: expect.stringContaining('--strict') },
  ])
})

test('who still uses deprecated routes is named, with version, project and page, and which they use', () => {
  const alias = (id: string, more: object = {}) =>
    exchange('POST /public/wrapper/v1/jobs', { alias: id, client_id: 'proj_demo', ...more })
  const version = { old_client: '3.2.1' }
  const page = { detail: { request_headers: { origin: 'http://localhost:3000' } } }
  const seen = [
    alias('wrapper.job', version),
    alias('wrapper.decision', version),
    alias('wrapper.decision', version),
    alias('browser.beacon', { ...version, ...page }),
    alias('wrapper.beacon', { client_id: null }),
    exchange('POST /v1/jobs', version),
  ]
  const found = find('deprecated-route', journal(seen))
  expect(found.map(({ level, message }) => [level, message])).toEqual([
    [
      'warning',
      'An old client, version 3.2.1, of proj_demo uses deprecated routes: wrapper.job (once), wrapper.decision (2 times).',
    ],
    [
      'warning',
      'An old client, version 3.2.1, of proj_demo at http://localhost:3000 uses deprecated routes: browser.beacon (once).',
    ],
    ['warning', 'A client uses deprecated routes: wrapper.beacon (once).'],
  ])
  expect(found[0]?.fix).toContain('Link header')
  expect(find('deprecated-route', journal([exchange('POST /v1/jobs', version)]))).toMatchObject([{ level: 'holds' }])
})

test('secret keys in served files are reported by file and line, without their secret', () => {
  const keys = secretKeysIn('const a = 1\nconst key = "sk_live_abcdef123"; // sk_test_redacted')
  expect(keys).toEqual([{ line: 2, column: 14, key: 'sk_live_…', hash: expect.stringMatching(/^[0-9a-f]{64}$/) }])
  const place = { place: 'dist', files: 3, problem: null }
  const rule = servedRules['secret-key-served']
  const served = (files: ServedFiles) => listFindings(rule, rule.judge({ ...files, renderer_uses: [], has_stub: true }))
  expect(served({ ...place, keys: [{ file: 'app.js', ...keys[0]! }] })).toMatchObject([
    { level: 'error', message: 'app.js:2 contains the secret key sk_live_….' },
  ])
  expect(served({ ...place, keys: [] })).toEqual([])
  expect(served({ ...place, keys: [], problem: 'there is no such directory' })).toMatchObject([{ level: 'unknown' }])
})

describe('a page that uses render.js', () => {
  const rule = servedRules['stub-missing']
  const judge = (text: string) =>
    listFindings(
      rule,
      rule.judge({
        ...{ place: 'dist', files: 1, keys: [], problem: null },
        renderer_uses: unguardedUses(text).map((use) => ({ file: 'index.html', ...use })),
        has_stub: hasStub(text),
      }),
    )

  test('without the stub is advised to have it', () => {
    expect(judge('<div id="ad"></div>\n<script>\nSponsoredPlacement.startTurn({})</script>')).toEqual([
      {
        level: 'warning',
        message:
          'index.html:3 uses SponsoredPlacement as if render.js were always there: a blocker or a slow network ends the turn.',
        fix: 'Put the stub before the script element, as svc docs browser shows: your work then runs, and the ad is left out.',
      },
    ])
    expect(judge('await window.SponsoredPlacement.withTurn({}, work)')).toMatchObject([{ level: 'warning' }])
  })

  test.each([
    ['the stub', `${stubLines.join('\n')}\nSponsoredPlacement.withTurn({}, work)`],
    [
      'the stub, minified',
      'window.SponsoredPlacement=window.SponsoredPlacement||{queue:[]};SponsoredPlacement.withTurn({},w)',
    ],
    ['an optional call', 'window.SponsoredPlacement?.startTurn({})'],
    ['a look for it', "if (typeof SponsoredPlacement !== 'undefined') SponsoredPlacement.startTurn({})"],
    ['its load event', 'script.onload = () => SponsoredPlacement.startTurn({})'],
  ])('with %s is not advised what it does already', (_, text) => {
    expect(judge(text)).toEqual([])
  })
})
