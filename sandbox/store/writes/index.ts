/** The methods of the store that write in a shared transaction, each with the rows that it needs. */
import type { Store } from '../store.ts'
import { recordBeacon, recordUnaccepted } from './beacons.ts'
import { updateCallback } from './callbacks.ts'
import { saveConsent } from './consent.ts'
import { bindDecision, createJob, recordFrame, replaceAssetToken } from './placements.ts'
import { insertActivation, pinOrigin } from './projects.ts'
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
  | 'insertActivation'
  | 'pinOrigin'
  | 'appendEvent'
>

export function writeMethods(write: Write): WriteMethods {
  return {
    createJob(job, slots, consent, caps) {
      const { project_id, session_id } = job
      const sessions = session_id === null ? [] : [{ project_id, session_id }]
      return write({ projects: [project_id], sessions, caps }, (tx) => createJob(tx, { job, slots, consent, caps }))
    },
    bindDecision: (slot_id, decision, evidence, caps, dropsTopic) =>
      write({ slots: [slot_id], caps }, (tx) => bindDecision(tx, { slot_id, decision, evidence, caps, dropsTopic })),
    recordFrame: (slot_id, at_ms, token) => write({}, (tx) => recordFrame(tx, slot_id, at_ms, token)),
    replaceAssetToken: (slot_id, hash, evidence) =>
      write({ slots: [slot_id] }, (tx) => replaceAssetToken(tx, slot_id, hash, evidence)),
    updateCallback: (update, type, at_ms) =>
      write({ callbacks: [update.slot_id] }, (tx) => updateCallback(tx, update, type, at_ms)),

    saveConsent: (consent) =>
      write({ projects: [consent.project_id], sessions: [consent] }, (tx) => saveConsent(tx, consent)),

    recordBeacon: (beacon, project_id, evidence) =>
      write({ projects: [project_id], slots: [beacon.slot_id], beacons: [beacon] }, (tx) =>
        recordBeacon(tx, beacon, project_id, evidence),
      ),
    recordUnaccepted: (beacon) => write({}, (tx) => recordUnaccepted(tx, beacon)),

    insertActivation: (activation, at_ms) => write({}, (tx) => insertActivation(tx, activation, at_ms)),
    pinOrigin: (id, origin) => write({ activations: [id] }, (tx) => pinOrigin(tx, id, origin)),
    appendEvent: (event) => write({}, (tx) => tx.appendEvent(event)),
  }
}
