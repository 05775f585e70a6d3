/** The tasks, in the order of their list in docs/agents-measured.md. */
import type { Task } from './task.ts'
import { callbackVerified } from './tasks/callback-verified/task.ts'
import { campaignNoFill } from './tasks/campaign-no-fill/task.ts'
import { clipCompletes } from './tasks/clip-completes/task.ts'
import { consentWithdrawn } from './tasks/consent-withdrawn/task.ts'
import { discrepancy } from './tasks/discrepancy/task.ts'
import { firstSlotExpress } from './tasks/first-slot-express/task.ts'
import { firstSlotGo } from './tasks/first-slot-go/task.ts'
import { firstSlotNext } from './tasks/first-slot-next/task.ts'
import { firstSlotPython } from './tasks/first-slot-python/task.ts'
import { oldClient } from './tasks/old-client/task.ts'
import { pollingDeadline } from './tasks/polling-deadline/task.ts'
import { retryAfter } from './tasks/retry-after/task.ts'
import { secretKey } from './tasks/secret-key/task.ts'
import { strictCsp } from './tasks/strict-csp/task.ts'
import { testSuite } from './tasks/test-suite/task.ts'
import { virtualList } from './tasks/virtual-list/task.ts'

export const tasks: readonly Task[] = [
  firstSlotExpress,
  firstSlotNext,
  firstSlotPython,
  firstSlotGo,
  pollingDeadline,
  retryAfter,
  consentWithdrawn,
  virtualList,
  secretKey,
  strictCsp,
  callbackVerified,
  clipCompletes,
  oldClient,
  testSuite,
  campaignNoFill,
  discrepancy,
]
