/** Prompt text that was sent without consent is nowhere: not in the file, not in any response of the sandbox. */
import { existsSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EndpointId } from '#contract/index.ts'
import { manualClock } from '#sandbox/index.ts'
import { storedTexts } from '#tests/postgres/shared-store.ts'
import { leaks } from '#tests/reliability/secret-cases.ts'
import { type Api, type Call, connect } from './call.ts'
import {
  activate,
  asked,
  beacon,
  edit,
  fill,
  folder,
  key,
  liveKey,
  origin,
  publishable,
  stage,
  startSandbox,
} from './stage.ts'

const prose = 'my aunt Zephyrine asked about a quiet divorce'
const oneWord = 'zephyrine-quiet-divorce'
const marks = ['Zephyrine', 'quiet divorce', 'quiet%20divorce', 'quiet+divorce', oneWord]

/** Everything that may contain a request: responses, list pages, details, events, reports, the files. */
async function recordTrace(work: (api: Api, base: { clock: ReturnType<typeof manualClock> }) => Promise<string[]>) {
  using dir = folder()
  const clock = manualClock()
  const reported: string[] = []
  const database = join(dir.path, 'sandbox.db')
  const sandbox = await startSandbox({ database, clock, report: (error) => reported.push(inspect(error)) })
  let responses: string[]
  const surfaces: string[] = []
  try {
    const api = connect(sandbox)
    const events = followEvents(sandbox.url)
    responses = await work(api, { clock })
    const last = { client_id: 'proj_demo', session_id: 'last' }
    const { consent_id } = (await api.accept('consent.set', { as: key, body: last })).body
    surfaces.push(await events.until(consent_id))
    const { body: placements } = await api.accept('placements.list', { query: { limit: 1000 } })
    for (const { slot_id } of placements.items) {
      surfaces.push((await api.accept('placements.explain', { params: { slot_id } })).text)
    }
    const { body: requests, text } = await api.accept('requests.list', { query: { limit: 1000 } })
    surfaces.push(text, JSON.stringify(placements), (await api.accept('beacons.list')).text)
    for (const { request_id } of requests.items) {
      surfaces.push((await api.accept('requests.show', { params: { request_id } })).text)
    }
    surfaces.push(...(await storedTexts({ database })))
  } finally {
    await sandbox.close()
  }
  surfaces.push(...(await storedTexts({ database })))
  return { responses, surfaces: [...surfaces, ...reported] }
}

/** Whether one of the marks is anywhere, in UTF-8 or UTF-16. */
function found(surfaces: string[]): string[] {
  const wanted = [...marks, ...marks.map((mark) => [...mark].join('\0'))].map((mark) => mark.toLowerCase())
  return wanted.filter((mark) => surfaces.some((surface) => surface.toLowerCase().includes(mark)))
}

function inspect(error: unknown): string {
  return error instanceof Error ? `${error.stack} ${inspect(error.cause)}` : String(error)
}

function followEvents(url: string) {
  let received = ''
  let wake = () => {}
  const request = get(`${url}/_sandbox/events?since_seq=0`, (response) =>
    response.on('data', (chunk) => {
      received += String(chunk)
      wake()
    }),
  )
  request.on('error', () => {})
  return {
    /** Everything up to the event that holds `last`. */
    async until(last: string) {
      while (!received.includes(last)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      request.destroy()
      return received
    },
  }
}

/** Sends each call and returns the responses, errors included. */
async function sendAll(api: Api, calls: [string, string, Call][]): Promise<string[]> {
  const responses = []
  for (const [method, path, call] of calls) {
    const { text, headers } = await api.send(method, path, call)
    responses.push(text, JSON.stringify(headers))
  }
  return responses
}

async function expectNowhere(calls: [string, string, Call][]): Promise<void> {
  const { responses, surfaces } = await recordTrace((api) => sendAll(api, calls))
  expect(found(responses)).toEqual([])
  expect(found(surfaces)).toEqual([])
}

const post = (path: string, body: unknown, call: Call = {}): [string, string, Call] => [
  'POST',
  path,
  { as: key, body, ...call },
]

describe('prompt text without consent is stored nowhere', () => {
  const consents = [undefined, {}, { prompt_shared: false }, { semantic_targeting: true }]
  for (const consent of consents) {
    test(`when consent is ${JSON.stringify(consent)}`, async () => {
      const more = consent === undefined ? {} : { consent }
      await expectNowhere([
        post('/v1/placements', asked({ prompt: prose, ...more })),
        post('/v1/placements', asked({ prompt: { topic: 'tea', text: prose }, ...more })),
        post('/v1/jobs', { client_id: 'proj_demo', prompt: prose, ...more }),
        post('/v1/jobs', { client_id: 'proj_demo', context: { topic: 'tea', prompt_text: prose }, ...more }),
        post('/v1/jobs', {
          contract_version: 'csl_wrapper_ingress_create/v1',
          job: { job_type: 'chat' },
          context: { client_id: 'proj_demo', chat_session_id: 's' },
          prompt: { text: prose },
          ...more,
        }),
      ])
    })
  }

  test('a warning reports that it was discarded', async () => {
    await recordTrace(async (api) => {
      for (const prompt of [prose, { text: prose }]) {
        const { warnings } = await api.accept('placements.create', { as: key, body: asked({ prompt }) })
        expect(warnings).toEqual(['prompt_text_discarded'])
      }
      const topic = await api.accept('placements.create', { as: key, body: asked({ prompt: { topic: 'tea' } }) })
      expect(topic.warnings).toEqual([])
      const denied = { client_id: 'proj_strict', consent: { prompt_shared: true, semantic_targeting: false } }
      const body = asked({ prompt: prose, ...denied })
      const response = await api.accept('placements.create', { as: 'sk_test_sandbox_strict', body })
      expect(response.warnings).toEqual(['prompt_text_discarded'])
      return []
    })
  })

  test('when the consent that shared it has been withdrawn', async () => {
    const { surfaces } = await recordTrace(async (api) => {
      const session = { client_id: 'proj_demo', session_id: 'sess_1' }
      await api.accept('consent.set', { as: key, body: { ...session, purposes: { prompt_shared: true } } })
      await api.accept('consent.set', {
        as: key,
        body: { ...session, decision: 'withdrawn', purposes: { prompt_shared: true } },
      })
      const { warnings } = await api.accept('placements.create', { as: key, body: asked({ prompt: prose }) })
      expect(warnings).toEqual(['prompt_text_discarded'])
      return []
    })
    expect(found(surfaces)).toEqual([])
  })

  test('in bodies that fail validation', async () => {
    await expectNowhere([
      post('/v1/placements', asked({ prompt: `${prose}${'.'.repeat(8_000)}` })),
      post('/v1/placements', asked({ prompt: { text: prose }, job_type: 'video' })),
      post('/v1/placements', asked({ prompt: [prose] })),
      post('/v1/placements', asked({ prompt: { messages: [{ role: 'user', content: prose }] } })),
      post('/v1/placements', asked({ prompt: prose, client_id: 'proj_other' })),
      post('/v1/placements', asked({ prompt: prose, overrides: { allowed_formats: [] } })),
      post('/v1/placements', asked({ session_id: `${prose}\n` })),
      post('/v1/placements', asked({ session_id: prose, job_type: 'video' })),
      post('/v1/placements', asked({ test_outcome: prose })),
      post('/v1/jobs', { prompt: prose }),
      post('/v1/jobs', { contract_version: 'a/v2', job: { job_type: 'chat' }, prompt: prose }),
      post('/v1/consent', { client_id: 'proj_demo', session_id: 's', prompt: prose }),
      post('/v1/beacons', { beacon_id: 'beacon-1', prompt: prose, event: prose }),
      post('/v1/placements', asked({ prompt: prose }), { as: 'sk_test_unknown' }),
      post('/v1/placements', asked({ prompt: prose }), { origin }),
      post('/v1/nowhere', asked({ prompt: prose })),
      ['PUT', '/v1/placements', { as: key, body: asked({ prompt: prose }) }],
      post('/v1/browser/activate', { publishable_key: prose, prompt: prose }, { origin }),
      post('/v1/browser/activate', { publishable_key: 'pk_test_sandbox_demo', prompt: prose }, { origin }),
    ])
  })

  test('in unknown fields of any name', async () => {
    const members = ['prompt_text', 'text', 'note', 'messages', 'source', 'decision', 'event', '__proto__']
    const calls = members.flatMap((name) => [
      post('/v1/placements', asked({ [name]: prose })),
      post('/v1/placements', asked({ prompt: { [name]: prose } })),
      post('/v1/placements', asked({ consent: { [name]: prose } })),
      post('/v1/jobs', { client_id: 'proj_demo', [name]: prose }),
    ])
    await expectNowhere(calls)
  })

  test('as the name of a field', async () => {
    await expectNowhere([
      post('/v1/placements', asked({ [prose]: 1 })),
      post('/v1/placements', asked({ prompt: { [prose]: '' } })),
      post('/v1/placements', asked({ overrides: { [prose]: { a: 1 } } })),
    ])
  })

  test('a single word inside a prompt is removed like a sentence', async () => {
    const members = ['text', 'source', 'decision', 'event', 'position', 'session_id', 'timing']
    await expectNowhere(members.map((name) => post('/v1/placements', asked({ typo: 1, prompt: { [name]: oneWord } }))))
  })

  test('twice in one body, where only the last counts', async () => {
    const twice = (name: string, last: string) =>
      JSON.stringify(asked()).replace('{', `{${JSON.stringify(name)}:${JSON.stringify(prose)},"${name}":${last},`)
    const bodies = [twice('prompt', '{"topic":"tea"}'), twice('consent', '{}'), twice('overrides', '{}')]
    await expectNowhere(bodies.map((raw) => ['POST', '/v1/placements', { as: key, raw }]))
  })

  test('in malformed JSON, in other media types, in bodies that are too large', async () => {
    const body = JSON.stringify(asked({ prompt: prose }))
    await expectNowhere([
      ['POST', '/v1/placements', { as: key, raw: body.slice(0, -1) }],
      ['POST', '/v1/placements', { as: key, raw: prose }],
      ['POST', '/v1/placements', { as: key, raw: JSON.stringify(prose) }],
      ['POST', '/v1/placements', { as: key, raw: JSON.stringify([prose]) }],
      ['POST', '/v1/placements', { as: key, raw: body, headers: { 'content-type': 'text/plain' } }],
      ['POST', '/v1/placements', { as: key, raw: body.replace('{', `{"pad":"${'x'.repeat(66_000)}",`) }],
      ['POST', '/v1/placements', { as: key, raw: body.replace('{', `{"pad":"${'x'.repeat(66_000)}",`), chunked: true }],
      ['POST', '/v1/beacons', { as: key, raw: `{"metadata":"${prose}"` }],
    ])
  })

  test('in the query', async () => {
    const query = `prompt=${encodeURIComponent(prose)}&q=${oneWord}`
    await expectNowhere([
      ['POST', `/v1/placements?${query}`, { as: key, body: asked() }],
      ['GET', `/v1/decisions/slot_1?${query}`, { as: key }],
      ['GET', `/v1/nothing?${query}`, {}],
    ])
  })

  test('with an activation token', async () => {
    const { surfaces } = await recordTrace(async (api) => {
      const as = await activate(api)
      await api.accept('placements.create', { as, origin, body: asked({ prompt: prose }) })
      const browser = { contract_version: 'a/v1', job: { job_type: 'chat' }, prompt: prose }
      await api.accept('jobs.create', { as, origin, body: browser })
      return []
    })
    expect(found(surfaces)).toEqual([])
  })
})

describe('with consent', () => {
  test('only the length and the derived topic are stored; partners get the topic, never the text', async () => {
    const text = `${prose}, over a cup of coffee`
    const consent = { prompt_shared: true, semantic_targeting: true }
    const { surfaces } = await recordTrace(async (api) => {
      for (const prompt of [text, { text }]) {
        const { body, warnings } = await api.accept('placements.create', { as: key, body: asked({ prompt, consent }) })
        expect(warnings).toEqual([])
        const { slot_id } = body
        const { body: detail } = await api.accept('placements.explain', { params: { slot_id } })
        expect(detail).toMatchObject({ topic: 'coffee', prompt_length: text.length })
        expect(detail.partner_request?.topic).toBe('coffee')
        expect(Object.keys(detail.partner_request ?? {})).not.toContain('prompt')
      }
      return []
    })
    expect(found(surfaces)).toEqual([])
  })

  test('without semantic_targeting the derived topic does not take part and partners do not get it', async () => {
    await recordTrace(async (api) => {
      const body = asked({ prompt: 'an espresso machine', consent: { prompt_shared: true } })
      const { slot_id } = (await api.accept('placements.create', { as: key, body })).body
      const { body: detail } = await api.accept('placements.explain', { params: { slot_id } })
      expect([detail.topic, detail.partner_request?.topic]).toEqual([null, null])
      return []
    })
  })

  test('a topic derived from the prompt is dropped when prompt_shared was withdrawn before the decision', async () => {
    using dir = folder()
    const database = join(dir.path, 'sandbox.db')
    {
      await using on = await stage({ database, decision_latency_ms: 1_000 })
      const { api } = on
      const consent = { prompt_shared: true, semantic_targeting: true }
      const prompt = { topic: 'tea', text: 'an espresso machine, and how to build a bomb' }
      const params = {
        slot_id: (await api.accept('jobs.create', { as: key, body: asked({ prompt, consent }) })).body.slot_ids[0]!,
      }
      const purposes = { prompt_shared: false, semantic_targeting: true }
      await api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id: 'sess_1', purposes } })
      on.clock.advance(1_000)
      const call = { as: key, params, query: { wait_ms: 1_000 } }
      expect((await api.accept('decisions.get', call)).body.decision?.fill).toBe(true)
      const detail = (await api.accept('placements.explain', { params })).body
      expect([detail.topic, detail.partner_request?.topic]).toEqual(['tea', 'tea'])
    }
    let facts = ''
    edit(database, (db) => {
      facts = db.prepare('SELECT facts FROM job').pluck().get() as string
    })
    await using _ = await stage({ database })
    expect(JSON.parse(facts)).toMatchObject({ topic: 'tea', prompt_length: 44 })
    expect(facts).not.toContain('derived_topic')
  })

  test('a topic is a signal, and is stored', async () => {
    await recordTrace(async (api) => {
      const body = asked({ prompt: { topic: 'coffee', text: prose }, consent: { semantic_targeting: true } })
      const { slot_id } = (await api.accept('placements.create', { as: key, body })).body
      const { body: detail } = await api.accept('placements.explain', { params: { slot_id } })
      expect([detail.topic, detail.prompt_length]).toEqual(['coffee', null])
      return []
    })
  })
})

test('no key and no token is in the file or in responses of the control plane', async () => {
  const { surfaces } = await recordTrace(async (api, { clock }) => {
    const as = await activate(api)
    const filled = await fill(api, { as })
      .catch(() => null)
      .then(async (failed) => failed ?? fill(api))
    await api.accept('placements.create', { as, origin, body: asked() })
    const { text } = await api.accept('render.frame', { params: { asset_token: filled.asset_token } })
    const beaconToken = /bt_[0-9a-z]{11}_[A-Za-z0-9_-]{43}/.exec(text)![0]
    await api.accept('beacons.send', { as: beaconToken, origin, body: beacon(clock, filled, 'render') })
    await api.refuse('beacons.send', { as: key, body: { asset_token: filled.asset_token, metadata: as } })
    await api.send('GET', `/v1/decisions/${filled.asset_token}?token=${as}`, { as: key })
    await api.send('GET', `/v1/${beaconToken}`, { as: key })
    return []
  })
  const secrets = /(ast|at|bt)_[0-9a-z]{11}_[A-Za-z0-9_-]{43}|(sk|pk)_(test|live)_(?!redacted)[a-z]/
  for (const surface of surfaces) expect(secrets.exec(surface)?.[0].slice(0, 12)).toBeUndefined()
})

test('no secret and no prompt text is stored or sent on, from places of requests: a sample of the whole matrix', async () => {
  const { tried, found } = await leaks(160)
  expect(tried).toBeGreaterThan(100)
  expect(found).toEqual([])
})

test('a secret where none belongs is refused by its field, and an asset token is taken out', async () => {
  await using on = await stage()
  const [at, { asset_token }] = [await activate(on.api), await fill(on.api)]
  const refusals: [EndpointId, Call, string[]][] = [
    ['placements.create', { as: key, body: asked({ session_id: key }) }, ['session_id']],
    ['placements.create', { as: key, body: asked({ prompt: { topic: `x ${at}` } }) }, ['prompt.topic']],
    [
      'jobs.create',
      { as: key, body: asked({ callback_url: 'https://a.example/?k=sk%255Flive%255Fa' }) },
      ['callback_url'],
    ],
    ['beacons.send', { as: key, body: beacon(on.clock, { asset_token }, 'render', { metadata: { [at]: 1 } }) }, []],
    ['placements.create', { as: key, query: { wait_ms: at }, body: asked() }, ['wait_ms']],
    ['projects.update', { params: { client_id: 'proj_demo' }, body: { label_text: liveKey } }, ['label_text']],
    ['snapshots.save', { params: { name: key }, body: {} }, ['name']],
  ]
  for (const [id, call, paths] of refusals) {
    const { body, text } = await on.api.refuse(id, call)
    expect([id, body.reason_code]).toEqual([id, 'secret_in_field'])
    if (paths.length > 0) expect(body.fields.map(({ path }) => path)).toEqual(paths)
    expect(text).not.toMatch(/x{8}|sandbox_demo|_live_a/)
    expect(text).not.toContain(at.slice(-43))
  }
  for (const path of ['/v1/render.js', '/v1/test-assets/banner', '/v1/render/ast_x']) {
    const response = await fetch(`${on.sandbox.url}${path}?v=${key}`)
    const text = await response.text()
    expect([path, response.status, text]).toEqual([path, 400, expect.stringContaining('secret_in_field')])
    expect(text).not.toContain(key)
  }
  // Its own error says more where a publishable key belongs.
  const activation = { origin, body: { publishable_key: key } }
  expect((await on.api.refuse('browser.activate', activation)).body.reason_code).toBe('key_class')
  // Names that only look like one are names, and publishable keys are public.
  for (const session_id of ['task_test_1', 'look_at_impressions_per_placement', publishable]) {
    await on.api.accept('placements.create', { as: key, body: asked({ session_id }) })
  }
  const named = beacon(on.clock, { asset_token }, 'render', { beacon_id: `${asset_token}-render` })
  expect((await on.api.accept('beacons.send', { as: key, body: named })).warnings).toEqual(['asset_token_removed'])
  expect((await on.api.accept('beacons.send', { as: key, body: named })).body.duplicate).toBe(true)
  const { beacon_id } = (await on.api.accept('beacons.list', { query: { verdict: 'accepted' } })).body.items[0]!
  expect(beacon_id).toBe(`${asset_token.slice(0, 16)}redacted-render`)
})

test('the key of the install is not in the database, and only its owner can read it', async () => {
  using dir = folder()
  const database = join(dir.path, 'sandbox.db')
  await (await startSandbox({ database, clock: manualClock() })).close()
  expect(existsSync(`${database}.key`)).toBe(true)
  const secret = readFileSync(`${database}.key`, 'utf8').trim()
  expect(readFileSync(database, 'latin1')).not.toContain(secret)
})
