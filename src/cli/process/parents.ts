/** Watches the processes between a package manager and this one. */
import type { System } from '../run/system.ts'

/** The interval between checks of the parents, milliseconds. */
const parentIntervalMs = 500
const shells = /^-?(ba|da|z|k|a|fi)?sh$|^busybox$|^cmd\.exe$/
/** The names of package managers, and of the runtimes that run them. */
const managers = /^(npm|npx|pnpm|pnpx|yarn|bunx?|corepack|node|MainThread)\b/

interface ParentLink {
  child: number
  parent: number
}

/**
 * Calls `onEnd` once when the package manager that runs this command has ended, with the id of the process that has
 * ended. Returns a function that ends the watch. `npm start` puts npm and often a shell between a terminal and this
 * process: when one of them is killed, nothing forwards Ctrl-C any more, and this process would never end.
 *
 * It is called only when a package manager says that it runs a script, and watches only the processes up to it: a
 * command started by a shell, a service manager or `svc start --detach` outlives its starter.
 */
export function watchParents(system: System, onEnd: (pid: number) => void): () => void {
  const links = linksToManager(system)
  if (links.length === 0) return () => {}
  const timer = setInterval(() => {
    const broken = links.find(({ child, parent }) => system.findParent(child)?.pid !== parent)
    if (broken === undefined) return
    clearInterval(timer)
    onEnd(broken.parent)
  }, parentIntervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Returns the links from this process up to the package manager; none when no manager runs it. */
function linksToManager(system: System): ParentLink[] {
  const links: ParentLink[] = []
  for (let child = system.pid; ; ) {
    const parent = system.findParent(child)
    if (parent === null || parent.pid <= 1) return []
    links.push({ child, parent: parent.pid })
    if (parent.name === null || managers.test(parent.name)) return links
    if (!shells.test(parent.name)) return []
    child = parent.pid
  }
}
