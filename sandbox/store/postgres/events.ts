/**
 * Events: an ever-growing sequence, numbered at the commit in the order of commits, so a follower misses none. The
 * table is bounded and drops its oldest rows; how many, and up to which number, is in the row `head`.
 */
import type { EventRow, EventStore } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Head } from './batch/head.ts'
import type { Connection } from './group-commit.ts'

/** Rows that one statement searches for a time. */
const searchedAtOnce = 10_000

/** @param head the counters known to this node */
export function eventTable({ read }: Connection, limit: number, head: () => Head) {
  const listeners = new Set<() => void>()
  const methods: Omit<EventStore, keyof WriteMethods> = {
    events: (after_seq, most) =>
      read<EventRow>(
        'SELECT seq, type, at_ms, project_id, slot_id, ref FROM event WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3',
        [after_seq, head().last_seq, most],
      ),
    lastEventSeq: () => head().last_seq,
    /** By number, not by time: when the clock was moved back, older events have later times. */
    async eventSeqBefore(at_ms) {
      for (let end = Number.MAX_SAFE_INTEGER; ; ) {
        const [first] = await read<{ seq: number }>(
          `SELECT seq FROM event WHERE seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET ${searchedAtOnce - 1}`,
          [end],
        )
        const start = first?.seq ?? 0
        const [found] = await read<{ seq: number }>(
          'SELECT seq FROM event WHERE seq >= $1 AND seq < $2 AND at_ms < $3 ORDER BY seq DESC LIMIT 1',
          [start, end, at_ms],
        )
        if (found !== undefined || start === 0) return found?.seq ?? 0
        end = start
      }
    },
    eventLog() {
      const { events, events_dropped, last_dropped_seq } = head()
      return { limit, size: events, dropped: events_dropped, last_dropped_seq }
    },
    onEvents(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return {
    /** Notifies the listeners of new events. */
    announce(): void {
      for (const listener of listeners) listener()
    },
    methods,
  }
}
