/** How fast this computer is, and what a run of tests used of it. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** What the piece of work takes on the computer that the budgets are for, milliseconds of a processor. */
const referencePiece_ms = 60

let measured: number | undefined

/** Returns how many times as long as on the computer of the budgets a fixed piece of work takes here: of five, the fastest. */
export function measureSlowness(): number {
  measured ??= measure()
  return measured
}

function measure(): number {
  const pieces = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    doPieceOfWork()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...pieces) / referencePiece_ms
}

/** What tests do most: objects, texts, digests. */
function doPieceOfWork(): void {
  let text = ''
  for (let round = 0; round < 40; round++) {
    const rows = Array.from({ length: 2_000 }, (_, index) => ({ id: `slot_${(index * 7_919) % 2_003}`, index, round }))
    rows.sort((a, b) => (a.id < b.id ? -1 : 1))
    text = createHash('sha256').update(JSON.stringify(rows)).update(text).digest('hex')
    JSON.parse(JSON.stringify(rows))
  }
}

export interface Usage {
  /** User and system time of all processes of the run, seconds; null where the system does not tell. */
  processors_s: number | null
  /** The most memory that they had at one time, bytes; shared pages counted once. */
  memory_bytes: number
  /** The most browsers at one time, and the most other processes. */
  browsers: number
  processes: number
}

/** How often processes are counted and weighed, milliseconds: a look takes a few hundredths of a second. */
const interval_ms = 5_000

/**
 * Watches the processes below this one. `end` returns what they used until then: processor time by the system's account of
 * ended children, memory and counts as they were when looked at.
 */
export function watchUsage(): { end: () => Usage } {
  const most = { memory_bytes: 0, browsers: 0, processes: 0 }
  const look = () => {
    const below = listDescendants()
    const kinds = below.map(({ pid, parent }) => readKind(pid, parent))
    most.browsers = Math.max(most.browsers, kinds.filter((kind) => kind === 'browser').length)
    most.processes = Math.max(most.processes, kinds.filter((kind) => kind === 'process').length)
    const memory = below.reduce((sum, { pid }) => sum + readMemory(pid), 0)
    most.memory_bytes = Math.max(most.memory_bytes, memory)
  }
  const timer = setInterval(look, interval_ms)
  return {
    end() {
      clearInterval(timer)
      return { processors_s: readChildrenSeconds(), ...most }
    },
  }
}

/** Returns the user and system time of all processes below this one that have ended; null where there is no /proc. */
function readChildrenSeconds(): number | null {
  const fields = readStat('self')
  // Linux counts in hundredths of a second wherever Node runs.
  return fields === null ? null : (Number(fields[13]) + Number(fields[14])) / 100
}

interface Descendant {
  pid: number
  parent: number
}

function listDescendants(): Descendant[] {
  let names: string[] = []
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
  const parents = new Map(names.map((name) => [Number(name), Number(readStat(name)?.[1])]))
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent !== undefined && (parent === process.pid || isBelow(parent))
  }
  return [...parents].flatMap(([pid, parent]) => (isBelow(pid) ? [{ pid, parent }] : []))
}

/** Returns the fields of a process from its state, field 3, on; null for one that has ended, and where there is no /proc. */
function readStat(pid: string): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, which may have spaces, ends with the last parenthesis.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}

/** What a browser starts for its own work is a part of it. */
function readKind(pid: number, parent: number): 'browser' | 'part' | 'process' {
  if (!isBrowser(pid)) return 'process'
  return isBrowser(parent) ? 'part' : 'browser'
}

function isBrowser(pid: number): boolean {
  try {
    const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return /chrom|firefox|webkit/i.test(program)
  } catch {
    return false
  }
}

/** Returns a process' share of the memory, bytes. */
function readMemory(pid: number): number {
  try {
    const [, kilobytes] = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? []
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}
