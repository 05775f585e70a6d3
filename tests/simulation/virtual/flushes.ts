/**
 * What a power loss leaves of a folder. The operating system writes a file to the disk whenever it likes, sector by sector;
 * only a flush says that it has. Of all that was written since the last flush of a file, any part may be there. The names in
 * a folder are those of its last flush, or those of now: file systems keep a journal of names.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Dice } from '#tests/reliability/dice.ts'

export interface Flushes {
  /** A file has been flushed, by its path or its inode; or a folder, by its inode. */
  file(found: string | number): void
  /** The names in a folder have been flushed, those in the folders below it not. */
  names(folder: string): void
  isFlushed(path: string): boolean
  /** Returns the flushed content of each file whose name is flushed. */
  kept(): Map<string, Buffer>
  /** Writes the folder as a power loss leaves it. */
  losePower(to: string, dice: Dice): void
}

/** What a disk writes as a whole, bytes. */
const sector = 512
/** The header of a log, which SQLite flushes before it appends the first frame. */
const logHeader = 32

/** @param before what is known of each name, from the folder that this one is a copy of; null: all that is in it is flushed */
export function createFlushes(folder: string, before: ReadonlyMap<string, Buffer> | null): Flushes {
  /** The inode of each name that is flushed, and the content of each inode. */
  let names = new Map<string, number>()
  const contents = new Map<number, Buffer>()
  for (const [name, inode] of list()) {
    const content = before === null ? readFileSync(join(folder, name)) : before.get(name)
    if (content === undefined) continue
    names.set(name, inode)
    contents.set(inode, content)
  }

  return {
    file(found) {
      const within = folders().find((each) => statSync(each).ino === found)
      if (within !== undefined) return flushNames(within)
      const path = typeof found === 'string' ? found : findPath(found)
      const stat = path === null ? undefined : statSync(path, { throwIfNoEntry: false })
      if (path !== null && stat !== undefined) contents.set(stat.ino, readFileSync(path))
    },
    names: flushNames,
    isFlushed: (path) => contents.has(statSync(path, { throwIfNoEntry: false })?.ino ?? -1),
    kept: () => new Map([...names].map(([name, inode]) => [name, contents.get(inode) ?? Buffer.alloc(0)])),
    losePower(to, dice) {
      const present = list()
      const alive = new Map([...present].map(([name, inode]) => [inode, name]))
      keepLog(present)
      mkdirSync(to, { recursive: true })
      for (const [name, inode] of dice.chance(0.5) ? present : names) {
        const flushed = contents.get(inode) ?? Buffer.alloc(0)
        const live = alive.get(inode)
        const written = live === undefined ? flushed : readFileSync(join(folder, live))
        const left = name.endsWith('-wal') ? composeLog(flushed, written, dice) : compose(flushed, written, dice)
        mkdirSync(dirname(join(to, name)), { recursive: true })
        writeFileSync(join(to, name), left, { mode: 0o600 })
      }
    },
  }

  function flushNames(within: string): void {
    const isInside = ([name]: [string, number]) => dirname(join(folder, name)) === within
    names = new Map([...[...names].filter((entry) => !isInside(entry)), ...[...list()].filter(isInside)])
  }

  function folders(within = folder): string[] {
    const inside = readdirSync(within, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return [within, ...inside.flatMap(({ name }) => folders(join(within, name)))]
  }

  function list(within = folder): Map<string, number> {
    const found = readdirSync(within, { withFileTypes: true }).flatMap((entry): [string, number][] => {
      const path = join(within, entry.name)
      if (entry.isDirectory()) return [...list(path)]
      return [[relative(folder, path), statSync(path).ino]]
    })
    return new Map(found.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  }

  function findPath(inode: number): string | null {
    const name = [...list()].find(([, each]) => each === inode)?.[0]
    return name === undefined ? null : join(folder, name)
  }

  /** With the first frame of a log its header was flushed, and its name, which is that of a new file. */
  function keepLog(present: ReadonlyMap<string, number>): void {
    for (const [name, inode] of present) {
      if (name.endsWith('-wal') && statSync(join(folder, name)).size >= logHeader) names.set(name, inode)
    }
  }
}

function composeLog(flushed: Buffer, written: Buffer, dice: Dice): Buffer {
  const left = compose(flushed, written, dice)
  if (written.length < logHeader) return left
  const whole = left.length < logHeader ? Buffer.alloc(logHeader) : Buffer.from(left)
  written.copy(whole, 0, 0, logHeader)
  return whole
}

/** Returns a content between the flushed one and the written one: of each sector that differs, either. */
function compose(flushed: Buffer, written: Buffer, dice: Dice): Buffer {
  const roll = dice.roll()
  if (roll < 0.15) return flushed
  if (roll < 0.3) return written
  const shorter = Math.min(flushed.length, written.length)
  const longer = Math.max(flushed.length, written.length)
  const sectors = Math.ceil((longer - shorter) / sector)
  const size = dice.chance(0.5) ? longer : Math.min(longer, shorter + sector * dice.below(sectors + 1))
  const left = Buffer.alloc(size)
  const isKept = dice.pick([0.05, 0.5, 0.95])
  for (let from = 0; from < size; from += sector) {
    const source = dice.chance(isKept) ? written : flushed
    source.subarray(from, from + sector).copy(left, from)
  }
  return left
}
