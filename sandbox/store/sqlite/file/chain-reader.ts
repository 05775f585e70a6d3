/** Reads the chains of a database file, and the rows that they record, on a connection of its own. */
import Database from 'better-sqlite3'
import type { Sha256Hex } from '#contract/resources/evidence.ts'
import { beaconTable } from '../beacons.ts'
import { consentTable } from '../consent.ts'
import { evidenceTable } from '../evidence.ts'
import { groupCommit } from '../group-commit.ts'
import { placementTable } from '../placements.ts'
import { projectTable } from '../projects.ts'
import { planOnce } from './open.ts'

const noHook = () => {}

/**
 * Opens a file for reading, while its sandbox goes on writing. A consent is read again with each part of a chain, so that
 * none is older than the entries that record it.
 */
export function openChainReader(path: string, sha256Hex: Sha256Hex) {
  const db = planOnce(new Database(path, { readonly: true, fileMustExist: true, timeout: 2000 }))
  const hooks = { beforeCommit: noHook, afterCommit: noHook, afterRollback: noHook, measured: noHook }
  const connection = groupCommit(db, hooks)
  const consent = consentTable(connection)
  const projects = projectTable(connection, noHook)
  const placements = placementTable(connection, { projects, consent })
  const beacons = beaconTable(connection, { placements, consent })
  const evidence = evidenceTable(connection, placements, sha256Hex)
  const { findLastPosition, listChainEntries, listSlotEvidence } = evidence.methods

  return {
    findLastPosition,
    listChainEntries(project_id: number, after_seq: number, limit: number) {
      consent.clear()
      return listChainEntries(project_id, after_seq, limit)
    },
    listSlotEvidence,
    findDecision: placements.methods.findDecision,
    findBeaconById: beacons.methods.findBeaconById,
    findLatestConsent: consent.methods.findLatestConsent,
    async close(): Promise<void> {
      await connection.close()
      db.close()
    },
  }
}
