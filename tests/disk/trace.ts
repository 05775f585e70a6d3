/** What the shim has recorded, in its order. */
import { readFileSync } from 'node:fs'

/** As in shim.c, from 1. */
const kinds = ['write', 'truncate', 'flush', 'unlink', 'rename', 'create', 'response', 'index', 'mkdir'] as const

export interface TraceRecord {
  kind: (typeof kinds)[number]
  /** In the recorded folder; empty: the folder itself. */
  name: string
  /** Of a write; the new length of a truncation. */
  offset: number
  /** Of a write; the new name of a renamed file; the head of a response; the beginning of an index. */
  bytes: Buffer
}

const headBytes = 17

/** Reads a file of records. The last one of a process that was killed may be incomplete, and is left out. */
export function readTrace(path: string): TraceRecord[] {
  const file = readFileSync(path)
  const records: TraceRecord[] = []
  for (let at = 0; at + headBytes <= file.length; ) {
    const nameBytes = file.readUInt32LE(at + 1)
    const length = file.readUInt32LE(at + 13)
    const start = at + headBytes + nameBytes
    const end = start + length
    if (end > file.length) break
    const kind = kinds[file[at]! - 1]
    if (kind === undefined) throw new Error(`The trace has no record at ${at}.`)
    records.push({
      kind,
      name: file.toString('utf8', at + headBytes, start),
      offset: Number(file.readBigUInt64LE(at + 5)),
      bytes: file.subarray(start, end),
    })
    at = end
  }
  return records
}

/** Returns the identifier of a response's request; null of any other record. */
export function readRequestId({ kind, bytes }: TraceRecord): string | null {
  if (kind !== 'response') return null
  return /^x-request-id: (\S+)/im.exec(bytes.toString('latin1'))?.[1] ?? null
}
