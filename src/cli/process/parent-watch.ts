/**
 * Whether the package manager that runs this command still does. `npm start` puts npm and often a shell between a
 * terminal and this process: when one of them is killed, nobody is left to pass Ctrl-C on, and this process would stay
 * for ever.
 *
 * It is watched only where a package manager says that it runs a script, and only the links up to that manager: a
 * command that was started by a shell, a service manager or `svc start --detach` outlives whoever started it.
 */
import type { Host } from '../run/host.ts'

const askEvery_ms = 500
const shells = /^-?(ba|da|z|k|a|fi)?sh$|^busybox$|^cmd\.exe$/
/** The names that a package manager, or the runtime that runs it, goes by. */
const managers = /^(npm|npx|pnpm|pnpx|yarn|bunx?|corepack|node|MainThread)\b/

interface Link {
  child: number
  parent: number
}

/** Calls `lost` once, with the id of the process that is gone. The answer ends the watch. */
export function watchParents(host: Host, lost: (pid: number) => void): () => void {
  const links = linksToManager(host)
  if (links.length === 0) return () => {}
  const timer = setInterval(() => {
    const broken = links.find(({ child, parent }) => host.parentOf(child)?.pid !== parent)
    if (broken === undefined) return
    clearInterval(timer)
    lost(broken.parent)
  }, askEvery_ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** From this process up to the package manager; empty where none runs it. */
function linksToManager(host: Host): Link[] {
  if (host.env.npm_lifecycle_event === undefined) return []
  const links: Link[] = []
  for (let child = host.pid; ; ) {
    const parent = host.parentOf(child)
    if (parent === null || parent.pid <= 1) return []
    links.push({ child, parent: parent.pid })
    if (parent.name === null || managers.test(parent.name)) return links
    if (!shells.test(parent.name)) return []
    child = parent.pid
  }
}
