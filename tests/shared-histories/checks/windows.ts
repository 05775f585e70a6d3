/**
 * When something happened, as far as clients can know: after the first call that may have caused it, and before the first
 * response that shows it.
 */
import { type History, listDone, pickKind } from '../history.ts'
import { readRevisions, readSlots, readViews } from './known.ts'

export interface Window {
  called_ms: number
  /** Infinity: no response showed it. */
  ended_ms: number
}

/** By kind and name: `decision SLOT`, `beacon SLOT/ID` and `consent PROJECT/SESSION/REVISION`. */
export function readWindows(history: History): Map<string, Window> {
  const windows = new Map<string, Window>()
  const note = (name: string, { called_ms, ended_ms }: Window) => {
    const before = windows.get(name) ?? { called_ms: Number.POSITIVE_INFINITY, ended_ms: Number.POSITIVE_INFINITY }
    windows.set(name, {
      called_ms: Math.min(before.called_ms, called_ms),
      ended_ms: Math.min(before.ended_ms, ended_ms),
    })
  }
  const views = readViews(history)
  for (const { body, called_ms } of readSlots(history)) {
    const ends = (views.get(body.slot_id) ?? []).map(({ operation }) => operation.ended_ms)
    note(`decision ${body.slot_id}`, { called_ms, ended_ms: Math.min(Number.POSITIVE_INFINITY, ...ends) })
  }
  const beacons = pickKind(history, 'beacon')
  for (const { action, called_ms } of beacons) {
    note(`beacon ${action.slot_id}/${action.beacon_id}`, { called_ms, ended_ms: Number.POSITIVE_INFINITY })
  }
  for (const { action, called_ms, ended_ms } of listDone(beacons)) {
    note(`beacon ${action.slot_id}/${action.beacon_id}`, { called_ms, ended_ms })
  }
  // Who caused a revision is not known: another operation with the same consent, which had no response, may have.
  for (const [session, revisions] of readRevisions(history)) {
    for (const { revision, operation } of revisions) {
      if (revision === 0) continue
      const { ended_ms } = operation
      note(`consent ${session}/${revision}`, { called_ms: Number.NEGATIVE_INFINITY, ended_ms })
    }
  }
  return windows
}
