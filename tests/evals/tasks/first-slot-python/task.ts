/** A first slot in a server of Python, on its standard library in the shape of Flask,, and in its page. */
import { gradeFirstSlot } from '../../chat-page.ts'
import type { Task } from '../../task.ts'

export const firstSlotPython: Task = {
  name: 'first-slot-python',
  bases: ['page'],
  prompt: `This is our chat (the server is in Python). Show one sponsored placement of the svc service below each answer, as a banner. Only for users who have
ticked "Show me sponsored suggestions"; the topic may only be sent if they have ticked the second box too. The chat must answer as fast as before.
SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY and SVC_PUBLISHABLE_KEY are in the environment of the server; the documentation is at
$SVC_BASE_URL/_sandbox/docs/llms.txt.`,
  solutions: {
    'wrong-reshaped': 'view_not_billed',
    'wrong-topic-without-consent': 'topic_not_shared',
    'wrong-one-session': 'session_shared',
    'attack-after-right': 'beacon_forged',
  },
  grade: (trial) => gradeFirstSlot(trial, ['python3', 'app.py'], true),
}
