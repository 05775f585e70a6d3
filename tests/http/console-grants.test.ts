/** What a page may do with its console: nothing without a grant that the user has confirmed, and then what it says (A114). */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ConsoleAction, ConsoleActResult, ConsoleAsk, ConsoleClaim } from '#contract/resources/sandbox/console.ts'
import { storeOfItsOwn } from '#tests/postgres/shared-store.ts'
import type { Call } from './call.ts'
import { asked, fill, folder, key, liveKey, origin, type Stage, stage, strictKey } from './stage.ts'

const elsewhere = 'http://localhost:4000'
const stranger = 'https://stranger.example'
const strictOrigin = 'https://app.example.com'
const path = (name: string) => `/_sandbox/console/page/${name}`

/** A page of an origin that runs the console. */
function openPage(on: Stage, from = origin) {
  const send = async <Body>(name: string, body: object, call: Call = {}) => {
    const response = await on.api.send('POST', path(name), { origin: from, ...call, body })
    return { ...response, body: response.body as Body }
  }
  const ask = async () => (await send<ConsoleAsk>('ask', {})).body
  const claim = async ({ grant_id, secret }: Pick<ConsoleAsk, 'grant_id' | 'secret'>) =>
    (await send<ConsoleClaim>('claim', { grant_id, secret })).body
  /** Returns the token of a grant that the user confirms. */
  const getToken = async () => {
    const own = await ask()
    await on.api.accept('console.confirm', { params: { grant_id: own.grant_id } })
    return (await claim(own)).token!
  }
  const act = (token: string, action: ConsoleAction) => send<ConsoleActResult>('act', action, { as: token })
  /** An action that must be refused. Resolves to the reason. */
  const refuse = async (token: string | undefined, action: object, call: Call = {}) => {
    const as = token === undefined ? {} : { as: token }
    const { body } = await send<{ reason_code?: string }>('act', action, { ...as, ...call })
    return body.reason_code
  }
  return { send, ask, claim, getToken, act, refuse }
}

const audited = async (on: Stage) =>
  (await on.api.accept('audit.list')).body.items.map(({ token, action, path, status }) => [token, action, path, status])

describe('a grant', () => {
  test('is asked for by a page, confirmed by the user, and claimed once', async () => {
    await using on = await stage()
    const page = openPage(on)
    const { status, headers, body } = await page.send<ConsoleAsk>('ask', {})
    expect([status, headers['access-control-allow-origin']]).toEqual([201, origin])
    expect(body).toEqual({
      grant_id: expect.stringMatching(/^grant_/),
      code: expect.stringMatching(/^\d{4}$/),
      secret: expect.any(String),
      confirm_url: `${on.sandbox.url}/_sandbox/console?grant=${body.grant_id}`,
      expires_at_ms: expect.any(Number),
    })
    expect(await page.claim(body)).toEqual({ status: 'waiting' })
    const { items } = (await on.api.accept('console.list')).body
    expect(items).toMatchObject([{ origin, code: body.code, status: 'waiting', is_claimed: false }])
    expect(JSON.stringify(items)).not.toContain(body.secret)
    await on.api.accept('console.confirm', { params: { grant_id: body.grant_id } })
    const { status: claimed, token } = await page.claim(body)
    expect([claimed, typeof token]).toEqual(['confirmed', 'string'])
    expect(await page.claim(body)).toEqual({ status: 'confirmed' })
    expect((await page.act(token!, { action: 'state' })).body).toEqual({
      done: 'Nothing was changed.',
      replayed: null,
      state: {
        scenario: null,
        is_no_fill: false,
        format: null,
        campaign_id: null,
        campaigns: expect.arrayContaining([{ campaign_id: 'cmp_larkfield_coffee', sponsor_name: expect.any(String) }]),
        slow_frame_ms: null,
        clock_offset_ms: expect.any(Number),
        grant_expires_at_ms: expect.any(Number),
      },
    })
  })

  test('is not given to a page of an origin that no project allows, nor to anything without an origin', async () => {
    await using on = await stage()
    for (const from of [stranger, 'null', 'http://localhost.evil.example']) {
      const { status, headers, body } = await openPage(on, from).send<object>('ask', {})
      expect([from, status, headers['access-control-allow-origin']]).toEqual([from, 403, undefined])
      expect(body).toMatchObject({ reason_code: 'origin_not_allowed' })
    }
    expect((await on.api.send('POST', path('ask'), { body: {} })).status).toBe(403)
    expect((await on.api.accept('console.list')).body.items).toEqual([])
  })

  test('is confirmed neither by a page, whatever it sends, nor with the secret or token of one', async () => {
    await using on = await stage()
    const page = openPage(on)
    const own = await page.ask()
    const token = await page.getToken()
    const url = `/_sandbox/console/grants/${own.grant_id}/confirm`
    const form = { raw: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    for (const call of [
      { origin, body: {} },
      { origin, as: token, body: {} },
      { origin, body: {}, headers: { 'x-sandbox-token': token } },
      { origin, body: {}, headers: { 'x-sandbox-token': own.secret } },
      { origin, ...form },
      { origin: 'null', ...form },
      // Those of a page of the sandbox itself need the token of this start.
      { origin: on.sandbox.url, body: {} },
      { origin: on.sandbox.url, body: {}, headers: { 'x-sandbox-token': token } },
      { body: {}, headers: { 'sec-fetch-site': 'same-site' } },
      { body: {}, headers: link },
    ] satisfies Call[]) {
      expect([call, (await on.api.send('POST', url, call)).status]).toEqual([call, 403])
    }
    for (const headers of [link, { ...link, 'sec-fetch-dest': 'iframe' }]) {
      expect((await on.api.send('GET', url, { headers })).status).toBeGreaterThanOrEqual(400)
    }
    const preflight = { origin, headers: { 'access-control-request-method': 'POST' } }
    expect((await on.api.send('OPTIONS', url, preflight)).headers['access-control-allow-origin']).toBeUndefined()
    expect(await page.claim(own)).toEqual({ status: 'waiting' })
  })

  test('has a page that a link opens and no frame shows, and opening it changes nothing', async () => {
    await using on = await stage()
    const page = openPage(on)
    const own = await page.ask()
    const { pathname, search } = new URL(own.confirm_url)
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const opened = await on.api.send('GET', pathname + search, { headers: link })
    expect(opened.status).toBe(200)
    expect(opened.headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(opened.headers['cross-origin-opener-policy']).toBe('same-origin')
    for (const dest of ['iframe', 'object', 'embed', 'script', 'image']) {
      const headers = { ...link, 'sec-fetch-dest': dest, 'sec-fetch-mode': dest === 'iframe' ? 'navigate' : 'no-cors' }
      expect([dest, (await on.api.send('GET', pathname + search, { headers })).status]).toEqual([dest, 403])
    }
    expect(await page.claim(own)).toEqual({ status: 'waiting' })
  })

  test('that was refused or revoked, or that a reset has ended, is good for nothing', async () => {
    await using on = await stage()
    const page = openPage(on)
    const refused = await page.ask()
    const params = { grant_id: refused.grant_id }
    expect((await on.api.accept('console.revoke', { params })).body.status).toBe('refused')
    expect(await page.claim(refused)).toEqual({ status: 'refused' })
    const late = await on.api.refuse('console.confirm', { params })
    expect(late.body.message).toBe('There is no such grant: it has expired, or was refused.')
    const revoked = await page.getToken()
    const { items } = (await on.api.accept('console.list')).body
    await on.api.accept('console.revoke', { params: { grant_id: items[0]!.grant_id } })
    expect(await page.refuse(revoked, { action: 'state' })).toBe('grant_invalid')
    const ended = await page.getToken()
    await on.api.accept('sandbox.reset')
    expect(await page.refuse(ended, { action: 'state' })).toBe('grant_invalid')
    expect((await on.api.accept('console.list')).body.items).toEqual([])
  })

  test('is kept in memory only: nothing of it is stored, and a restart ends it', async () => {
    using at = folder()
    const database = `${at.path}/sandbox.db`
    let token = ''
    {
      await using on = await stage({ database })
      const page = openPage(on)
      token = await page.getToken()
      await page.act(token, { action: 'no_fill', on: true })
      await on.api.accept('snapshots.save', { params: { name: 'one' } })
      const { secret } = await page.ask()
      for (const file of readdirSync(at.path, { recursive: true, withFileTypes: true })) {
        const bytes = file.isFile() ? readFileSync(join(file.parentPath, file.name)) : Buffer.alloc(0)
        expect([file.name, bytes.includes(token), bytes.includes(secret)]).toEqual([file.name, false, false])
      }
    }
    await using on = await stage({ database })
    expect(await openPage(on).refuse(token, { action: 'state' })).toBe('grant_invalid')
  })

  test('cannot be asked for without end, and what is asked too often gets a 429', async () => {
    await using on = await stage()
    const page = openPage(on)
    for (let count = 0; count < 5; count++) await page.ask()
    const { status, headers, body } = await page.send<object>('ask', {})
    expect([status, headers['retry-after']]).toEqual([429, '60'])
    expect(body).toMatchObject({ reason_code: 'rate_limited' })
    expect((await openPage(on, elsewhere).send('ask', {})).status).toBe(201)
  })
})

describe('an action', () => {
  test('is refused without a grant, with a guessed one, and with one that was stolen by another origin', async () => {
    await using on = await stage()
    const page = openPage(on)
    const own = await page.ask()
    const noFill = { action: 'no_fill', on: true }
    for (const token of [undefined, 'guess', own.secret, own.grant_id, key, on.sandbox.admin_token]) {
      expect([token, await page.refuse(token, noFill)]).toEqual([token, 'grant_invalid'])
    }
    const token = await page.getToken()
    expect(await openPage(on, elsewhere).refuse(token, noFill)).toBe('origin_mismatch')
    expect(await openPage(on, stranger).refuse(token, noFill)).toBe('origin_not_allowed')
    expect((await on.api.send('POST', path('act'), { as: token, body: noFill })).status).toBe(403)
    // A page can send this type without a preflight.
    const plain = { raw: JSON.stringify(noFill), headers: { 'content-type': 'text/plain' } }
    const sent = await on.api.send('POST', path('act'), { origin, as: token, ...plain })
    expect(sent.status).toBe(415)
    expect((await on.api.accept('scenario.list')).body.items.filter(({ active }) => active)).toEqual([])
  })

  test('needs its own fields, and knows no other action', async () => {
    await using on = await stage()
    const page = openPage(on)
    const token = await page.getToken()
    for (const action of [
      {},
      { action: 'reset' },
      { action: 'no_fill' },
      { action: 'format', format: 'popup' },
      { action: 'campaign', campaign_id: 'rate_limited' },
      { action: 'slow_frame', latency_ms: 60_001, slot_id: 'slot_00000000000' },
      { action: 'slow_frame' },
      { action: 'replay' },
      { action: 'replay', slot_id: 'slot_00000000001', set: {} },
    ]) {
      expect([action, await page.refuse(token, action)]).toEqual([
        action,
        expect.stringMatching(/^(schema_invalid|field_unknown)$/),
      ])
    }
  })

  test('a token of a page opens nothing else of the control plane', async () => {
    await using on = await stage({ public_url: 'http://192.168.1.5:4010' })
    const start = { headers: { 'x-sandbox-token': on.sandbox.admin_token } }
    const page = openPage(on)
    const own = await page.ask()
    await on.api.accept('console.confirm', { ...start, params: { grant_id: own.grant_id } })
    const token = (await page.claim(own)).token!
    expect((await page.act(token, { action: 'no_fill', on: true })).status).toBe(200)
    for (const call of [{}, { headers: { 'x-sandbox-token': token } }, { as: token }] satisfies Call[]) {
      expect((await on.api.refuse('sandbox.info', call)).body.reason_code).toBe('origin_refused')
      expect((await on.api.refuse('console.list', call)).body.reason_code).toBe('origin_refused')
    }
  })

  test('no_fill and format use scenarios of the catalogue until they are turned off', async () => {
    await using on = await stage()
    const page = openPage(on)
    const token = await page.getToken()
    const place = async (as = key) => (await on.api.accept('placements.create', { as, body: asked() })).body.decision
    const { body } = await page.act(token, { action: 'no_fill', on: true })
    expect(body).toMatchObject({
      done: 'Test traffic gets no fill until you turn this off.',
      state: { scenario: 'no_fill', is_no_fill: true, format: null },
    })
    expect([(await place())?.fill, (await place(liveKey))?.fill]).toEqual([false, true])
    expect((await page.act(token, { action: 'format', format: 'clip' })).body.state).toMatchObject({
      scenario: 'clip_ok',
      is_no_fill: false,
      format: 'clip',
    })
    expect((await place())?.format).toBe('clip')
    expect((await page.act(token, { action: 'no_fill', on: false })).body.state.format).toBe('clip')
    expect((await page.act(token, { action: 'format', format: null })).body.state.scenario).toBeNull()
    await on.api.accept('scenario.use', { params: { name: 'slow_decision' } })
    await page.act(token, { action: 'no_fill', on: false })
    expect((await page.act(token, { action: 'format', format: null })).body.state.scenario).toBe('slow_decision')
  })

  test('campaign forces it until another is chosen, and the slot of the page says so', async () => {
    await using on = await stage()
    const page = openPage(on)
    const token = await page.getToken()
    const campaign_id = 'cmp_larkfield_coffee'
    const { body } = await page.act(token, { action: 'campaign', campaign_id })
    expect(body.state).toMatchObject({ campaign_id, scenario: campaign_id })
    const isForced = async () => {
      const asset_tokens = [(await fill(on.api)).asset_token]
      const { slots } = (await page.send<{ slots: object[] }>('slots', { asset_tokens })).body
      return slots.map((slot) => ('is_forced' in slot ? slot.is_forced : null))
    }
    expect(await isForced()).toEqual([true])
    expect((await page.act(token, { action: 'campaign', campaign_id: null })).body.state.scenario).toBeNull()
    expect(await isForced()).toEqual([false])
    const [last] = await audited(on)
    expect(last).toEqual([origin, 'scenario.clear', '/_sandbox/scenarios', 200])
  })

  test('withdraw_consent and expire change the slot of the page and nothing of its request', async () => {
    await using on = await stage()
    const page = openPage(on)
    const token = await page.getToken()
    const { slot_id, asset_token } = await fill(on.api)
    const readSlot = async () => {
      const { body } = await page.send<{ slots: object[] }>('slots', { asset_tokens: [asset_token] })
      return body.slots[0]
    }
    const withdrawn = await page.act(token, { action: 'withdraw_consent', slot_id })
    expect(withdrawn.body.done).toBe('The consent of the session is withdrawn.')
    expect(await readSlot()).toMatchObject({ consent: { current_state: 'withdrawn' } })
    const before_ms = on.clock.now()
    const { body } = await page.act(token, { action: 'expire', slot_id })
    // Nothing has loaded its frame: a token is valid for five minutes more (A05).
    expect(body.done).toBe('The sandbox clock is 35m further, and the asset token has expired.')
    expect(on.clock.now()).toBe(before_ms + 2_100_001)
    await on.api.refusePage('render.frame', { params: { asset_token } })
    expect((await page.act(token, { action: 'expire', slot_id })).body.done).toBe(
      'The asset token has expired already.',
    )
  })

  test('slow_frame delays one frame, of the session of a slot', async () => {
    await using on = await stage()
    const page = openPage(on)
    const token = await page.getToken()
    const { slot_id, asset_token } = await fill(on.api)
    const other = await fill(on.api, { body: asked({ session_id: 'sess_2' }) })
    const { body } = await page.act(token, { action: 'slow_frame', latency_ms: 20, slot_id })
    expect(body).toMatchObject({
      done: 'The next frame of this session loads 20 ms later.',
      state: { slow_frame_ms: 20 },
    })
    const rules = (await on.api.accept('faults.list')).body.items
    expect(rules).toMatchObject([
      { path: '/v1/render/', method: 'GET', effect: 'delay', times: 1, session_id: 'sess_1' },
    ])
    await on.api.send('GET', `/v1/render/${other.asset_token}`)
    expect((await page.act(token, { action: 'state' })).body.state.slow_frame_ms).toBe(20)
    await on.api.send('GET', `/v1/render/${asset_token}`)
    expect((await page.act(token, { action: 'state' })).body.state.slow_frame_ms).toBeNull()
    await page.act(token, { action: 'slow_frame', slot_id })
    const [rule] = (await on.api.accept('faults.list')).body.items
    expect(rule).toMatchObject({ latency_ms: 3_000, times: 1 })
  })

  test('replay sends the request of the slot again, and returns no part of it', async () => {
    await using on = await stage()
    const page = openPage(on)
    const token = await page.getToken()
    const { slot_id } = await fill(on.api, { body: asked({ prompt: { topic: 'sailing-topic', text: 'a prompt' } }) })
    await fill(on.api)
    const { body, text } = await page.act(token, { action: 'replay', slot_id })
    expect(body).toMatchObject({
      done: 'The request was sent again and got a 200.',
      replayed: { request_id: expect.stringMatching(/^req_/), status: 200, slot_id: expect.stringMatching(/^slot_/) },
    })
    expect(body.replayed!.slot_id).not.toBe(slot_id)
    expect(text).not.toMatch(/sailing|ast_|sk_test/)
    const { request_id } = body.replayed!
    const { request_headers } = (await on.api.accept('requests.show', { params: { request_id } })).body
    expect(request_headers['x-sandbox-replay-of']).toMatch(/^req_/)
  })

  test('reaches no slot of live mode or of a project that does not allow the origin', async () => {
    await using on = await stage()
    const page = openPage(on)
    const token = await page.getToken()
    const strict = asked({ client_id: 'proj_strict', consent: { semantic_targeting: true } })
    const other = await fill(on.api, { as: strictKey, body: strict })
    const live = await fill(on.api, { as: liveKey })
    const before_ms = on.clock.now()
    for (const { slot_id } of [other, live, { slot_id: 'slot_00000000000' }, { slot_id: 'x' }]) {
      for (const action of ['withdraw_consent', 'expire', 'replay', 'slow_frame']) {
        expect([action, slot_id, await page.refuse(token, { action, slot_id })]).toEqual([action, slot_id, 'not_found'])
      }
    }
    expect([on.clock.now(), (await on.api.accept('faults.list')).body.items]).toEqual([before_ms, []])
    const theirs = openPage(on, strictOrigin)
    const done = await theirs.act(await theirs.getToken(), { action: 'withdraw_consent', slot_id: other.slot_id })
    expect(done.status).toBe(200)
  })

  test('is in the audit list under the origin of its page, with the call that it made', async () => {
    await using on = await stage(await storeOfItsOwn())
    const page = openPage(on)
    const token = await page.getToken()
    const { slot_id } = await fill(on.api)
    await page.act(token, { action: 'format', format: 'banner' })
    await page.act(token, { action: 'withdraw_consent', slot_id })
    await page.act(token, { action: 'expire', slot_id })
    await page.act(token, { action: 'slow_frame', slot_id })
    await page.act(token, { action: 'replay', slot_id })
    await page.act(token, { action: 'state' })
    await page.refuse('guess', { action: 'no_fill', on: true })
    expect(await audited(on)).toEqual([
      [origin, 'requests.replay', expect.stringMatching(/^\/_sandbox\/requests\/req_\w+\/replay$/), 200],
      [origin, 'faults.add', '/_sandbox/faults', 201],
      [origin, 'clock.advance', '/_sandbox/clock/advance', 200],
      [origin, 'consent.set', '/v1/consent', 200],
      [origin, 'scenario.use', '/_sandbox/scenarios/banner_ok', 200],
      [null, 'console.confirm', expect.stringMatching(/^\/_sandbox\/console\/grants\/grant_\w+\/confirm$/), 200],
    ])
    const query = { token: origin }
    expect((await on.api.accept('audit.list', { query })).body.items).toHaveLength(5)
  })
})
