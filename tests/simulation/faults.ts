/** Ten faults of the kinds that cost acknowledged writes, put in on purpose: a history must show each of them. */
import type { Edit } from '#tests/mutations/mutation.ts'
import { mutations } from '#tests/mutations/mutations.ts'
import { storeMutations } from '#tests/mutations/store/mutations.ts'

export const faults: readonly Edit[] = [
  {
    name: 'lost_flush_ignored',
    wrong: 'A commit that failed is acknowledged.',
    in: 'sandbox/store/sqlite#turnTransaction',
    from: 'for (const { reject } of turn) reject(failure)',
    to: 'if (failure === null) throw failure\nfor (const resolve of resolves) resolve()',
  },
  {
    name: 'response_before_commit',
    wrong: 'A write is acknowledged before its transaction is committed.',
    in: 'sandbox/store/sqlite#runWrite',
    from: 'return () => resolve(value)',
    to: 'resolve(value)\nreturn () => {}',
  },
  {
    name: 'event_before_commit',
    wrong: 'Followers are notified of an event before it is committed.',
    in: 'sandbox/store/sqlite#openTables',
    from: 'requests.write()\n      events.prune()',
    to: 'requests.write()\n      events.prune()\n      events.announce()',
  },
  {
    name: 'dedupe_after_write',
    wrong: 'A repeated beacon is recognized only after it was written.',
    in: 'sandbox/store/sqlite#beaconWrites',
    from: 'if (changes === 0) return false',
    to: '',
  },
  {
    name: 'consent_compared_too_late',
    wrong: 'A consent is written without a look at what was written in the meantime.',
    in: 'sandbox/store/writes#saveConsent',
    from: 'if (present?.revision !== expected?.revision || present?.updated_at_ms !== expected?.updated_at_ms) return null',
    to: '',
  },
  {
    name: 'evidence_from_stale_head',
    wrong: 'The next evidence entry follows one that was rolled back.',
    in: 'sandbox/store/sqlite#openTables',
    from: '[projects, consent, placements, beacons, evidence]',
    to: '[projects, consent, placements, beacons]',
  },
  {
    name: 'token_expiry_off',
    wrong: 'An asset token takes beacons for an hour longer than it should.',
    in: 'sandbox/operations#isBeaconOpen',
    from: 'now_ms <= beaconsEndMs(slot, decision, event)',
    to: 'now_ms <= beaconsEndMs(slot, decision, event) + 3_600_000',
  },
  {
    name: 'counted_twice',
    wrong: 'A second view of the same placement counts again.',
    in: 'src/contract#judgeBeacons',
    from: 'if (counts) counted.add(metric)',
    to: '',
  },
  {
    name: 'restore_keeps_caches',
    wrong: 'A restored state is served with rows that were cached of the one before.',
    in: 'sandbox/store/sqlite#stateReplacement',
    from: 'clearCaches()\n    options.onGeneration()',
    to: 'options.onGeneration()',
  },
  {
    name: 'alarm_lost_on_restart',
    wrong: 'Decisions that were pending before a restart are never made.',
    in: 'sandbox/index#goOnline',
    from: 'await pendingDecisions.restore()',
    to: 'if (pendingDecisions === undefined) return { warnings, first_token: null, nodes: 0 }',
  },
]

/** Returns every fault that a history can be tried with: these, and those of tests/mutations. */
export function listFaults(): readonly Edit[] {
  return [...faults, ...mutations, ...storeMutations.sqlite]
}
