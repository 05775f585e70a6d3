import { describe, expect, test } from 'vitest'
import { defaultSettings } from '#contract/resources/projects.ts'
import type { ConsentRecord } from '#domain/consent.ts'
import { recordWrite } from '#tests/recorded-writes.ts'
import type {
  BeaconRow,
  BeaconTerms,
  ConsentWrite,
  EvidenceDraft,
  KeyListRow,
  NewActivation,
  NewKey,
  ProjectRow,
  UnacceptedBeaconRow,
} from '../store.ts'

const evidence: EvidenceDraft = { kind: 'beacon', ref: 40, at_ms: 5_000, build: (seq) => `entry ${seq}` }

const session = { project_id: 1, session_id: 'sess_1' }
const fields = {
  revision: 2,
  state: 'granted',
  source: 'wrapper_cmp',
  semantic_targeting: true,
  prompt_shared: true,
  extras: '{}',
  updated_at_ms: 4_000,
  expires_at_ms: 9_000,
} as const
const newest: ConsentRecord = { id: 3, ...fields, revision: 1, updated_at_ms: 3_000 }

describe('consent', () => {
  const consent: ConsentWrite = { id: 11, ...session, expected: newest, draft: { ...fields, renews: false }, evidence }
  const save = (write: ConsentWrite, stored: ConsentRecord | null) =>
    recordWrite((methods) => methods.saveConsent(write), { newestConsent: () => stored })
  const event = { type: 'consent.changed', at_ms: 4_000, project_id: 1, slot_id: null }

  test('is the next revision, with its evidence and event', async () => {
    const record = { id: 11, ...fields }
    expect(await save(consent, newest)).toEqual({
      result: record,
      needs: { projects: [1], sessions: [consent] },
      changes: [
        ['insertConsent', consent, record],
        ['appendEvidence', 1, null, evidence],
        ['appendEvent', { ...event, ref: 11 }],
      ],
    })
    expect((await save({ ...consent, expected: null }, null)).result).toEqual(record)
  })

  test('renews the record of its revision, which keeps its number', async () => {
    const write = { ...consent, draft: { ...fields, renews: true } }
    const record = { id: 3, ...fields }
    const { result, changes } = await save(write, newest)
    expect(result).toEqual(record)
    expect(changes).toEqual([
      ['renewConsent', write, record],
      ['appendEvidence', 1, null, evidence],
      ['appendEvent', { ...event, ref: 3 }],
    ])
    const first = await save({ ...write, expected: null }, null)
    expect(first.result).toEqual({ ...record, id: 11 })
  })

  test.each<[string, ConsentRecord | null, ConsentRecord | null]>([
    ['there is one and none was read', newest, null],
    ['there is none and one was read', null, newest],
    ['its revision is another', { ...newest, revision: 2 }, newest],
    ['it was renewed', { ...newest, updated_at_ms: 3_001 }, newest],
  ])('is not written when %s', async (_, stored, expected) => {
    const { result, changes } = await save({ ...consent, expected }, stored)
    expect([result, changes]).toEqual([null, []])
  })
})

describe('a beacon', () => {
  const beacon: BeaconRow = {
    id: 40,
    slot_id: 20,
    beacon_id: 'b1',
    event: 'render',
    occurred_at_ms: 4_900,
    received_at_ms: 5_000,
    body_sha256: 'aa',
    measurements: null,
    extras: '{}',
  }
  const unaccepted: UnacceptedBeaconRow = {
    id: 41,
    verdict: 'rejected',
    project_id: 1,
    slot_id: null,
    beacon_id: null,
    event: null,
    occurred_at_ms: null,
    received_at_ms: 5_000,
    reason_code: 'DUPLICATE',
  }

  const terms = { session, consent: null }
  const record = (rows: Parameters<typeof recordWrite>[1], own: BeaconTerms = terms) =>
    recordWrite((methods) => methods.recordBeacon(beacon, own, evidence), { insertBeacon: () => true, ...rows })

  test('that is accepted has evidence and an event, and returns those that billing judges', async () => {
    const judged = [{ ...beacon }]
    expect(await record({ judgedBeacons: () => judged })).toEqual({
      result: judged,
      needs: { projects: [1], sessions: [session], slots: [20], beacons: [beacon] },
      changes: [
        ['insertBeacon', beacon],
        ['appendEvidence', 1, 20, evidence],
        ['appendEvent', { type: 'beacon.accepted', at_ms: 5_000, project_id: 1, slot_id: 20, ref: 40 }],
      ],
    })
  })

  test('that is a duplicate has neither', async () => {
    const { result, changes } = await record({ insertBeacon: () => false })
    expect([result, changes]).toEqual([null, [['insertBeacon', beacon]]])
  })

  test.each<[string, ConsentRecord | null, ConsentRecord | null]>([
    ['one was stored', null, newest],
    ['it is gone', newest, null],
    ['it has another revision', newest, { ...newest, revision: 2 }],
    ['it was renewed', newest, { ...newest, updated_at_ms: 3_001 }],
  ])('is not written when the consent it was checked with is not the newest: %s', async (_, consent, stored) => {
    const { result, changes } = await record({ newestConsent: () => stored }, { session, consent })
    expect([result, changes]).toEqual(['superseded', []])
  })

  test('is compared with the consent of its own session, if it has one', async () => {
    const newestConsent = (named: object) => (JSON.stringify(named) === JSON.stringify(session) ? newest : null)
    expect((await record({ newestConsent }, { session, consent: newest })).result).toEqual([])
    const alone = { session: { project_id: 1, session_id: null }, consent: null }
    const { result, needs } = await record({ newestConsent: () => newest }, alone)
    expect([result, needs]).toEqual([[], { projects: [1], sessions: [], slots: [20], beacons: [beacon] }])
  })

  test.each(['rejected', 'duplicate'] as const)('that was %s has an event of that name', async (verdict) => {
    const row = { ...unaccepted, verdict }
    expect(await recordWrite((methods) => methods.recordUnaccepted(row))).toEqual({
      result: undefined,
      needs: {},
      changes: [
        ['insertUnaccepted', row],
        ['appendEvent', { type: `beacon.${verdict}`, at_ms: 5_000, project_id: 1, slot_id: null, ref: 41 }],
      ],
    })
  })
})

describe('a callback', () => {
  const update = { slot_id: 20, status: 'delivered', attempts: 1 } as Parameters<
    Parameters<Parameters<typeof recordWrite>[0]>[0]['updateCallback']
  >[0]

  test('has an event for each attempt, unless it is gone', async () => {
    const attempt = (project_id: number | null) =>
      recordWrite((methods) => methods.updateCallback(update, 'callback.delivered', 5_000), {
        updateCallback: () => project_id,
      })
    expect(await attempt(1)).toEqual({
      result: undefined,
      needs: { callbacks: [20] },
      changes: [
        ['updateCallback', update],
        ['appendEvent', { type: 'callback.delivered', at_ms: 5_000, project_id: 1, slot_id: 20, ref: 20 }],
      ],
    })
    expect((await attempt(null)).changes).toEqual([['updateCallback', update]])
  })
})

describe('a project', () => {
  const settings = { ...defaultSettings, fill_rate: 0.5 }
  const key: NewKey = { class: 'secret', mode: 'test', hash: Buffer.of(1) }
  const row: ProjectRow = { id: 1_000, client_id: 'proj_new', tenant_id: 1_000, config_revision: 1, settings }
  const insert = (rows: Parameters<typeof recordWrite>[1]) =>
    recordWrite((methods) => methods.insertProject('proj_new', settings, [key, key], 5_000), rows)

  test('is numbered after the seeded ones, as are its keys, and stores only its own settings', async () => {
    expect(await insert({ findProject: () => row })).toEqual({
      result: row,
      needs: { projects: [0], projectRows: ['proj_new'] },
      changes: [
        ['insertProject', { ...row, settings: '{"fill_rate":0.5}' }],
        ['insertKey', { id: 1_000, project_id: 1_000, ...key, created_at_ms: 5_000 }],
        ['insertKey', { id: 1_000, project_id: 1_000, ...key, created_at_ms: 5_000 }],
      ],
    })
  })

  test('is numbered after the last one', async () => {
    const { changes } = await insert({ lastId: (table) => ({ project: 1_004, api_key: 1_009 })[table] })
    expect(changes.map(([, value]) => (value as { id: number }).id)).toEqual([1_005, 1_010, 1_010])
  })

  test('of a client_id that is taken is not written', async () => {
    const { result, changes } = await insert({ hasProject: () => true })
    expect([result, changes]).toEqual([null, []])
  })

  test('has the next revision with other settings, if the expected one is stored', async () => {
    const save = (stored: ProjectRow | null, expected = 1) =>
      recordWrite((methods) => methods.saveSettings(1_000, expected, settings), { findProject: () => stored })
    expect(await save(row)).toEqual({
      result: row,
      needs: { projects: [1_000], projectRows: [1_000] },
      changes: [['saveSettings', 1_000, 2, '{"fill_rate":0.5}']],
    })
    expect(await save(row, 2)).toMatchObject({ result: null, changes: [] })
    expect(await save(null)).toMatchObject({ result: null, changes: [] })
  })

  test('gets another key', async () => {
    const added = { id: 1_000 } as KeyListRow
    expect(await recordWrite((methods) => methods.insertKey(7, key, 5_000), { findKey: () => added })).toEqual({
      result: added,
      needs: { projects: [0], projectRows: [7] },
      changes: [['insertKey', { id: 1_000, project_id: 7, ...key, created_at_ms: 5_000 }]],
    })
  })

  test('revokes a key the first time only', async () => {
    const revoke = (stored: KeyListRow | null) =>
      recordWrite((methods) => methods.revokeKey(9, 5_000), { findKey: () => stored })
    const stored = { id: 9, revoked_at_ms: null } as KeyListRow
    expect(await revoke(stored)).toEqual({
      result: stored,
      needs: { projects: [0], keys: [9] },
      changes: [['revokeKey', 9, 5_000]],
    })
    expect((await revoke({ ...stored, revoked_at_ms: 4_000 })).changes).toEqual([])
    expect(await revoke(null)).toMatchObject({ result: null, changes: [] })
  })
})

describe('a token', () => {
  test('of an activation emits an event', async () => {
    const activation = { id: 30, project_id: 1 } as NewActivation
    expect(await recordWrite((methods) => methods.insertActivation(activation, 5_000))).toEqual({
      result: undefined,
      needs: {},
      changes: [
        ['insertActivation', activation, 5_000],
        ['appendEvent', { type: 'browser.activated', at_ms: 5_000, project_id: 1, slot_id: null, ref: 30 }],
      ],
    })
  })

  test.each<[string | null | undefined, boolean, boolean]>([
    [null, true, true],
    ['http://a.test', true, false],
    ['http://b.test', false, false],
    [undefined, false, false],
  ])('bound to %s accepts http://a.test: %s', async (bound, result, isSet) => {
    const pin = recordWrite((methods) => methods.pinOrigin(30, 'http://a.test'), { findOrigin: () => bound })
    const changes = isSet ? [['setOrigin', 30, 'http://a.test']] : []
    expect(await pin).toEqual({ result, needs: { activations: [30] }, changes })
  })
})
