/**
 * When something happened, as far as clients can know: after the first call that may have caused it, and before the first
 * response that shows it.
 */
import { type History, listDone, pickKind } from './history.ts'
import { readRevisions, readSlots, readViews } from './known.ts'

export interface Window {
  called: number
  /** Infinity: no response showed it. */
  ended: number
}

/** By kind and name: `decision SLOT`, `beacon SLOT/ID` and `consent PROJECT/SESSION/REVISION`. */
export function readWindows(history: History): Map<string, Window> {
  const windows = new Map<string, Window>()
  const note = (name: string, { called, ended }: Window) => {
    const before = windows.get(name) ?? { called: Number.POSITIVE_INFINITY, ended: Number.POSITIVE_INFINITY }
    windows.set(name, { called: Math.min(before.called, called), ended: Math.min(before.ended, ended) })
  }
  const views = readViews(history)
  for (const { body, called } of readSlots(history)) {
    const ends = (views.get(body.slot_id) ?? []).map(({ operation }) => operation.ended)
    note(`decision ${body.slot_id}`, { called, ended: Math.min(Number.POSITIVE_INFINITY, ...ends) })
  }
  const beacons = pickKind(history, 'beacon')
  for (const { action, called } of beacons) {
    note(`beacon ${action.slot_id}/${action.beacon_id}`, { called, ended: Number.POSITIVE_INFINITY })
  }
  for (const { action, called, ended } of listDone(beacons)) {
    note(`beacon ${action.slot_id}/${action.beacon_id}`, { called, ended })
  }
  // Who caused a revision is not known: another operation with the same consent, which had no response, may have.
  for (const [session, revisions] of readRevisions(history)) {
    for (const { revision, operation } of revisions) {
      if (revision === 0) continue
      note(`consent ${session}/${revision}`, { called: Number.NEGATIVE_INFINITY, ended: operation.ended })
    }
  }
  return windows
}
