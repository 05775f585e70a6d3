/**
 * The files of a recording at one moment, as the operating system had them, and as a power loss may leave them.
 *
 * What is certain after a power loss is what was flushed. Of the rest, any part may be there: each sector of 512 bytes
 * independently of the others, in any order. Names are as a file system with a journal keeps them: in their order, up to any
 * of them, and at least to the last flush of their folder. A new file is there once it has been flushed itself.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Dice } from '#tests/reliability/dice.ts'
import type { TraceRecord } from './trace.ts'

/** A change of one file since its last flush. */
interface Change {
  offset: number
  /** Null: the file is cut, or extended, to `offset`. */
  bytes: Buffer | null
}

interface RecordedFile {
  durable: Buffer
  pending: Change[]
  now: GrowingBuffer
}

type Names = Map<string, RecordedFile>
type NameChange = { kind: 'add'; name: string; file: RecordedFile } | { kind: 'remove'; name: string }

/** How much of what was not flushed a power loss leaves. */
export const losses = ['everything', 'writes', 'tail', 'pages', 'sectors', 'reordered', 'one', 'all_but_one'] as const
export type Loss = (typeof losses)[number]

const sectorBytes = 512
const pageBytes = 4_096

export function createRecordedFiles() {
  const names: Names = new Map()
  let durableNames: Names = new Map()
  let pendingNames: NameChange[][] = []

  return { apply, flushAll, writeAsKilled, writeAsLost, countPending }

  function apply({ kind, name, offset, bytes }: TraceRecord): void {
    if (kind === 'create') changeNames([{ kind: 'add', name, file: emptyFile() }])
    else if (kind === 'unlink') changeNames([{ kind: 'remove', name }])
    else if (kind === 'rename') rename(name, bytes.toString('utf8'))
    else if (kind === 'write') change(name, { offset, bytes })
    else if (kind === 'index') change(name, { offset: 0, bytes })
    else if (kind === 'truncate') change(name, { offset, bytes: null })
    else if (kind === 'flush') flush(name)
  }

  function changeNames(changes: NameChange[]): void {
    pendingNames.push(changes)
    applyNames(names, changes)
  }

  function rename(from: string, to: string): void {
    const file = names.get(from)
    if (file === undefined) return
    changeNames([
      { kind: 'remove', name: from },
      { kind: 'add', name: to, file },
    ])
  }

  function change(name: string, made: Change): void {
    const file = names.get(name)
    // The index of a log that was removed while it was mapped.
    if (file === undefined) return
    file.pending.push(made)
    file.now.change(made)
  }

  function flush(name: string): void {
    const file = names.get(name)
    if (file === undefined) {
      flushFolder(name)
      return
    }
    file.durable = Buffer.from(file.now.content())
    file.pending = []
    // Its folder has it, by the names that it was given first.
    const added = pendingNames.findIndex((changes) =>
      changes.some((each) => each.kind === 'add' && each.file === file && changes.length === 1),
    )
    if (added !== -1) applyNames(durableNames, pendingNames.splice(added, 1)[0]!)
  }

  function flushFolder(folder: string): void {
    const isIn = (changes: NameChange[]) => changes.every(({ name }) => findFolder(name) === folder)
    for (const changes of pendingNames.filter(isIn)) applyNames(durableNames, changes)
    pendingNames = pendingNames.filter((changes) => !isIn(changes))
  }

  /** Everything is as durable as after an orderly end of the computer. */
  function flushAll(): void {
    for (const file of names.values()) {
      file.durable = Buffer.from(file.now.content())
      file.pending = []
    }
    durableNames = new Map(names)
    pendingNames = []
  }

  /** Changes that a power loss may take now. */
  function countPending(): number {
    return [...names.values()].reduce((sum, { pending }) => sum + pending.length, pendingNames.length)
  }

  /** Writes the files as a process leaves them that is killed now. */
  function writeAsKilled(folder: string): void {
    writeFiles(
      folder,
      [...names].map(([name, { now }]) => [name, now.content()]),
    )
  }

  /** Writes the files as a power loss leaves them now. */
  function writeAsLost(folder: string, loss: Loss, dice: Dice): void {
    const left = new Map(durableNames)
    const kept = loss === 'everything' ? 0 : dice.below(pendingNames.length + 1)
    for (const changes of pendingNames.slice(0, kept)) applyNames(left, changes)
    writeFiles(
      folder,
      [...left].map(([name, file]) => [name, lose(file, loss, dice)]),
    )
  }
}

function applyNames(names: Names, changes: readonly NameChange[]): void {
  for (const change of changes) {
    if (change.kind === 'add') names.set(change.name, change.file)
    else names.delete(change.name)
  }
}

function emptyFile(): RecordedFile {
  return { durable: Buffer.alloc(0), pending: [], now: new GrowingBuffer() }
}

function findFolder(name: string): string {
  const folder = dirname(name)
  return folder === '.' ? '' : folder
}

function writeFiles(folder: string, files: readonly (readonly [string, Buffer])[]): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of files) {
    if (name.includes('/')) mkdirSync(join(folder, dirname(name)), { recursive: true })
    writeFileSync(join(folder, name), content, { mode: 0o600 })
  }
}

/** Returns a file as a power loss leaves it. */
function lose({ durable, pending }: RecordedFile, loss: Loss, dice: Dice): Buffer {
  const file = new GrowingBuffer(durable)
  const { length } = pending
  const cut = dice.below(length + 1)
  const chosen = dice.below(Math.max(1, length))
  const share = dice.roll()
  /** For `reordered`: how many of the changes each sector has. */
  const versions = new Map<number, number>()
  for (const [index, change] of pending.entries()) {
    if (loss === 'everything') break
    if (loss === 'tail' && index > cut) break
    const isWhole =
      change.bytes === null ||
      loss === 'writes' ||
      loss === 'one' ||
      loss === 'all_but_one' ||
      (loss === 'tail' && index < cut)
    if (isWhole) {
      const isKept =
        loss === 'one'
          ? index === chosen
          : loss === 'all_but_one'
            ? index !== chosen
            : loss === 'tail' || dice.chance(share)
      if (isKept) file.change(change)
      continue
    }
    const piece = loss === 'pages' ? pageBytes : sectorBytes
    for (const part of split(change, piece)) {
      const sector = Math.floor(part.offset / piece)
      if (!versions.has(sector)) versions.set(sector, dice.below(length + 1))
      const isKept = loss === 'reordered' ? index < versions.get(sector)! : dice.chance(loss === 'tail' ? 0.5 : share)
      if (isKept) file.change(part)
    }
  }
  return file.content()
}

/** Divides a write where the pieces of the disk begin. */
function split({ offset, bytes }: Change, piece: number): { offset: number; bytes: Buffer }[] {
  const parts: { offset: number; bytes: Buffer }[] = []
  for (let at = 0; at < bytes!.length; ) {
    const end = Math.min(bytes!.length, at + piece - ((offset + at) % piece))
    parts.push({ offset: offset + at, bytes: bytes!.subarray(at, end) })
    at = end
  }
  return parts
}

/** The content of a file that is written to. */
class GrowingBuffer {
  private bytes: Buffer
  private length: number

  constructor(content: Buffer = Buffer.alloc(0)) {
    this.bytes = Buffer.from(content)
    this.length = content.length
  }

  content(): Buffer {
    return this.bytes.subarray(0, this.length)
  }

  change({ offset, bytes }: Change): void {
    const end = offset + (bytes?.length ?? 0)
    this.reserve(end)
    if (bytes !== null) bytes.copy(this.bytes, offset)
    if (bytes === null && end < this.length) this.bytes.fill(0, end, this.length)
    this.length = bytes === null ? end : Math.max(this.length, end)
  }

  /** What was not written is zero. */
  private reserve(size: number): void {
    if (size <= this.bytes.length) return
    const larger = Buffer.alloc(Math.max(size, 2 * this.bytes.length, 65_536))
    this.content().copy(larger)
    this.bytes = larger
  }
}
