import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type ForcedNoFill, Scenario } from '#contract/resources/sandbox/scenarios.ts'
import { SandboxError, startSandbox } from '#sandbox/index.ts'
import {
  activate,
  asked,
  beacon,
  fill,
  key,
  liveKey,
  origin,
  otherKey,
  publishable,
  type Stage,
  stage,
  strictKey,
} from '../stage.ts'

const folder = new URL('../../../fixtures/scenarios/', import.meta.url)
const files = readdirSync(folder)
const catalogue = files.map((file) => Scenario.parse(JSON.parse(readFileSync(new URL(file, folder), 'utf8'))))

const use = (on: Stage, name: string) => on.api.accept('scenario.use', { params: { name }, body: {} })

function place(on: Stage, more: Record<string, unknown> = {}, as = key) {
  return on.api.send('POST', '/v1/placements', { as, body: asked(more) })
}

async function decided(on: Stage, more: Record<string, unknown> = {}) {
  return (await on.api.accept('placements.create', { as: key, body: asked(more) })).body
}

async function listStatuses(on: Stage, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let index = 0; index < count; index++) statuses.push((await place(on)).status)
  return statuses
}

/** The outcome of a beacon for a filled placement: OK or a reason code. */
async function beaconOutcome(on: Stage, filled: { asset_token: string }, as = key): Promise<string> {
  const { body } = await on.api.send('POST', '/v1/beacons', { as, body: beacon(on.clock, filled, 'render') })
  return (body as { reason_code: string }).reason_code
}

function fillsAs(format: string, template?: string) {
  return async (on: Stage) => {
    const { placement } = await decided(on)
    expect(placement?.format).toBe(format)
    expect(placement?.render.native_template_id).toBe(template)
  }
}

function forces(reason: ForcedNoFill, rule: string | null) {
  return async (on: Stage) => {
    const { slot_id, status, placement, decision } = await decided(on)
    expect([status, placement]).toEqual(['ready', null])
    expect(decision).toMatchObject({ fill: false, no_fill_reason: reason })
    const { trace } = (await on.api.accept('placements.explain', { params: { slot_id } })).body
    const steps = trace.filter((step) => step.rule === rule)
    expect(steps.length > 0).toBe(rule !== null)
    expect(trace.some(({ outcome }) => outcome === 'won' || outcome === 'outbid')).toBe(false)
    const live = await on.api.accept('placements.create', { as: liveKey, body: asked() })
    expect(live.body.decision?.fill).toBe(true)
  }
}

function takes(latency_ms: number) {
  return async (on: Stage) => {
    const { slot_id, status } = await decided(on, { wait_ms: 0 })
    expect(status).toBe('pending')
    const poll = async () => (await on.api.accept('decisions.get', { as: key, params: { slot_id } })).body.status
    on.clock.advance(latency_ms - 1)
    expect(await poll()).toBe('pending')
    on.clock.advance(1)
    const query = { wait_ms: 5000 }
    const { body } = await on.api.accept('decisions.get', { as: key, params: { slot_id }, query })
    expect(body.decision?.fill).toBe(true)
  }
}

function rejectsOneBeacon(reason: string) {
  return async (on: Stage) => {
    const filled = await fill(on.api)
    expect(await beaconOutcome(on, filled)).toBe(reason)
    expect(await beaconOutcome(on, filled)).toBe('OK')
  }
}

function rejectsTwice(status: number, retry_after: (on: Stage) => string) {
  return async (on: Stage) => {
    const { headers } = await place(on)
    expect(headers['retry-after']).toBe(retry_after(on))
    expect(await listStatuses(on, 2)).toEqual([status, 200])
  }
}

function refuses(
  reason: string,
  call: Parameters<Stage['api']['refuse']>[1],
  id: 'placements.create' | 'beacons.send',
) {
  return async (on: Stage) => {
    expect((await on.api.refuse(id, call)).body.reason_code).toBe(reason)
  }
}

async function frameStatus(on: Stage, { asset_token }: { asset_token: string }): Promise<[number, string]> {
  const response = await fetch(`${on.sandbox.url}/v1/render/${asset_token}`)
  const page = await response.text()
  return [response.status, /consent_\w+/.exec(page)?.[0] ?? '']
}

const consentOf = (decision: 'granted' | 'denied' | 'withdrawn') => ({
  client_id: 'proj_demo',
  session_id: 'sess_1',
  decision,
  purposes: { semantic_targeting: true, prompt_shared: false },
})

/** The effect of each scenario, as its `expect` documents it. */
const behaviours: Record<string, (on: Stage) => Promise<void>> = {
  banner_ok: fillsAs('banner'),
  clip_ok: fillsAs('clip'),
  native_ok: fillsAs('native', 'card'),
  native_list_item_ok: fillsAs('native', 'list_item'),
  native_featured_ok: fillsAs('native', 'featured'),
  native_minimal_ok: fillsAs('native', 'minimal'),
  no_fill: forces('no_demand', 'no_demand'),
  no_fill_timeout: forces('timeout', 'timeout'),
  no_fill_partner_error: forces('partner_error', 'partner_error'),
  no_fill_internal_error: forces('internal_error', 'internal_error'),
  no_fill_risk_suppressed: forces('risk_suppressed', null),
  slow_decision: takes(800),
  pending_then_ready: takes(3_000),
  late_decision: takes(8_000),
  async pending_forever(on) {
    const { slot_id } = await decided(on, { wait_ms: 0 })
    on.clock.advance(3_600_000)
    const { body } = await on.api.accept('decisions.get', { as: key, params: { slot_id } })
    expect(body).toMatchObject({ status: 'pending', decision: null })
  },
  consent_missing: refuses(
    'consent_required',
    { as: strictKey, body: asked({ client_id: 'proj_strict', session_id: 'new' }) },
    'placements.create',
  ),
  async consent_denied(on) {
    await on.api.accept('consent.set', { as: key, body: consentOf('denied') })
    expect(await decided(on)).toMatchObject({
      decision: { fill: false, no_fill_reason: 'consent_not_granted' },
      authoritative_consent: { lifecycle_state: 'denied' },
    })
  },
  async consent_expired(on) {
    const body = { ...consentOf('granted'), expires_at_ms: on.clock.now() + 60_000 }
    await on.api.accept('consent.set', { as: key, body })
    const filled = await fill(on.api)
    on.clock.advance(120_000)
    expect(await frameStatus(on, filled)).toEqual([403, 'consent_expired'])
    expect(await beaconOutcome(on, filled)).toBe('consent_expired')
  },
  async consent_withdrawn_mid_turn(on) {
    await on.api.accept('consent.set', { as: key, body: consentOf('granted') })
    const filled = await fill(on.api)
    await on.api.accept('consent.set', { as: key, body: consentOf('withdrawn') })
    expect(await frameStatus(on, filled)).toEqual([403, 'consent_not_granted'])
    expect(await beaconOutcome(on, filled)).toBe('consent_not_granted')
  },
  stale_beacon: rejectsOneBeacon('beacon_stale'),
  bad_asset_token: rejectsOneBeacon('asset_token_invalid'),
  async clock_skew(on) {
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    on.clock.advance(600_000)
    expect((await on.api.refuse('beacons.send', { as: key, body })).body.reason_code).toBe('beacon_stale')
  },
  async foreign_asset_token(on) {
    expect(await beaconOutcome(on, await fill(on.api), otherKey)).toBe('asset_token_invalid')
  },
  wrong_key_type: refuses('key_class', { as: publishable, body: asked() }, 'placements.create'),
  secret_key_in_browser: refuses('secret_key_in_browser', { as: key, origin, body: asked() }, 'placements.create'),
  bad_content_type: refuses(
    'content_type_unsupported',
    { as: key, raw: '{}', headers: { 'content-type': 'text/plain' } },
    'beacons.send',
  ),
  malformed_json: refuses('json_malformed', { as: key, raw: '{"client_id":' }, 'placements.create'),
  async origin_denied(on) {
    const response = await on.api.refuse('browser.activate', { origin, body: { publishable_key: publishable } })
    expect([response.status, response.body.reason_code]).toEqual([403, 'origin_not_allowed'])
    expect(response.headers['access-control-allow-origin']).toBe(origin)
  },
  async token_expired(on) {
    const send = async () => {
      const token = await activate(on.api)
      return (await on.api.send('POST', '/v1/jobs', { as: token, origin, body: { client_id: 'proj_demo' } })).status
    }
    expect([await send(), await send()]).toEqual([401, 201])
  },
  rate_limited: rejectsTwice(429, () => '2'),
  rate_limited_http_date: rejectsTwice(429, (on) => new Date(on.clock.now() + 2_000).toUTCString()),
  unavailable: rejectsTwice(503, () => '1'),
  async drop_connection(on) {
    await expect(place(on)).rejects.toThrow('socket hang up')
    expect((await on.api.accept('placements.list')).body.items).toEqual([])
    expect(await listStatuses(on, 1)).toEqual([200])
  },
  async lost_acknowledgement(on) {
    const body = beacon(on.clock, await fill(on.api), 'render')
    await expect(on.api.accept('beacons.send', { as: key, body })).rejects.toThrow('socket hang up')
    expect((await on.api.accept('beacons.send', { as: key, body })).body.duplicate).toBe(true)
  },
  async garbled_response(on) {
    await expect(place(on)).rejects.toThrow(SyntaxError)
    expect(await listStatuses(on, 1)).toEqual([200])
  },
  async truncated_response(on) {
    await expect(place(on)).rejects.toThrow('aborted')
    expect(await listStatuses(on, 1)).toEqual([200])
  },
  async unknown_status(on) {
    expect(await place(on)).toMatchObject({ status: 200, body: { status: 'deferred', placement: null } })
  },
  async unknown_field(on) {
    const { status, body } = await place(on)
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'ready', experiment: { arm: 'b' }, decision: { fill: true, quality: 0.9 } })
  },
  async creative_404(on) {
    const filled = await fill(on.api, { format: 'banner' })
    expect((await frameStatus(on, filled))[0]).toBe(200)
    expect((await on.api.send('GET', '/v1/test-assets/banner')).status).toBe(404)
    expect((await on.api.send('GET', '/assets/creatives/any/file.png')).status).toBe(404)
  },
  autoplay_blocked: fillsAs('clip'),
}

describe('every scenario has its documented effect', () => {
  test('and each has a test', () => {
    expect(Object.keys(behaviours).toSorted()).toEqual(catalogue.map(({ name }) => name).toSorted())
  })

  test.each(catalogue.map(({ name }) => name))('%s', async (name) => {
    await using on = await stage()
    await use(on, name)
    await behaviours[name]!(on)
  })
})

describe('the catalogue', () => {
  test('names each scenario after its file', () => {
    expect(catalogue.map(({ name }) => `${name}.json`)).toEqual(files)
  })

  test('is listed by name, with the one in use marked', async () => {
    await using on = await stage()
    await use(on, 'no_fill')
    const { items } = (await on.api.accept('scenario.list')).body
    expect(items.map(({ name }) => name)).toEqual(catalogue.map(({ name }) => name))
    expect(items.filter(({ active }) => active).map(({ name }) => name)).toEqual(['no_fill'])
  })
})

describe('a scenario', () => {
  test('replaces the previous one and its faults; faults added by hand stay', async () => {
    await using on = await stage()
    await on.api.accept('faults.add', { body: { path: '/v1/never' } })
    await use(on, 'creative_404')
    await use(on, 'rate_limited')
    const { items } = (await on.api.accept('faults.list')).body
    expect(items.map(({ scenario, path }) => [scenario, path])).toEqual([
      ['rate_limited', '/v1/placements'],
      [null, '/v1/never'],
    ])
    expect((await on.api.accept('scenario.clear')).body).toEqual({ cleared: 'rate_limited' })
    expect((await on.api.accept('scenario.clear')).body).toEqual({ cleared: null })
    expect((await on.api.accept('faults.list')).body.items).toHaveLength(1)
    expect((await decided(on)).decision?.fill).toBe(true)
  })

  test('applies after the policies: consent that is not granted stays the reason', async () => {
    await using on = await stage()
    await use(on, 'no_fill_timeout')
    await on.api.accept('consent.set', { as: key, body: consentOf('denied') })
    expect((await decided(on)).decision).toMatchObject({ no_fill_reason: 'consent_not_granted' })
  })

  test('ends with a reset', async () => {
    await using on = await stage()
    await use(on, 'no_fill')
    await on.api.accept('sandbox.reset', { body: {} })
    expect((await decided(on)).decision?.fill).toBe(true)
  })

  test('is in use from the start when the sandbox is started with it', async () => {
    await using on = await stage({ scenario: 'no_fill_partner_error' })
    expect((await decided(on)).decision).toMatchObject({ no_fill_reason: 'partner_error' })
  })

  test('of an unknown name is rejected, with the known names', async () => {
    await using on = await stage()
    const { body } = await on.api.refuse('scenario.use', { params: { name: 'nothing' }, body: {} })
    expect(body).toMatchObject({ reason_code: 'not_found', hint: 'List them: svc sandbox scenario list.' })
    const near = await on.api.refuse('scenario.use', { params: { name: 'baner_ok' }, body: {} })
    expect(near.body.hint).toBe('Did you mean banner_ok?')
    const problem = await startSandbox({ scenario: 'nothing' }).catch((error: unknown) => error)
    expect(problem).toBeInstanceOf(SandboxError)
    expect((problem as SandboxError).hint).toContain('banner_ok')
    const almost = await startSandbox({ scenario: 'baner_ok' }).catch((error: unknown) => error)
    expect((almost as SandboxError).hint).toBe('Did you mean banner_ok?')
  })
})
