/** The connections that commits are written over. */
import { ServerProblem } from '../failures.ts'
import { type Link, sameServer } from '../servers/link.ts'
import { type Database, flushText } from '../servers/open.ts'

/** The connection of transactions, and the one that flushes; null when each commit waits for the disk itself. */
export interface Writer {
  link: Link
  flusher: { link: Link; flush: () => Promise<unknown> } | null
  isBroken(): boolean
  end(): void
}

/** Returns a function that resolves to the writer, which is opened again when it has broken, and one that ends it. */
export function keepWriter(database: Database, canFlush: boolean) {
  let present: Promise<Writer> | null = null

  return { findWriter, end }

  async function findWriter(): Promise<Writer> {
    const opened = await present?.catch(() => null)
    if (opened?.isBroken() === false) return opened
    opened?.end()
    present = openWriter(database, canFlush)
    return present
  }

  async function end(): Promise<void> {
    await present?.then(
      (opened) => opened.end(),
      () => {},
    )
  }
}

/** @throws ServerProblem when both connections are not to the same server: only one that has a commit can flush it */
async function openWriter(database: Database, canFlush: boolean): Promise<Writer> {
  const flusher = canFlush ? await database.connect() : null
  try {
    const link = await database.connect()
    if (flusher !== null && !sameServer(flusher, link)) {
      link.end()
      throw new ServerProblem('its primary has changed', '')
    }
    if (flusher !== null) await link.script('SET synchronous_commit = off')
    return {
      link,
      flusher: flusher === null ? null : { link: flusher, flush: shareFlushes(flusher) },
      isBroken: () => link.isBroken() || flusher?.isBroken() === true,
      end() {
        link.end()
        flusher?.end()
      },
    }
  } catch (error) {
    flusher?.end()
    throw error
  }
}

/**
 * Returns a function that resolves after a flush that began later than its call: calls during a flush share the next
 * one.
 */
function shareFlushes(link: Link): () => Promise<unknown> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<unknown> | null = null
  return () => {
    next ??= running.then(() => {
      next = null
      running = link.run(flushText)
      return running
    })
    return next
  }
}
