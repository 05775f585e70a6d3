/** How fast this computer is, and what a run of tests used of it. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** What the piece of work takes on the computer that the budgets are for, milliseconds of a processor. */
const referencePiece_ms = 60

/** Returns how many times as long as on the computer of the budgets a fixed piece of work takes here: of five, the fastest. */
export function measureSlowness(): number {
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

interface ProcessTimes {
  parent: number
  /** Its own time, and that of its ended children, seconds. */
  own_s: number
  children_s: number
}

/** Linux counts in hundredths of a second wherever Node runs. */
const ticksPerSecond = 100

/** How often processes are counted, and how often their memory is, which costs more: milliseconds. */
const countInterval_ms = 1_000
const memoryInterval_ms = 5_000

/**
 * Watches the processes below this one. `end` returns what they used until then: what ended is read from the system's account
 * of ended children; a process whose parent ended before it, as a browser's may, counts with what it had when last seen.
 */
export function watchUsage(): { end: () => Usage } {
  const most = { memory_bytes: 0, browsers: 0, processes: 0 }
  const orphans = new Map<number, number>()
  const known = new Map<number, ProcessTimes>()
  const count = () => {
    const below = findDescendants(readProcesses())
    for (const [pid, times] of known) {
      const parentLives = times.parent === process.pid || below.has(times.parent)
      if (!below.has(pid) && !parentLives) orphans.set(pid, times.own_s)
    }
    known.clear()
    for (const [pid, times] of below) known.set(pid, times)
    const kinds = [...below.keys()].map(readKind)
    most.browsers = Math.max(most.browsers, kinds.filter((kind) => kind === 'browser').length)
    most.processes = Math.max(most.processes, kinds.filter((kind) => kind === 'process').length)
  }
  const weigh = () => {
    const memory = [...known.keys()].reduce((sum, pid) => sum + readMemory(pid), 0)
    most.memory_bytes = Math.max(most.memory_bytes, memory)
  }
  const timers = [setInterval(count, countInterval_ms), setInterval(weigh, memoryInterval_ms)]
  return {
    end() {
      for (const timer of timers) clearInterval(timer)
      const self = readTimes('self')
      const orphaned_s = [...orphans.values()].reduce((sum, seconds) => sum + seconds, 0)
      return { processors_s: self === null ? null : self.children_s + orphaned_s, ...most }
    },
  }
}

function readProcesses(): Map<number, ProcessTimes> {
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch {
    return new Map()
  }
  const numbered = names.filter((name) => /^\d+$/.test(name))
  const read = numbered.map((name) => [Number(name), readTimes(name)] as const)
  return new Map(read.filter((entry): entry is [number, ProcessTimes] => entry[1] !== null))
}

/** Returns null for a process that has ended, and where there is no /proc. */
function readTimes(pid: string): ProcessTimes | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, which may have spaces, ends with the last parenthesis; after it comes field 3.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const seconds = (index: number) => (Number(fields[index]) + Number(fields[index + 1])) / ticksPerSecond
    return { parent: Number(fields[1]), own_s: seconds(11), children_s: seconds(13) }
  } catch {
    return null
  }
}

function findDescendants(processes: ReadonlyMap<number, ProcessTimes>): Map<number, ProcessTimes> {
  const isBelow = (pid: number): boolean => {
    const parent = processes.get(pid)?.parent
    return parent !== undefined && (parent === process.pid || isBelow(parent))
  }
  return new Map([...processes].filter(([pid]) => isBelow(pid)))
}

/** The processes that a browser starts for its own work are parts of it. */
function readKind(pid: number): 'browser' | 'part' | 'process' {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    if (!/chrom|firefox|webkit/i.test(words[0] ?? '')) return 'process'
    return words.some((word) => word.startsWith('--type=') || word === '-contentproc') ? 'part' : 'browser'
  } catch {
    return 'part'
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
