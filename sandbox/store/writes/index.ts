/** The methods of the store that write in a shared transaction, each with the rows that it needs. */
import type { Store } from '../store.ts'
import { recordBeacon, recordUnaccepted } from './beacons.ts'
import { updateCallback } from './callbacks.ts'
import { saveConsent } from './consent.ts'
import { bindDecision, createJob, recordFrame, replaceAssetToken } from './placements.ts'
import { insertActivation, insertKey, insertProject, pinOrigin, revokeKey, saveSettings } from './projects.ts'
import { saveClock, saveFaults } from './state.ts'
import type { Needs, Transaction } from './transaction.ts'

/** Runs a write in the next transaction, and resolves after its commit. */
type Write = <Result>(needs: Needs, run: (tx: Transaction) => Result) => Promise<Result>

export type WriteMethods = Pick<
  Store,
  | 'createJob'
  | 'bindDecision'
  | 'recordFrame'
  | 'replaceAssetToken'
  | 'updateCallback'
  | 'saveConsent'
  | 'recordBeacon'
  | 'recordUnaccepted'
  | 'insertProject'
  | 'saveSettings'
  | 'insertKey'
  | 'revokeKey'
  | 'insertActivation'
  | 'pinOrigin'
  | 'saveClock'
  | 'saveFaults'
  | 'updateFaults'
  | 'appendEvent'
>

export function writeMethods(write: Write): WriteMethods {
  return {
    createJob(job, slots, consent, caps) {
      const { project_id, session_id } = job
      const sessions = session_id === null ? [] : [{ project_id, session_id }]
      return write({ projects: [project_id], sessions, caps }, (tx) => createJob(tx, { job, slots, consent, caps }))
    },
    bindDecision(decision) {
      const { slot_id, caps } = decision
      const { project_id, session_id } = decision.session
      const sessions = session_id === null ? [] : [{ project_id, session_id }]
      return write({ projects: [project_id], slots: [slot_id], sessions, caps }, (tx) => bindDecision(tx, decision))
    },
    recordFrame: (slot_id, at_ms, token) => write({}, (tx) => recordFrame(tx, slot_id, at_ms, token)),
    replaceAssetToken: (slot_id, hash, evidence) =>
      write({ slots: [slot_id] }, (tx) => replaceAssetToken(tx, slot_id, hash, evidence)),
    updateCallback: (update, type, at_ms) =>
      write({ callbacks: [update.slot_id] }, (tx) => updateCallback(tx, update, type, at_ms)),

    saveConsent: (consent) =>
      write({ projects: [consent.project_id], sessions: [consent] }, (tx) => saveConsent(tx, consent)),

    recordBeacon(beacon, terms, evidence) {
      const { project_id, session_id } = terms.session
      const sessions = session_id === null ? [] : [{ project_id, session_id }]
      return write({ projects: [project_id], sessions, slots: [beacon.slot_id], beacons: [beacon] }, (tx) =>
        recordBeacon(tx, beacon, terms, evidence),
      )
    },
    recordUnaccepted: (beacon) => write({}, (tx) => recordUnaccepted(tx, beacon)),

    insertProject: (client_id, settings, keys, at_ms) =>
      write({ projects: [0], projectRows: [client_id] }, (tx) =>
        insertProject(tx, { client_id, settings, keys, at_ms }),
      ),
    saveSettings: (id, expected_revision, settings) =>
      write({ projects: [id], projectRows: [id] }, (tx) => saveSettings(tx, id, expected_revision, settings)),
    insertKey: (project_id, key, at_ms) =>
      write({ projects: [0], projectRows: [project_id] }, (tx) => insertKey(tx, project_id, key, at_ms)),
    revokeKey: (id, at_ms) => write({ projects: [0], keys: [id] }, (tx) => revokeKey(tx, id, at_ms)),

    insertActivation: (activation, at_ms) => write({}, (tx) => insertActivation(tx, activation, at_ms)),
    pinOrigin: (id, origin) => write({ activations: [id] }, (tx) => pinOrigin(tx, id, origin)),

    saveClock: (clock, from, at_ms) =>
      write({ projects: [0], values: ['clock'] }, (tx) => saveClock(tx, { clock, from, at_ms })),
    saveFaults: (state) => write({ projects: [0] }, (tx) => saveFaults(tx, state())),
    updateFaults: (change) =>
      write({ projects: [0], values: ['faults'] }, (tx) => saveFaults(tx, change(tx.findFaults()))),
    appendEvent: (event) => write({}, (tx) => tx.appendEvent(event)),
  }
}
