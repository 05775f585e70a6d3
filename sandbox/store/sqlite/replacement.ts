/** How another state replaces the present one: its rows are seeded, announced and read from then on. */
import type Database from 'better-sqlite3'
import { type Seed, StorageError } from '../store.ts'
import { stateEvent } from '../writes/state.ts'
import type { MemoryState } from './copies/memory-state.ts'
import { prepareEvent } from './events.ts'
import { setInUseMark } from './file/in-use.ts'
import { openDatabase } from './file/open.ts'
import { removedWarning } from './file/warnings.ts'
import { replaceFile } from './file-work.ts'
import { applySeed, overwriteFile, pageBytes } from './state.ts'
import type { Tables } from './tables.ts'

interface ReplacementOptions {
  path: string
  pid: number
  seed: Seed
  now_ms: number
  isInPlace(): boolean
  /** Called after a file was written, with its number of pages. */
  onPages(pages: number): void
  /** Called when other rows are in force. */
  onGeneration(): void
}

interface MemoryStart {
  type: 'sandbox.reset' | 'sandbox.restored'
  at_ms: number
  /** The size of its journal. */
  exchanges: number
}

interface Generation {
  catalogue_id: number
  /** Of the event that announces it. */
  event_seq: number
  /** The size of its journal. */
  exchanges: number
}

/** Seeds the present state, and returns how another one replaces it. */
export function stateReplacement(db: Database.Database, options: ReplacementOptions) {
  const { seed } = options
  const generation = { count: 0, event_seq: 0 }
  let catalogue_id = db.transaction(() => applySeed(db, seed, options.now_ms))()
  const { resetFile, replaceAll } = fileReplacement(db, options, startGeneration)

  return {
    generation,
    findCatalogue: () => catalogue_id,
    replaceCatalogue,
    resetMemory,
    startMemory,
    resetFile,
    replaceAll,
  }

  async function replaceCatalogue({ connection }: Tables, catalogue: Seed['catalogue']): Promise<void> {
    connection.runExclusive(() => {
      seed.catalogue = catalogue
      catalogue_id = db.transaction(() => applySeed(db, seed, options.now_ms))()
    })
  }

  async function resetMemory(tables: Tables, state: MemoryState, at_ms: number): Promise<void> {
    tables.connection.runExclusive(() => {
      state.clear()
      startMemory(tables, { type: 'sandbox.reset', at_ms, exchanges: 0 })
    })
  }

  /** Seeds the state that was just attached, and announces it. */
  function startMemory(tables: Tables, { type, at_ms, exchanges }: MemoryStart): void {
    const { events } = tables
    db.transaction(() => {
      const fresh_id = applySeed(db, seed, at_ms)
      events.continueAfter(events.methods.lastEventSeq())
      startGeneration(tables, { catalogue_id: fresh_id, event_seq: events.append(stateEvent(type, at_ms)), exchanges })
    })()
    events.announce()
  }

  /** Every row was replaced, as the event of that number announces: none of the old rows stay in memory. */
  function startGeneration({ clearCaches, requests }: Tables, started: Generation): void {
    catalogue_id = started.catalogue_id
    clearCaches()
    options.onGeneration()
    requests.clear(started.exchanges)
    generation.count++
    generation.event_seq = started.event_seq
  }
}

function fileReplacement(
  db: Database.Database,
  { path, pid, seed, isInPlace, onPages }: ReplacementOptions,
  onReplaced: (tables: Tables, started: Generation) => void,
) {
  return { resetFile, replaceAll }

  function resetFile(tables: Tables, at_ms: number): Promise<void> {
    const { connection, events } = tables
    return connection.withOtherConnection(async () => {
      requireFile()
      const pages = pageCount(db)
      const event_seq = events.methods.lastEventSeq() + 1
      const { db: image, close } = openDatabase(':memory:', pid, pageBytes(db))
      let catalogue_id: number
      try {
        catalogue_id = image.transaction(() => applySeed(image, seed, at_ms))()
        setInUseMark(image)
        prepareEvent(image)(event_seq, stateEvent('sandbox.reset', at_ms))
        await overwriteFile(db, path, image)
      } finally {
        close()
      }
      events.reload()
      onReplaced(tables, { catalogue_id, event_seq, exchanges: 0 })
      afterReplacement(tables, pages)
    })
  }

  /** On a thread: copying takes as long as there are pages. */
  function replaceAll(tables: Tables, from: string, at_ms: number): Promise<void> {
    const { connection, events } = tables
    return connection.withOtherConnection(async () => {
      requireFile()
      const replaced = await replaceFile(path, { from, seed, at_ms, last_event_seq: events.methods.lastEventSeq() })
      events.reload(replaced.events)
      onReplaced(tables, replaced)
      afterReplacement(tables, pageCount(db))
    })
  }

  function requireFile(): void {
    // Another connection would open or create another file of this name.
    if (!isInPlace()) throw new StorageError(new Error(removedWarning(path)))
  }

  /** Every page was written, which is worth a checkpoint; until then the file keeps its size. */
  function afterReplacement({ events }: Tables, pages: number): void {
    onPages(pages)
    events.announce()
  }
}

function pageCount(db: Database.Database): number {
  return Number(db.pragma('page_count', { simple: true }))
}
