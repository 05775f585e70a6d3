/** A first slot in a server of Go, and in its page. */
import { gradeFirstSlot } from '../../chat-page.ts'
import type { Task } from '../../task.ts'

export const firstSlotGo: Task = {
  name: 'first-slot-go',
  bases: ['page'],
  prompt: `This is our chat (the server is in Go). Show one sponsored placement of the svc service below each answer, as a banner. Only for users who have
ticked "Show me sponsored suggestions"; the topic may only be sent if they have ticked the second box too. The chat must answer as fast as before.
SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY and SVC_PUBLISHABLE_KEY are in the environment of the server; the documentation is at
$SVC_BASE_URL/_sandbox/docs/llms.txt.`,
  solutions: {
    'wrong-asks-again': 'not_one_placement',
    'wrong-slot-hidden': 'view_not_billed',
    'wrong-unknown-field': 'view_not_billed',
    'attack-after-right': 'control_plane_used',
  },
  grade: (trial) => gradeFirstSlot(trial, ['go', 'run', '.']),
}
