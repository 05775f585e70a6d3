/** The tasks, and which of them this computer can grade. */
import { spawnSync } from 'node:child_process'
import type { Task } from './task.ts'
import { callbackVerified } from './tasks/callback-verified/task.ts'
import { campaignNoFill } from './tasks/campaign-no-fill/task.ts'
import { firstSlotExpress } from './tasks/first-slot-express/task.ts'
import { oldClient } from './tasks/old-client/task.ts'
import { pollingDeadline } from './tasks/polling-deadline/task.ts'
import { retryAfter } from './tasks/retry-after/task.ts'
import { secretKey } from './tasks/secret-key/task.ts'

export const tasks: readonly Task[] = [
  firstSlotExpress,
  pollingDeadline,
  retryAfter,
  secretKey,
  callbackVerified,
  oldClient,
  campaignNoFill,
]

/** Returns the tasks whose language is missing here. */
export function findUngradable(): Task[] {
  return tasks.filter(({ needs }) => needs !== undefined && !runs(needs.check))
}

function runs([name = '', ...args]: readonly string[]): boolean {
  return spawnSync(name, args, { stdio: 'ignore' }).status === 0
}
