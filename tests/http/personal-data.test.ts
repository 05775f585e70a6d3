/** Personal data in session ids, topics, metadata and labels (A116): a warning, or a refusal that keeps nothing of it. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { storedTexts } from '#tests/postgres/shared-store.ts'
import { asked, beacon, fill, folder, key, stage } from './stage.ts'

const email = 'zephyrine.k@example.org'
const targeted = { semantic_targeting: true }

describe('by default', () => {
  test('each kind of field comes with its warning, and the request goes on', async () => {
    await using on = await stage()
    const cases: [more: Record<string, unknown>, warnings: string[]][] = [
      [{ prompt: { topic: `reset the password of ${email}` } }, ['personal_data']],
      [{ context: { topic: 'call +44 7700 900123' } }, ['personal_data']],
      [{ overrides: { targeting: { segment: { owner: email } } } }, ['personal_data']],
      [{ publisher: { app_name: email } }, ['personal_data']],
      [{ session_id: `chat:${email}:1` }, ['session_id_personal']],
      [{ session_id: email, prompt: { topic: email } }, ['session_id_personal', 'personal_data']],
      [{ prompt: { topic: '5 minutes from 12 Baker Street movie' } }, []],
    ]
    for (const [more, expected] of cases) {
      const { warnings } = await on.api.accept('placements.create', { as: key, body: asked(more) })
      expect([more, warnings]).toEqual([more, expected])
      expect((await on.api.accept('jobs.create', { as: key, body: asked(more) })).warnings).toEqual(expected)
    }
    const job = { contract_version: 'csl_wrapper_ingress_create/v1', job: {}, context: { topic: email } }
    expect((await on.api.accept('jobs.create', { as: key, body: job })).warnings).toContain('personal_data')
  })

  test('metadata of a beacon too, also in the shape of old clients', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render', { metadata: { turn_id: 'm1', user: { email } } })
    expect((await on.api.accept('beacons.send', { as: key, body })).warnings).toEqual(['personal_data'])
    const { beacon_id, asset_token } = beacon(on.clock, filled, 'heartbeat')
    const old = {
      ...{ contract_version: 'csl_wrapper_beacon/v1', beacon_id, asset_token, beacon_type: 'heartbeat' },
      ...{ occurred_at_ms_client: on.clock.now(), measurements: { owner: email } },
    }
    expect((await on.api.accept('wrapper.beacon', { as: key, body: old })).warnings).toEqual(['personal_data'])
  })

  test('a prompt is no topic: its text has its own rule', async () => {
    await using on = await stage()
    for (const prompt of [`write to ${email}`, { text: `write to ${email}` }]) {
      const { warnings } = await on.api.accept('placements.create', { as: key, body: asked({ prompt }) })
      expect(warnings).toEqual(['prompt_text_discarded'])
    }
  })

  test('an explanation names what partners would have received, and nothing that they would not', async () => {
    await using on = await stage()
    const explain = async (more: Record<string, unknown>) => {
      const { slot_id } = (await on.api.accept('placements.create', { as: key, body: asked(more) })).body
      return (await on.api.accept('placements.explain', { params: { slot_id } })).body
    }
    const topic = `coffee for ${email}, call +44 7700 900123`
    const sent = await explain({ session_id: 's1', prompt: { topic }, consent: targeted })
    expect([sent.partner_request?.topic, sent.personal_data]).toEqual([
      topic,
      [{ path: 'topic', kinds: ['email_address', 'phone_number'] }],
    ])
    const kept = await explain({ session_id: 's2', prompt: { topic }, consent: { semantic_targeting: false } })
    expect([kept.partner_request?.topic, kept.personal_data]).toEqual([null, []])
    const clean = await explain({ session_id: 's3', prompt: { topic: 'coffee' }, consent: targeted })
    expect(clean.personal_data).toEqual([])
  })
})

describe('with personal_data: reject', () => {
  const reject = { params: { client_id: 'proj_demo' }, body: { personal_data: 'reject' } }

  test('the request is refused with the fields, never the values, and nothing of them is kept', async () => {
    using dir = folder()
    const database = join(dir.path, 'sandbox.db')
    const responses: string[] = []
    {
      await using on = await stage({ database })
      const filled = await fill(on.api)
      await on.api.accept('projects.update', reject)
      const asking = (more: Record<string, unknown>) => ({ as: key, body: asked(more) })
      const refusals = [
        ['placements.create', asking({ prompt: { topic: `for ${email}` } }), ['prompt.topic']],
        ['placements.create', asking({ session_id: email }), ['session_id']],
        [
          'jobs.create',
          asking({ targeting: { [email]: { a: email } }, chat_session_id: email }),
          ['chat_session_id', 'targeting.[name]', 'targeting.[name].a'],
        ],
        ['consent.set', { as: key, body: { client_id: 'proj_demo', session_id: email } }, ['session_id']],
        [
          'beacons.send',
          { as: key, body: beacon(on.clock, filled, 'render', { metadata: { email } }) },
          ['metadata.email'],
        ],
      ] as const
      for (const [id, call, paths] of refusals) {
        const { body, text, status } = await on.api.refuse(id, call)
        expect([id, status, body.reason_code]).toEqual([id, 400, 'personal_data_in_field'])
        expect(body.fields.map(({ path }) => path)).toEqual(paths)
        expect(body.fields[0]).toMatchObject({ message: 'seems to contain an e-mail address' })
        responses.push(text)
      }
      const { body: requests, text } = await on.api.accept('requests.list', { query: { limit: 100 } })
      expect(requests.items.filter(({ status }) => status === 400)).toHaveLength(refusals.length)
      responses.push(text)
      for (const { request_id } of requests.items) {
        responses.push((await on.api.accept('requests.show', { params: { request_id } })).text)
      }
      const { body: beacons } = await on.api.accept('beacons.list', { query: { reason: 'personal_data_in_field' } })
      expect(beacons.items).toMatchObject([{ verdict: 'rejected', slot_id: filled.slot_id, event: 'render' }])
      const { body: placements } = await on.api.accept('placements.list')
      expect(placements.items).toHaveLength(1)
    }
    const stored = await storedTexts({ database })
    expect([...responses, ...stored].filter((each) => each.includes('zephyrine'))).toEqual([])
    expect(responses.join()).toContain(`"topic\\":\\"[removed: ${`for ${email}`.length} characters]`)
  })

  test('other requests go on, and null brings the warning back', async () => {
    await using on = await stage()
    await on.api.accept('projects.update', reject)
    await on.api.accept('placements.create', { as: key, body: asked({ prompt: { topic: 'coffee' } }) })
    const personal = { as: key, body: asked({ prompt: { topic: email } }) }
    await on.api.refuse('placements.create', personal)
    await on.api.accept('projects.update', { ...reject, body: { personal_data: null } })
    expect((await on.api.accept('placements.create', personal)).warnings).toEqual(['personal_data'])
  })
})
