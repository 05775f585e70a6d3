/** The processor time of processes on Linux: what they have used, and how much they may use. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Milliseconds of a tick: Linux reports processor time in hundredths of a second. */
const tickMs = 10

/**
 * Returns the processor milliseconds that a process, its children and those that it has waited for have used; NaN on
 * another system.
 */
export function readProcessorMs(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) ? readStat(Number(name)) : null
    if (found?.pid === pid) ticks += found.own + found.waited
    if (found?.parent === pid) ticks += found.own
  }
  return ticks * tickMs
}

/** Returns the parent of a process; 0 when there is none to find. */
export function findParent(pid: number): number {
  return readStat(pid)?.parent ?? 0
}

function readStat(pid: number) {
  try {
    // The name of the program, in parentheses, may have spaces.
    const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (?=\S \d)/)
    const fields = rest.split(' ').map(Number)
    const at = (position: number) => fields[position - 3] ?? 0
    return { pid, parent: at(4), own: at(14) + at(15), waited: at(16) + at(17) }
  } catch {
    return null
  }
}

/** Short, so that a process that has used its share does not stop for long. */
const periodUs = 10_000

/**
 * Lets a process use a share of one processor, as if it had a smaller one of its own. Needs the right to create control
 * groups. Returns a function that removes the limit once the process has ended.
 */
export function limitProcessor(pid: number, share: number): () => void {
  const first = '/sys/fs/cgroup/cpu'
  const group = join(existsSync(first) ? first : '/sys/fs/cgroup', `svc-bench-${pid}`)
  const quotaUs = Math.round(share * periodUs)
  mkdirSync(group)
  if (existsSync(first)) {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodUs))
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quotaUs))
  } else {
    writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${periodUs}`)
  }
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
  return () => rmdirSync(group)
}
