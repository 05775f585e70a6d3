/** The tasks, and which of them this computer can grade. */
import { spawnSync } from 'node:child_process'
import type { Task } from './task.ts'
import { firstSlotExpress } from './tasks/first-slot-express/task.ts'
import { pollingDeadline } from './tasks/polling-deadline/task.ts'
import { secretKey } from './tasks/secret-key/task.ts'

export const tasks: readonly Task[] = [firstSlotExpress, pollingDeadline, secretKey]

/** Returns the tasks whose language is missing here. */
export function findUngradable(): Task[] {
  return tasks.filter(({ needs }) => needs !== undefined && !runs(needs.check))
}

function runs([name = '', ...args]: readonly string[]): boolean {
  return spawnSync(name, args, { stdio: 'ignore' }).status === 0
}
