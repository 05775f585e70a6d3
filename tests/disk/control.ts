/** Arms the shim of a running process: the Nth call of some kinds fails. The file is memory that both share. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { constants } from 'node:os'

/** As in shim.c. */
const kinds = {
  write: 1,
  flush: 2,
  truncate: 4,
  unlink: 8,
  rename: 16,
  open: 32,
  read: 64,
  map: 128,
  mkdir: 256,
} as const
export type CallKind = keyof typeof kinds
export const callKinds = Object.keys(kinds) as CallKind[]

const effects = { refuse: 1, short: 2, short_then_refuse: 3 } as const

export interface CallFault {
  kinds: readonly CallKind[]
  /** 1 is the next call. */
  nth: number
  error: 'EIO' | 'ENOSPC'
  effect: keyof typeof effects
  /** Calls that fail; 'all': from then on. */
  times: number | 'all'
  /** The end of the names that count, such as `-wal`; default: all of the folder. */
  only?: string
}

export interface Counted {
  /** Calls of the armed kinds. */
  calls: number
  failed: number
  /** The last one that failed: `write sandbox.db-wal`; empty when none has. */
  last: string
}

const words = 8
const onlyBytes = 64
const pathBytes = 256
const size = words * 4 + onlyBytes + pathBytes

export interface Control extends Disposable {
  readonly path: string
  arm(fault: CallFault): void
  /** Counts calls and lets all of them pass. */
  count(kinds: readonly CallKind[], only?: string): void
  /** Lets every call pass. Returns what was counted since it was armed. */
  disarm(): Counted
  read(): Counted
}

/** Creates the file of a process to come. */
export function createControl(path: string): Control {
  const file = openSync(path, 'w+')
  writeSync(file, Buffer.alloc(size), 0, size, 0)

  return { path, arm, count, disarm, read, [Symbol.dispose]: () => closeSync(file) }

  function arm({ kinds: chosen, nth, error, effect, times, only = '' }: CallFault): void {
    write({ nth, effect: effects[effect], error: constants.errno[error], times: times === 'all' ? -1 : times, only })
    enable(chosen)
  }

  function count(chosen: readonly CallKind[], only = ''): void {
    write({ nth: 0, effect: effects.refuse, error: 0, times: 0, only })
    enable(chosen)
  }

  function disarm(): Counted {
    enable([])
    return read()
  }

  function read(): Counted {
    const bytes = Buffer.alloc(size)
    readSync(file, bytes, 0, size, 0)
    const failed = bytes.readUInt32LE(24)
    const kind = callKinds.find((name) => kinds[name] === bytes.readUInt32LE(28))
    const name = bytes.toString('utf8', words * 4 + onlyBytes).replace(/\0.*$/s, '')
    return { calls: bytes.readUInt32LE(20), failed, last: failed === 0 ? '' : `${kind} ${name}` }
  }

  /** All but the kinds, which come last: from then on it is armed. */
  function write(values: { nth: number; effect: number; error: number; times: number; only: string }): void {
    enable([])
    const bytes = Buffer.alloc(size - 4)
    bytes.writeInt32LE(values.nth, 0)
    bytes.writeUInt32LE(values.effect, 4)
    bytes.writeUInt32LE(values.error, 8)
    bytes.writeInt32LE(values.times, 12)
    bytes.write(values.only, words * 4 - 4)
    writeSync(file, bytes, 0, bytes.length, 4)
  }

  function enable(chosen: readonly CallKind[]): void {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(chosen.reduce((all, kind) => all | kinds[kind], 0))
    writeSync(file, bytes, 0, 4, 0)
  }
}
