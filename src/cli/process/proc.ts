/**
 * Processes as Linux shows them in /proc. Elsewhere, and where /proc belongs to another PID namespace than this process,
 * everything here is null: then only signal 0 says whether a process is running.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The fields of `/proc/<pid>/stat` that svc needs. */
interface ProcessStatus {
  name: string
  parent: number
  /** Id of its process group. */
  group: number
  /** That of the process group in the foreground of its terminal; -1 without a terminal. */
  foreground_group: number
  /** When it started, in ticks since the boot: with the pid it names one process. */
  started: string
  /** Has ended, but its parent has not read its exit code. A PID 1 that is not an init system may never do so. */
  is_zombie: boolean
}

/** Returns the status of a process; null when there is none, or the system does not show it. */
export function readProcess(pid: number): ProcessStatus | null {
  const text = read(`/proc/${pid}/stat`)
  // `pid (name) state parent group session terminal foreground ...`: the name may contain anything, and the start is field 22.
  const [, name, state, parent, group, foreground, started] =
    /^\d+ \((.*)\) (\S) (\d+) (\d+)(?: -?\d+){2} (-?\d+)(?: -?\d+){13} (\d+)/s.exec(text ?? '') ?? []
  if (name === undefined || started === undefined) return null
  return {
    ...{ name, started, is_zombie: state === 'Z' || state === 'X' },
    ...{ parent: Number(parent), group: Number(group), foreground_group: Number(foreground) },
  }
}

/** Whether a process is in the foreground of its terminal. Windows has no background. */
export async function readForeground(pid: number, platform: string): Promise<() => boolean> {
  if (platform === 'win32') return () => true
  if (showsOwnNamespace(pid))
    return () => {
      const status = readProcess(pid)
      return status !== null && status.group === status.foreground_group
    }
  const { readOutput } = await import('#foundation/programs.ts')
  return () => {
    const [group, foreground] = readOutput(['ps', '-o', 'pgid=,tpgid=', '-p', String(pid)])
      .trim()
      .split(/\s+/)
    return group !== undefined && group !== '' && group === foreground
  }
}

/**
 * Resolves to when a process started, as its system writes it: the pid of a process that has ended is given to another,
 * which started later. Null when there is none, or when the system does not show it, as Windows.
 */
export async function readProcessStart(pid: number, own_pid: number, platform: string): Promise<string | null> {
  if (showsOwnNamespace(own_pid)) return readProcess(pid)?.started ?? null
  if (platform === 'linux' || platform === 'win32') return null
  const { readOutput } = await import('#foundation/programs.ts')
  return (
    readOutput(['ps', '-o', 'lstart=', '-p', String(pid)])
      .trim()
      .replaceAll(/\s+/g, ' ') || null
  )
}

/** Whether a process of a group is running, not just waiting to be reaped; null when the system does not show it. */
export function isGroupRunning(group: number, own_pid: number): boolean | null {
  if (!showsOwnNamespace(own_pid)) return null
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.some((pid) => {
    const status = readProcess(Number(pid))
    return status?.group === group && !status.is_zombie
  })
}

/**
 * Returns the boot and the PID namespace in which process ids of this process are valid; null when the system has no
 * namespaces or does not show them. Each container has another.
 */
export function readPidScope(own_pid: number): string | null {
  if (!showsOwnNamespace(own_pid)) return null
  const namespace = link('/proc/self/ns/pid')
  return namespace === null ? null : `${read('/proc/sys/kernel/random/boot_id')?.trim() ?? ''} ${namespace}`
}

function showsOwnNamespace(own_pid: number): boolean {
  return link('/proc/self') === String(own_pid)
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}
