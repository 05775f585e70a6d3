/** The tasks, in the order of their list in docs/agents-measured.md. */
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
