/**
 * How a program of somebody else is kept to its folders. On Linux with user namespaces everything but those is read-only for it and
 * for what it starts, and all of that ends with it. `fallback` names what other computers do: see docs/agents-measured.md.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * The first namespace makes the mounts; the second one, in which the program runs, has no right to undo them. What the kernel
 * serves under /sys is hidden.
 */
const mounts = `
set -e
uid=$1 gid=$2 count=$3
shift 3
kept=' '
while [ "$count" -gt 0 ]; do
  mount --bind "$1" "$1"
  kept="$kept$1 "
  shift
  count=$((count - 1))
done
mount -t tmpfs -o ro tmpfs /sys
while read -r _ _ _ _ point options _; do
  case "$point" in /proc*|/sys*|/dev/*) continue ;; esac
  case "$kept$options" in *" $point "*|*' ro,'*) continue ;; esac
  mount -o remount,bind,ro "$point" 2>/dev/null || [ "$point" != / ]
done < /proc/self/mountinfo
mount -t tmpfs tmpfs /dev/shm
exec unshare --user --map-user="$uid" --map-group="$gid" --mount -- "$@"
`
const unshare = ['unshare', '--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Returns the words that run a program which can write only below these folders. */
export function confinedWords(words: readonly string[], folders: readonly string[]): string[] {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  return [...unshare, 'sh', '-c', mounts, 'sh', `${uid}`, `${gid}`, `${folders.length}`, ...folders, ...words]
}

let isAble: boolean | undefined

/** Whether this computer can keep programs to their folders. */
export function canConfine(): boolean {
  isAble ??= process.platform === 'linux' && succeeds(confinedWords(['sh', '-c', '! touch /confined'], []))
  return isAble
}

function succeeds([name = '', ...args]: string[]): boolean {
  return spawnSync(name, args, { stdio: 'ignore' }).status === 0
}

/** The variable by which processes that left their group are found. */
export const runVariable = 'SVC_EVALS_RUN'

/** Ends what a program without namespaces has left: every process that still has the variable of its run. */
export function endLeftProcesses(run: string): void {
  if (process.platform !== 'linux') return
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (!readEnvironment(pid).includes(`${runVariable}=${run}\0`)) continue
    end(Number(pid))
  }
}

/** Empty for a process of another user, and for one that has ended. */
function readEnvironment(pid: string): string {
  try {
    readlinkSync(`/proc/${pid}/exe`)
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

/** Ends a process, or a group by its negative id. */
export function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
