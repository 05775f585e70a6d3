/** The rule set as a whole. */
import { expect, test } from 'vitest'
import { agentFileRules, machineRules, sandboxRules } from '#cli/doctor/rules.ts'
import type { RuleText } from '../rule.ts'
import { beaconSlotRules } from './beacon-slots.ts'
import { beaconFileRules } from './beacons/file.ts'
import { observeRules } from './index.ts'

test('ids are unique, and every rule says what to do', () => {
  const sets = [observeRules, machineRules, agentFileRules, sandboxRules, beaconFileRules, beaconSlotRules]
  const rules = sets.flatMap((set): RuleText[] => Object.values(set))
  const ids = rules.map(({ id }) => id)
  expect(ids).toHaveLength(new Set(ids).size)
  for (const { id, fix } of rules) expect([id, fix]).toEqual([id, expect.stringMatching(/\S/)])
})

test('rules that qa observe prints say what is right, what a violation costs, and what they need', () => {
  const text = expect.stringMatching(/\S/)
  for (const { id, title, costs, needs } of Object.values(observeRules))
    expect([id, title, costs, needs]).toEqual([id, text, text, text])
})
