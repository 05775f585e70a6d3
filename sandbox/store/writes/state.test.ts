import { describe, expect, test } from 'vitest'
import { recordWrite } from '#tests/recorded-writes.ts'
import type { FaultState } from '../store.ts'
import { seedRows, stateEvent } from './state.ts'

describe('the clock', () => {
  const clock = { offset_ms: 60, frozen_at_ms: 5_000 }
  const save = (from: typeof clock | null | undefined, stored: typeof clock | null) =>
    recordWrite((methods) => methods.saveClock(clock, from, 6_000), { findClock: () => stored })

  test('is stored with an event', async () => {
    expect(await save(undefined, { offset_ms: 1, frozen_at_ms: 2 })).toEqual({
      result: true,
      needs: { projects: [0], values: ['clock'] },
      changes: [
        ['saveClock', clock],
        ['appendEvent', { type: 'clock.changed', at_ms: 6_000, project_id: null, slot_id: null, ref: 5_000 }],
      ],
    })
  })

  test.each<[string, typeof clock | null, typeof clock | null, boolean]>([
    ['the one that was read', clock, clock, true],
    ['none, as was read', null, null, true],
    ['none', clock, null, false],
    ['one where none was read', null, clock, false],
    ['one of another offset', clock, { ...clock, offset_ms: 61 }, false],
    ['one that is frozen elsewhere', clock, { ...clock, frozen_at_ms: 5_001 }, false],
  ])('is compared with the stored one: %s', async (_, from, stored, result) => {
    const saved = await save(from, stored)
    expect([saved.result, saved.changes.length]).toEqual([result, result ? 2 : 0])
  })
})

describe('the state', () => {
  const faults: FaultState = { scenario: 'slow', added: 2, rules: [] }

  test('has fault rules, which are those at the time of the commit', async () => {
    expect(await recordWrite((methods) => methods.saveFaults(() => faults))).toEqual({
      result: undefined,
      needs: { projects: [0] },
      changes: [['saveFaults', faults]],
    })
    const change = (stored: FaultState | null) => ({ ...faults, added: (stored?.added ?? 0) + 1 })
    expect(await recordWrite((methods) => methods.updateFaults(change), { findFaults: () => faults })).toEqual({
      result: undefined,
      needs: { projects: [0], values: ['faults'] },
      changes: [['saveFaults', { ...faults, added: 3 }]],
    })
  })

  test('has events that change nothing else', async () => {
    const event = stateEvent('sandbox.reset', 5_000)
    expect(event).toEqual({ type: 'sandbox.reset', at_ms: 5_000, project_id: null, slot_id: null, ref: null })
    expect(await recordWrite((methods) => methods.appendEvent(event))).toEqual({
      result: undefined,
      needs: {},
      changes: [['appendEvent', event]],
    })
  })

  test('is seeded with rows that are numbered from 1', () => {
    const hash = Buffer.of(1)
    const keys = [{ class: 'secret' as const, mode: 'test' as const, hash }]
    const seed = {
      projects: [
        { client_id: 'proj_a', tenant: 8, settings: {}, keys },
        { client_id: 'proj_b', tenant: 9, settings: { fill_rate: 0.5 }, keys },
      ],
      catalogue: { sha256: '', demand: '' },
    }
    expect(seedRows(seed, 5_000)).toEqual({
      projects: [
        { id: 1, client_id: 'proj_a', tenant_id: 8, config_revision: 1, settings: '{}' },
        { id: 2, client_id: 'proj_b', tenant_id: 9, config_revision: 1, settings: '{"fill_rate":0.5}' },
      ],
      keys: [
        { id: 1, project_id: 1, ...keys[0], created_at_ms: 5_000 },
        { id: 2, project_id: 2, ...keys[0], created_at_ms: 5_000 },
      ],
    })
  })
})
