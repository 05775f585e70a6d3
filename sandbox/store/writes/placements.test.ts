import { describe, expect, test } from 'vitest'
import type { ConsentRecord } from '#domain/consent.ts'
import { recordWrite } from '#tests/recorded-writes.ts'
import type { CapGuard, ConsentWrite, EvidenceDraft, JobRow, NewSlot, StoredDecision } from '../store.ts'
import type { Transaction } from './transaction.ts'

const session = { project_id: 1, session_id: 'sess_1' }
const evidence: EvidenceDraft = { kind: 'decision', ref: 20, at_ms: 5_000, build: String }
const purposes = { semantic_targeting: true, prompt_shared: false }

/** The consent that the decisions below were made with. */
const inForce: ConsentRecord = {
  id: 3,
  revision: 2,
  state: 'granted',
  source: 'wrapper_cmp',
  ...purposes,
  extras: '{}',
  updated_at_ms: 4_000,
  expires_at_ms: 9_000,
}

const noFill: StoredDecision = {
  decided_at_ms: 5_000,
  outcome: { status: 'no_fill', reason: 'no_demand' },
  label_text: 'Sponsored',
  consent: {
    lifecycle_state: 'granted',
    revision: 2,
    updated_at_ms: 4_000,
    expires_at_ms: 9_000,
    source: 'wrapper_cmp',
    purposes,
  },
  trace: '',
  catalogue: 1,
  topic: null,
}

const fill: StoredDecision = {
  ...noFill,
  outcome: {
    status: 'filled',
    format: 'banner',
    campaign_id: 'cmp_a',
    creative_id: 'crv_a',
    width: 300,
    height: 250,
    duration_ms: null,
    gross_cpm: 1,
    currency: 'EUR',
    template_id: null,
    asset_token_hash: Buffer.of(1),
  },
}

const job: JobRow = {
  id: 10,
  ...session,
  job_type: 'chat',
  mode: 'test',
  key_id: 4,
  created_at_ms: 5_000,
  facts: {},
}

const consent: ConsentWrite = {
  id: 11,
  ...session,
  expected: null,
  draft: { ...inForce, renews: false },
  evidence: { ...evidence, kind: 'consent' },
}

function slot(id: number, decision: StoredDecision | null): NewSlot {
  return { id, due_at_ms: 6_000, decision, evidence: decision === null ? null : evidence }
}

const interval: CapGuard = { kind: 'interval', ...session, job_id: 10, jobs: 3 }
const atMost = (most: number, campaign?: { campaign_id: string }): CapGuard => ({
  ...{ kind: 'fills', ...session, since_ms: 0, most },
  ...campaign,
})

describe('a job', () => {
  const create = (
    slots: NewSlot[],
    { job: own = job, consent: sent = null as ConsentWrite | null, caps = [] as CapGuard[] } = {},
    rows: Partial<Transaction> = {},
  ) => recordWrite((methods) => methods.createJob(own, slots, sent, caps), rows)

  test('is written with its slots, the evidence of those that are decided, and an event each', async () => {
    const [pending, decided] = [slot(20, null), slot(21, noFill)]
    expect(await create([pending, decided])).toEqual({
      result: true,
      needs: { projects: [1], sessions: [session], caps: [] },
      changes: [
        ['insertJob', job],
        ['insertSlot', job, pending],
        ['appendEvent', { type: 'job.created', at_ms: 5_000, project_id: 1, slot_id: 20, ref: 20 }],
        ['insertSlot', job, decided],
        ['appendEvidence', 1, 21, evidence],
        ['appendEvent', { type: 'placement.decided', at_ms: 5_000, project_id: 1, slot_id: 21, ref: 21 }],
      ],
    })
  })

  test('without a session needs none, and no consent can have changed', async () => {
    const own = { ...job, session_id: null }
    const { result, needs } = await create([slot(20, fill)], { job: own }, { newestConsent: () => inForce })
    expect([result, needs]).toEqual([true, { projects: [1], sessions: [], caps: [] }])
  })

  test('has a callback for each slot when it names a URL', async () => {
    const own = { ...job, facts: { callback_url: 'http://localhost/decided' } }
    const { changes } = await create([slot(20, null)], { job: own })
    expect(changes.map(([method]) => method)).toEqual(['insertJob', 'insertCallback', 'insertSlot', 'appendEvent'])
    expect(changes[1]?.[1]).toEqual({
      slot_id: 20,
      project_id: 1,
      key_id: 4,
      url: 'http://localhost/decided',
      status: 'waiting',
      attempts: 0,
      created_at_ms: 5_000,
    })
  })

  test('writes the consent that was sent first, and nothing when another one was stored meanwhile', async () => {
    const { result, changes } = await create([slot(20, fill)], { consent })
    expect(result).toBe(true)
    expect(changes.map(([method]) => method)).toEqual([
      ...['insertConsent', 'appendEvidence', 'appendEvent'],
      ...['insertJob', 'insertSlot', 'appendEvidence', 'appendEvent'],
    ])
    const refused = await create([slot(20, fill)], { consent }, { newestConsent: () => inForce })
    expect([refused.result, refused.changes]).toEqual([false, []])
  })

  test.each<[string, Partial<ConsentRecord>]>([
    ['revision', { revision: 3 }],
    ['time', { updated_at_ms: 4_001 }],
    ['source', { source: 'none' }],
  ])('whose decision was made with a consent of another %s writes nothing', async (_, change) => {
    const newestConsent = () => ({ ...inForce, ...change })
    const { result, changes } = await create([slot(19, null), slot(20, fill)], {}, { newestConsent })
    expect([result, changes]).toEqual([false, []])
    expect((await create([slot(19, null)], {}, { newestConsent })).result).toBe(true)
    expect((await create([slot(20, fill)], {}, { newestConsent: () => inForce })).result).toBe(true)
  })

  test('is not compared by its own consent, which was written with it', async () => {
    const expected = { ...inForce, revision: 1 }
    const sent = { ...consent, expected }
    const { result } = await create([slot(20, fill)], { consent: sent }, { newestConsent: () => expected })
    expect(result).toBe(true)
  })

  test.each([
    [1, 1, true],
    [2, 1, false],
    [1, 2, false],
    [2, 0, true],
  ])('with %i fills beside %i others of at most 2 is written: %s', async (fills, count, result) => {
    const slots = [slot(18, noFill), slot(19, null), ...[20, 21].slice(0, fills).map((id) => slot(id, fill))]
    const caps = [atMost(2)]
    const created = await create(slots, { caps }, { countFills: () => count })
    expect(created.result).toBe(result)
    expect(created.needs).toEqual({ projects: [1], sessions: [session], caps })
    expect(created.changes.some(([method]) => method === 'insertJob')).toBe(result)
  })

  test('counts the fills of the campaign that a cap is of', async () => {
    const campaign_id = fill.outcome.status === 'filled' ? fill.outcome.campaign_id : ''
    const slots = [slot(20, fill), slot(21, fill)]
    const written = async (id: string) =>
      (await create(slots, { caps: [atMost(1, { campaign_id: id })] }, { countFills: () => 0 })).result
    expect([await written(campaign_id), await written('cmp_other')]).toEqual([false, true])
  })

  test('without a fill is written whatever the caps', async () => {
    const full = { countFills: () => 2, hasFillWithin: () => true }
    expect((await create([slot(20, noFill)], { caps: [atMost(2), interval] }, full)).result).toBe(true)
  })

  test('needs room under every cap', async () => {
    const rows = (within: boolean, count: number) => ({ hasFillWithin: () => within, countFills: () => count })
    const caps = [interval, atMost(2)]
    expect((await create([slot(20, fill)], { caps }, rows(false, 0))).result).toBe(true)
    expect((await create([slot(20, fill)], { caps }, rows(true, 0))).result).toBe(false)
    expect((await create([slot(20, fill)], { caps }, rows(false, 2))).result).toBe(false)
  })
})

describe('a decision', () => {
  const bind = (change: object = {}, rows: Partial<Transaction> = { bindSlot: () => 1 }) => {
    const decision = { slot_id: 20, session, decision: fill, evidence, caps: [atMost(2)], dropsTopic: false }
    return recordWrite((methods) => methods.bindDecision({ ...decision, ...change }), rows)
  }

  test('is bound with its evidence and event', async () => {
    const bound = await bind()
    expect(bound.result).toBe('bound')
    expect(bound.needs).toEqual({ projects: [1], slots: [20], sessions: [session], caps: [atMost(2)] })
    expect(bound.changes).toEqual([
      ['bindSlot', 20, fill],
      ['appendEvidence', 1, 20, evidence],
      ['appendEvent', { type: 'placement.decided', at_ms: 5_000, project_id: 1, slot_id: 20, ref: 20 }],
    ])
  })

  test('drops the topic of prompt text first where it has to', async () => {
    expect((await bind({ dropsTopic: true })).changes.slice(0, 2)).toEqual([
      ['dropTopic', 20],
      ['bindSlot', 20, fill],
    ])
  })

  test('leaves a slot alone that is decided', async () => {
    const decided = await bind({}, { bindSlot: () => null })
    expect([decided.result, decided.changes]).toEqual(['decided', [['bindSlot', 20, fill]]])
  })

  test('writes nothing when a cap was reached; a no-fill has none', async () => {
    const capped = await bind({}, { countFills: () => 2 })
    expect([capped.result, capped.changes]).toEqual(['capped', []])
    expect((await bind({ decision: noFill }, { countFills: () => 2, bindSlot: () => 1 })).result).toBe('bound')
    expect((await bind({}, { countFills: () => 1, bindSlot: () => 1 })).result).toBe('bound')
  })

  test('writes nothing when its consent was superseded', async () => {
    const rows = { bindSlot: () => 1, newestConsent: () => ({ ...inForce, revision: 3 }) }
    const superseded = await bind({ dropsTopic: true }, rows)
    expect([superseded.result, superseded.changes]).toEqual(['superseded', []])
    const asked: unknown[] = []
    const newestConsent = (named: unknown) => {
      asked.push(named)
      return inForce
    }
    expect((await bind({}, { bindSlot: () => 1, newestConsent })).result).toBe('bound')
    expect(asked).toEqual([session])
    const alone = await bind({ session: { project_id: 1, session_id: null } }, rows)
    expect([alone.result, alone.needs]).toEqual([
      'bound',
      { projects: [1], slots: [20], sessions: [], caps: [atMost(2)] },
    ])
  })
})

test('the load of a frame sets its time, adds the beacon token, and emits an event', async () => {
  const token = {
    id: 30,
    hash: Buffer.of(2),
    project_id: 1,
    key_id: 4,
    mode: 'test' as const,
    origin: null,
    slot_id: 20,
    expires_at_ms: 9_000,
  }
  expect(await recordWrite((methods) => methods.recordFrame(20, 5_000, token))).toEqual({
    result: undefined,
    needs: {},
    changes: [
      ['setFirstFrame', 20, 5_000],
      ['insertActivation', token, 5_000],
      ['appendEvent', { type: 'frame.loaded', at_ms: 5_000, project_id: 1, slot_id: 20, ref: 20 }],
    ],
  })
})

test('another hash of an asset token has evidence in the chain of its project', async () => {
  const hash = Buffer.of(3)
  const { changes, needs } = await recordWrite((methods) => methods.replaceAssetToken(20, hash, evidence))
  expect(needs).toEqual({ slots: [20] })
  expect(changes).toEqual([
    ['setAssetHash', 20, hash],
    ['appendEvidence', 1, 20, evidence],
  ])
})
