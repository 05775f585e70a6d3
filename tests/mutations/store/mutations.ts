// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of source code, not templates
/**
 * Faults that are put into the store, by adapter, each with the rule of rules.ts that must notice it. Those of
 * store/writes, which both adapters share, run on SQLite.
 */
import type { Edit } from '../mutation.ts'
import type { StoreRuleName } from './rules.ts'

export interface StoreMutation extends Edit {
  noticed_by: StoreRuleName
}

export const adapters = ['sqlite', 'postgres'] as const
export type Adapter = (typeof adapters)[number]

const once = 'a beacon_id counts once for its slot, and not for one that is gone'
const consent = 'a consent is written only onto the record that was read'
const chain = 'the evidence of a project is one chain, also after a write that fails'
const nothing = 'a write that fails leaves nothing'
const caps = 'the last fill that a cap leaves is made once'
const pending = 'a pending decision is bound once'
const inForce = 'a decision is written only with the consent that is in force'
const inForceForBeacons = 'a beacon is written only with the consent that is in force'
const events = 'events are numbered without a gap, in the same order on every node'
const report = 'a report counts what is in its scope, each beacon once'
const laterReport = 'a report that goes on from an earlier one is that of all beacons'
const settings = 'settings are written only onto the revision that was read'
const origin = 'a beacon token is bound to the origin of its first beacon'
const claim = 'an attempt of a callback belongs to one node while its lease lasts'

const compared =
  'if (present?.revision !== expected?.revision || present?.updated_at_ms !== expected?.updated_at_ms) return null'
const comparedByRevision = 'if (present?.revision !== expected?.revision) return null'
const ofProject = "filter.add('job.project_id = ?', project_id)"

export const storeMutations: Readonly<Record<Adapter, readonly StoreMutation[]>> = {
  sqlite: [
    {
      name: 'beacon_without_slot',
      wrong: 'A beacon is stored after a reset has removed its slot.',
      noticed_by: once,
      in: 'sandbox/store/sqlite#beaconWrites',
      from: 'if (placements.find(slot_id) === null) return false',
      to: '',
    },
    {
      name: 'beacon_twice',
      wrong: 'A beacon that the slot has gets evidence again.',
      noticed_by: once,
      in: 'sandbox/store/sqlite#beaconWrites',
      from: 'if (changes === 0) return false',
      to: '',
    },
    {
      name: 'consent_not_compared',
      wrong: 'A consent is written onto whatever record is the newest.',
      noticed_by: consent,
      in: 'sandbox/store/writes#saveConsent',
      from: compared,
      to: '',
    },
    {
      name: 'consent_compared_by_revision',
      wrong: 'A renewal that another request has made is not noticed.',
      noticed_by: consent,
      in: 'sandbox/store/writes#saveConsent',
      from: compared,
      to: comparedByRevision,
    },
    {
      name: 'consent_stays_cached',
      wrong: 'The newest consent of a session stays cached when it is written.',
      noticed_by: consent,
      in: 'sandbox/store/sqlite#consentTable',
      from: 'newest.delete(session)',
      to: '',
    },
    {
      name: 'evidence_without_previous_hash',
      wrong: 'The hash of an entry does not depend on the one before it.',
      noticed_by: chain,
      in: 'sandbox/store/writes#buildNextEntry',
      from: 'chainHash(head.hash,',
      to: 'chainHash(entry,',
    },
    {
      name: 'evidence_skips_a_number',
      wrong: 'Evidence is numbered with gaps.',
      noticed_by: chain,
      in: 'sandbox/store/writes#buildNextEntry',
      from: 'const seq = head.seq + 1',
      to: 'const seq = head.seq + 2',
    },
    {
      name: 'evidence_head_survives_a_rollback',
      wrong: 'The chain goes on after an entry that was rolled back.',
      noticed_by: chain,
      in: 'sandbox/store/sqlite#openTables',
      from: '[projects, consent, placements, beacons, evidence]',
      to: '[projects, consent, placements, beacons]',
    },
    {
      name: 'failed_write_stays',
      wrong: 'What a write has stored before it fails stays.',
      noticed_by: nothing,
      in: 'sandbox/store/sqlite#runOne',
      from: '    statements.rollbackTo.run()\n',
      to: '',
    },
    {
      name: 'cap_off_by_one',
      wrong: 'A cap permits one fill more.',
      noticed_by: caps,
      in: 'sandbox/store/writes#permitsFills',
      from: 'tx.countFills(cap) + fills <= cap.most',
      to: 'tx.countFills({ ...cap, most: cap.most + 1 }) + fills <= cap.most + 1',
    },
    {
      name: 'interval_not_guarded',
      wrong: 'Of two prompts at once both are filled, whatever the interval.',
      noticed_by: caps,
      in: 'sandbox/store/writes#permitsFills',
      from: '? !tx.hasFillWithin(cap)',
      to: '? true',
    },
    {
      name: 'cap_counts_no_bound_fill',
      wrong: 'A pending decision is bound although its cap is reached.',
      noticed_by: caps,
      in: 'sandbox/store/writes#bindDecision',
      from: "const fills = decision.outcome.status === 'filled' ? 1 : 0",
      to: 'const fills = 0',
    },
    {
      name: 'decision_of_old_consent',
      wrong: 'A decision is written with a consent that another request has replaced.',
      noticed_by: inForce,
      in: 'sandbox/store/writes#isInForce',
      from: 'if (newest === null) return true',
      to: 'if (newest === null || newest.revision > 0) return true',
    },
    {
      name: 'beacon_of_old_consent',
      wrong: 'A beacon is written although another request has withdrawn its consent in the meantime.',
      noticed_by: inForceForBeacons,
      in: 'sandbox/store/writes#recordBeacon',
      from: "return 'superseded'",
      to: '{}',
    },
    {
      name: 'decided_twice',
      wrong: 'A decision replaces the one that a slot has.',
      noticed_by: pending,
      in: 'sandbox/store/sqlite#preparePlacements',
      from: 'WHERE id = ? AND decided_at_ms IS NULL`',
      to: 'WHERE id = ?`',
    },
    {
      name: 'event_numbers_with_gaps',
      wrong: 'Events are numbered by two.',
      noticed_by: events,
      in: 'sandbox/store/sqlite#boundedLog',
      from: 'insert(++log.lastSeq,',
      to: 'insert((log.lastSeq += 2),',
    },
    {
      name: 'event_number_survives_a_rollback',
      wrong: 'A number is left out when a write fails.',
      noticed_by: events,
      in: 'sandbox/store/sqlite#openTables',
      from: '      clearCaches()\n      events.reload()\n',
      to: '      clearCaches()\n',
    },
    {
      name: 'report_of_all_projects',
      wrong: 'A report of one project counts the beacons of all.',
      noticed_by: report,
      in: 'sandbox/store/sqlite#slotFilter',
      from: ofProject,
      to: '',
    },
    {
      name: 'unaccepted_counted_once',
      wrong: 'A report counts each reason once.',
      noticed_by: report,
      in: 'sandbox/store/sqlite#countUnacceptedInScope',
      from: 'countUnaccepted(progress.counts, reason_code, count)',
      to: 'countUnaccepted(progress.counts, reason_code, 1)',
    },
    {
      name: 'slot_counted_twice',
      wrong: 'A slot with a new beacon is counted beside what it was.',
      noticed_by: laterReport,
      in: 'sandbox/store#countAgain',
      from: 'countSlot(report, slot, before, -1)',
      to: '',
    },
    {
      name: 'report_of_old_beacons',
      wrong: 'A report leaves out slots with new beacons that it has counted before.',
      noticed_by: laterReport,
      in: 'sandbox/store/sqlite#countNew',
      from: 'id > progress.slot_id ? undefined : find(id)',
      to: 'undefined as ReturnType<typeof find>',
    },
    {
      name: 'report_of_old_rules',
      wrong: 'A report goes on from one that was judged by other settings.',
      noticed_by: laterReport,
      in: 'sandbox/store#billingReports',
      from: ' && areStill(kept.rules, rules)',
      to: '',
    },
    {
      name: 'settings_not_compared',
      wrong: 'Settings that were changed meanwhile are overwritten.',
      noticed_by: settings,
      in: 'sandbox/store/writes#saveSettings',
      from: '!== expected_revision',
      to: '=== null',
    },
    {
      name: 'origin_moves',
      wrong: 'A beacon token is accepted from any origin.',
      noticed_by: origin,
      in: 'sandbox/store/writes#pinOrigin',
      from: 'return bound === null || bound === origin',
      to: 'return bound !== undefined',
    },
  ],
  postgres: [
    {
      name: 'beacon_not_looked_for',
      wrong: 'A beacon that the slot has is refused with an error, not taken as a duplicate.',
      noticed_by: once,
      in: 'sandbox/store/postgres/batch#Batch',
      from: 'this.loaded.beaconIds.has(name) || ',
      to: '',
    },
    {
      name: 'consent_of_the_batch_unseen',
      wrong: 'A write does not see the consent of one before it in the same transaction.',
      noticed_by: consent,
      in: 'sandbox/store/postgres/batch#Batch',
      from: 'this.newest.get(name) ?? ',
      to: '',
    },
    {
      name: 'evidence_of_the_batch_unseen',
      wrong: 'An entry does not follow the one before it in the same transaction.',
      noticed_by: chain,
      in: 'sandbox/store/postgres/batch#Batch',
      from: 'this.heads.get(project_id) ?? this.loaded.heads.get(project_id)',
      to: 'this.loaded.heads.get(project_id)',
    },
    {
      name: 'chain_not_locked',
      wrong: 'Two nodes append to a chain at the same time.',
      noticed_by: chain,
      in: 'sandbox/store/postgres/batch#lockChains',
      from: 'ORDER BY project_id FOR UPDATE`',
      to: 'ORDER BY project_id`',
    },
    {
      name: 'failed_write_stays',
      wrong: 'What a write has added before it fails is stored with the others.',
      noticed_by: nothing,
      in: 'sandbox/store/postgres/batch#runAll',
      from: '        failures.set(pending, error)\n        return true',
      to: '        resolves.push(() => pending.reject(error))\n        return false',
    },
    {
      name: 'cap_ignores_the_batch',
      wrong: 'Fills of one transaction do not count towards its caps.',
      noticed_by: caps,
      in: 'sandbox/store/postgres/batch#AddedFills',
      from: ' + added.length',
      to: '',
    },
    {
      name: 'interval_ignores_the_batch',
      wrong: 'Of two prompts in one transaction both are filled, whatever the interval.',
      noticed_by: caps,
      in: 'sandbox/store/postgres/batch#AddedFills',
      from: 'near.set(job.id, false)',
      to: '{}',
    },
    {
      name: 'decided_twice',
      wrong: 'A decision replaces the one that a slot has.',
      noticed_by: pending,
      in: 'sandbox/store/postgres/batch#Batch',
      from: 'slot === null || slot.decided_at_ms !== null',
      to: 'slot === null',
    },
    {
      name: 'decision_of_the_batch_unseen',
      wrong: 'A slot is decided twice in one transaction.',
      noticed_by: pending,
      in: 'sandbox/store/postgres/batch#Batch',
      from: 'this.boundSlots.get(id) ?? ',
      to: '',
    },
    {
      name: 'event_numbers_shifted',
      wrong: 'Events are numbered from the last number of their transaction on.',
      noticed_by: events,
      in: 'sandbox/store/postgres/batch#insertEvents',
      from: 'SELECT moved.last_seq - $1::bigint + new.seq',
      to: 'SELECT moved.last_seq + new.seq',
    },
    {
      name: 'event_numbers_with_gaps',
      wrong: 'Each transaction leaves a number out.',
      noticed_by: events,
      in: 'sandbox/store/postgres/batch#addRows',
      from: 'SET last_seq = last_seq + $1,',
      to: 'SET last_seq = last_seq + $1 + 1,',
    },
    {
      name: 'report_of_all_projects',
      wrong: 'A report of one project counts the beacons of all.',
      noticed_by: report,
      in: 'sandbox/store/postgres#selectFilledSlots',
      from: ofProject,
      to: '',
    },
    {
      name: 'unaccepted_counted_once',
      wrong: 'A report counts each reason once.',
      noticed_by: report,
      in: 'sandbox/store/postgres#countUnacceptedInScope',
      from: 'countUnaccepted(counts, reason_code, count)',
      to: 'countUnaccepted(counts, reason_code, 1)',
    },
    {
      name: 'unaccepted_of_old',
      wrong: 'A report goes on with the rejected beacons of an earlier one.',
      noticed_by: laterReport,
      in: 'sandbox/store/postgres#countUnacceptedInScope',
      from: 'if (unaccepted_at > 0 && !head!.is_changed) return',
      to: 'if (unaccepted_at > 0) return',
    },
    {
      name: 'report_of_old_beacons',
      wrong: 'A report leaves out slots with new beacons that it has counted before.',
      noticed_by: laterReport,
      in: 'sandbox/store/postgres#countAgainAfter',
      from: '.filter((id) => id <= progress.slot_id)',
      to: '.filter(() => false)',
    },
    {
      name: 'settings_not_locked',
      wrong: 'Two nodes write settings onto the same revision.',
      noticed_by: settings,
      in: 'sandbox/store/writes#writeMethods',
      from: 'write({ projects: [id], projectRows: [id] }',
      to: 'write({ projectRows: [id] }',
    },
    {
      name: 'origin_of_the_batch_unseen',
      wrong: 'A write does not see the origin that one before it in the same transaction has bound.',
      noticed_by: origin,
      in: 'sandbox/store/postgres/batch#Batch',
      from: 'this.origins.get(activation_id) ?? ',
      to: '',
    },
    {
      name: 'attempt_claimed_again',
      wrong: 'Two nodes send the same attempt of a callback.',
      noticed_by: claim,
      in: 'sandbox/store/postgres#sharingMethods',
      from: 'WHERE claim.attempts < excluded.attempts OR',
      to: 'WHERE claim.attempts <= excluded.attempts OR',
    },
    {
      name: 'attempt_never_given_back',
      wrong: 'A callback that a dead node has claimed is never sent.',
      noticed_by: claim,
      in: 'sandbox/store/postgres#sharingMethods',
      from: ' OR claim.claimed_until < clock_timestamp() RETURNING',
      to: ' RETURNING',
    },
    {
      name: 'bucket_never_emptied',
      wrong: 'Every node may take all that a rate bucket holds.',
      noticed_by: 'a rate bucket is one for all nodes',
      in: 'sandbox/store/postgres#takeRates',
      from: 'tokens = greatest(0, ${filled} - ${granted})',
      to: 'tokens = excluded.burst',
    },
  ],
}
