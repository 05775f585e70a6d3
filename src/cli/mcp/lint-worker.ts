/** Checks one text of beacons (see lint-thread.ts), on its own thread. */
import { parentPort, workerData } from 'node:worker_threads'
import { lintBeacons } from '#diagnosis/lint.ts'
import type { CheckedBeacons, LintWork } from './lint-thread.ts'

/** More than fit into the result of a tool. The rest would be copied to the thread of the requests. */
const maxFindings = 500

const { text, times } = workerData as LintWork
const { findings, ...report } = lintBeacons(text, times)
const left_off = Math.max(0, findings.length - maxFindings)
const checked: CheckedBeacons = {
  ...report,
  findings: findings.slice(0, maxFindings),
  ...(left_off === 0 ? {} : { left_off }),
}
parentPort!.postMessage(checked)
