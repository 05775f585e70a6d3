/** Batches of serialized events, shared by the followers of event streams. */
import type { Services } from '#operations/context.ts'
import type { EventRow } from '#store/store.ts'
import { eventText, toSandboxEvent } from './event-data.ts'

/** Which events a follower wants. Equal keys mean equal filters. */
export interface EventFilter {
  key: string
  matches(event: EventRow): boolean
}

/** The next events of a follower. */
interface EventBatch {
  /** Empty when none of the events matches. */
  bytes: Buffer
  /** The last event that was read; the next batch begins after it. */
  last_seq: number
  /** Whether more events may be there already. */
  isFull: boolean
}

/**
 * Events as they are written to streams, made once for all followers: an event is read and serialized once, and
 * followers with the same filter at the same place share the bytes. Sharing is bounded in number and in time: the item
 * of an event changes, since a verdict depends on later beacons.
 */
export interface EventBatches {
  /** Resolves to the events after a number, up to the next multiple of `batchSize`; null when the state was replaced. */
  next(filter: EventFilter, after: number): Promise<EventBatch | null>
}

/** Batches end at multiples of this: followers that fell behind by different amounts meet there. */
const batchSize = 100
/** How long a serialized event is shared, real milliseconds. */
const shareMs = 500
const maxTexts = 2_000
const maxBatches = 200
const noBytes = Buffer.alloc(0)

export function createEventBatches(services: Services): EventBatches {
  const { store } = services
  const texts = sharedTexts(services)
  const batches = new Map<string, { batch: Promise<EventBatch | null>; at_ms: number; up_to: number }>()
  let generation = store.stateGeneration().count

  const read = async (filter: EventFilter, after: number): Promise<EventBatch | null> => {
    const { count } = store.stateGeneration()
    const limit = batchSize - (after % batchSize)
    const rows = await store.events(after, limit)
    const written: string[] = []
    for (const row of rows) {
      if (!filter.matches(row)) continue
      const text = await texts.render(row)
      if (text === null) return null
      written.push(text)
    }
    if (count !== store.stateGeneration().count) return null
    return {
      bytes: written.length === 0 ? noBytes : Buffer.from(written.join(''), 'utf8'),
      last_seq: rows.at(-1)?.seq ?? after,
      isFull: rows.length === limit,
    }
  }

  return {
    next(filter, after) {
      const { count } = store.stateGeneration()
      if (count !== generation) {
        generation = count
        texts.clear()
        batches.clear()
      }
      const name = `${after} ${filter.key}`
      const known = batches.get(name)
      const now_ms = performance.now()
      const up_to = store.lastEventSeq()
      if (known !== undefined && known.up_to === up_to && now_ms - known.at_ms < shareMs) return known.batch
      const batch = read(filter, after)
      // A failure is for the requests that wait for it now, not for later ones.
      batch.catch(() => batches.delete(name))
      if (batches.size >= maxBatches) batches.clear()
      batches.set(name, { batch, at_ms: now_ms, up_to })
      return batch
    },
  }
}

function sharedTexts(services: Services) {
  const { store, drainLock } = services
  const texts = new Map<number, { text: Promise<string | null>; at_ms: number }>()

  return { render, clear: () => texts.clear() }

  /** Resolves to the text of an event; null when the state was replaced in the meantime. */
  function render(row: EventRow): Promise<string | null> {
    const known = texts.get(row.seq)
    const now_ms = performance.now()
    if (known !== undefined && now_ms - known.at_ms < shareMs) return known.text
    const { count } = store.stateGeneration()
    const text = drainLock.run(async () => {
      if (count !== store.stateGeneration().count) return null
      return eventText(await toSandboxEvent(services, row, services.platform.clock.now()))
    })
    if (texts.size >= maxTexts) texts.clear()
    texts.set(row.seq, { text, at_ms: now_ms })
    return text
  }
}
