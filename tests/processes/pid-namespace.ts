/** Programs in a PID namespace of their own, as in a container where svc is PID 1 and nothing reaps processes. */
import { spawnSync } from 'node:child_process'

/** Words that run the words after them as PID 1. They end with the process that runs them. */
export const asPid1 = ['unshare', '-Urpf', '--kill-child=KILL', '--mount-proc']
/** The same where /proc still shows the processes of the namespace outside. */
export const asPid1WithOtherProc = asPid1.slice(0, -1)

/** Whether this computer lets a user create PID namespaces. Decided before the tests are collected. */
export const hasPidNamespaces = spawnSync(asPid1[0]!, [...asPid1.slice(1), 'true']).status === 0
if (!hasPidNamespaces) console.warn('Left out: tests in PID namespaces, which this computer does not permit (unshare).')
